"""A kernel with the functions that it calls put in their places: one list of statements, each name unique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
