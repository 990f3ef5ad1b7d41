"""A kernel with the functions that it calls put in their places: one list of statements, each name unique; and where its
variables lie: shared, local, constant and global memory, and its parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from softmax_lib.engine.compiled import cubin
from softmax_lib.engine.compiled.listing import Statement
from softmax_lib.engine.compiled.ptx.reading import NAME, Function, Module, Scope, Variable


@dataclass
class Flat:
    """Statements one behind the other; by unique name the types of registers, variables, labels and tables of labels.

    A call that nothing can be put in the place of is in `refused`, by its number.
    """

    statements: list[Statement]
    registers: dict[str, str]
    variables: dict[str, Variable]
    labels: dict[str, int]
    tables: dict[str, tuple[str, ...]]
    refused: dict[int, str]


def flatten(module: Module, kernel: Function) -> Flat:
    """All that `kernel` does."""
    flat = Flat([], {}, dict(module.variables), {}, {}, {})
    flat.variables |= {one.name: one for one in kernel.parameters}
    _Inlining(module, flat).put(kernel, {}, ())
    return flat


class _Inlining:
    def __init__(self, module: Module, flat: Flat):
        self._module, self._flat = module, flat
        self._calls = 0
        self._scopes: dict[int, int] = {}

    def put(self, function: Function, bound: Mapping[str, str], around: tuple[str, ...]) -> None:
        """The statements of `function`, whose parameters and results have the names in `bound`.

        It is called by those `around` it: one that calls itself never comes to an end here.
        """
        call, flat = self._calls, self._flat
        self._calls += 1
        end = f"end~{call}"
        starts = []
        for statement, scope in function.statements:
            starts.append(len(flat.statements))
            named = self._name(statement, scope, bound, call)
            if statement.opcode == "call":
                self._call(named, (*around, function.name))
            elif statement.opcode == "ret" and around:
                flat.statements.append(replace(named, opcode="bra", modifiers=(), operands=(end,)))
            else:
                flat.statements.append(named)
        starts.append(len(flat.statements))
        flat.labels[end] = len(flat.statements)
        for scope in function.scopes:
            self._declare(scope, starts, bound, call)

    def _declare(
        self, scope: Scope, starts: Sequence[int], bound: Mapping[str, str], call: int
    ) -> None:
        for label, number in scope.labels.items():
            self._flat.labels[self._unique(label, scope, call)] = starts[number]
        for label, goals in scope.tables.items():
            named = tuple(self._find(goal, scope, bound, call) for goal in goals)
            self._flat.tables[self._unique(label, scope, call)] = named

    def _call(self, statement: Statement, around: tuple[str, ...]) -> None:
        flat, operands = self._flat, list(statement.operands)
        results = _names(operands.pop(0)) if operands[0].startswith("(") else ()
        function = self._module.functions.get(operands[0])
        given = _names(operands[1]) if len(operands) > 1 else ()
        if function is None or function.name in around or statement.guard:
            flat.refused[len(flat.statements)] = statement.text
            flat.statements.append(statement)
            return
        formal = [one.name for one in (*function.results, *function.parameters)]
        self.put(function, dict(zip(formal, (*results, *given), strict=True)), around)

    def _name(
        self, statement: Statement, scope: Scope, bound: Mapping[str, str], call: int
    ) -> Statement:
        def found(text: str) -> str:
            return NAME.sub(lambda match: self._find(match[0], scope, bound, call), text)

        operands = tuple(map(found, statement.operands))
        return replace(statement, operands=operands, guard=found(statement.guard))

    def _find(self, name: str, scope: Scope, bound: Mapping[str, str], call: int) -> str:
        """The unique name of what `name` means in a scope; names of nothing that is declared stay."""
        inner: Scope | None = scope
        while inner:
            if inner.declares(name):
                unique = self._unique(name, inner, call)
                if type_ := inner.type_of(name):
                    self._flat.registers[unique] = type_
                elif name in inner.variables:
                    self._flat.variables[unique] = inner.variables[name]
                return unique
            inner = inner.outer
        return bound.get(name, name)

    def _unique(self, name: str, scope: Scope, call: int) -> str:
        number = self._scopes.setdefault(id(scope), len(self._scopes))
        return f"{name}~{call}~{number}" if call or scope.outer else name


def _names(text: str) -> Sequence[str]:
    """Those between parentheses."""
    return [name.strip() for name in text.strip("()").split(",") if name.strip()]


# ---- where variables lie

PARAMETERS_AT = 0x210
"""In bank 0: where parameters begin."""

CONSTANT_BANK, ADDRESS_BANK = 3, 4
_GLOBAL_ALIGNMENT, _DYNAMIC_ALIGNMENT = 256, 16


@dataclass
class Layout:
    """By name the offset of each variable in its space; of a global one the place of its address in bank 4."""

    shared_base: int
    shared: dict[str, int]
    local: dict[str, int]
    constant: dict[str, int]
    address_at: dict[str, int]
    parameters: dict[str, int]


def lay_out(
    kernel: Function, variables: Mapping[str, Variable], arch: int
) -> tuple[Layout, cubin.Cubin]:
    """Places for all `variables`, and the facts of the kernel that a cubin would have."""
    found = Layout(cubin.SHARED_BASE[arch], {}, {}, {}, {}, {})
    shared_bytes = _place(_of(variables, "shared"), found.shared)
    local_bytes = _place(_of(variables, "local"), found.local)
    constants = _of(variables, "const")
    content = bytearray(_place(constants, found.constant))
    for one in constants:
        at = found.constant[one.name]
        content[at : at + len(one.content)] = one.content
    globals_, offsets = bytearray(), {}
    for number, one in enumerate(_of(variables, "global")):
        globals_ += bytes(-len(globals_) % _GLOBAL_ALIGNMENT)
        offsets[one.name] = len(globals_)
        found.address_at[one.name] = 8 * number
        globals_ += one.content.ljust(one.size, b"\0")
    _place(kernel.parameters, found.parameters)
    parameters = tuple(cubin.Parameter(found.parameters[p.name], p.size) for p in kernel.parameters)
    named = [cubin.Variable(name, False, at, variables[name].size) for name, at in offsets.items()]
    named += [cubin.Variable(o.name, True, found.constant[o.name], o.size) for o in constants]
    addresses = tuple((found.address_at[name], at) for name, at in offsets.items())
    banks = {CONSTANT_BANK: bytes(content), ADDRESS_BANK: bytes(8 * len(offsets))}
    return found, cubin.Cubin(
        kernel.name, 0, parameters, PARAMETERS_AT, shared_bytes, local_bytes, banks, tuple(named), bytes(globals_), addresses,
    )  # fmt: skip


def _of(variables: Mapping[str, Variable], space: str) -> list[Variable]:
    """Those in a space, each under the name that it has throughout; what a launch gives comes last."""
    held = [replace(one, name=name) for name, one in variables.items() if one.space == space]
    return sorted(held, key=lambda one: one.dynamic)


def _place(variables: Iterable[Variable], offsets: dict[str, int]) -> int:
    """One behind the other, each aligned; returns where the next one would begin."""
    at = 0
    for one in variables:
        alignment = max(one.alignment, _DYNAMIC_ALIGNMENT) if one.dynamic else one.alignment
        at += -at % alignment
        offsets[one.name] = at
        at += one.size
    return at
