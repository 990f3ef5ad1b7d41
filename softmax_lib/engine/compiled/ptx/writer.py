"""From PTX statements to the interpreter's instructions: operands find their rows, and lanes that part their meetings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from softmax_lib.engine.compiled import library
from softmax_lib.engine.compiled.draft import ALL, NOWHERE, TRUE, Readers, Unsupported
from softmax_lib.engine.compiled.launching import (
    BARRIER_AT,
    CLUSTER_AT,
    CLUSTER_BLOCKS_AT,
    FIRST_WITH_CLUSTERS,
)
from softmax_lib.engine.compiled.library import INSTRUCTION, Rows
from softmax_lib.engine.compiled.listing import (
    INSTRUCTION_BYTES,
    Listing,
    Statement,
    split_operands,
)
from softmax_lib.engine.compiled.program import Decoded
from softmax_lib.engine.compiled.ptx.form import Form
from softmax_lib.engine.compiled.ptx.inlining import ADDRESS_BANK, Flat, lay_out
from softmax_lib.engine.compiled.ptx.meetings import NOWHERE as NOT_AT_ALL
from softmax_lib.engine.compiled.ptx.meetings import Branch, find_meetings
from softmax_lib.engine.compiled.ptx.reading import SIZES, Function, literal
from softmax_lib.engine.errors import NotAvailable

_SYMBOL = re.compile(r"(%?[\w$~.]+?)\s*(?:\+\s*(-?(?:0x)?[0-9a-fA-F]+))?$")
_IN_BANK_0 = {
    f"{name}.{axis}": place + 4 * n
    for name, place in {"%ntid": 0, "%nctaid": 12, "%cluster_nctaid": CLUSTER_AT + 4}.items()
    for n, axis in enumerate("xyz")
} | {"%cluster_nctarank": CLUSTER_BLOCKS_AT}
_BARRIER_WORDS = ("%envreg1", "%envreg2")
"""The address of what `grid.sync()` counts in."""

FIRST_RANK = 1
"""Of a cluster in addresses of shared memory: the block's own have none."""

_MOST_PREDICATES, _MOST_ROWS = 1 << 14, 0xFFFF
_OWN_PREDICATES = NOWHERE + 1
"""The first of a warp's predicates that machine code has no name for."""


class Writer:
    """The instructions of one kernel while they are written, statement by statement."""

    def __init__(self, flat: Flat, kernel: Function, arch: int, readers: Readers):
        self.flat, self._readers = flat, readers
        self.layout, self.cubin = lay_out(kernel, flat.variables, arch)
        self._arch = arch
        self._places: dict[str, int] = {}
        self._predicates: dict[str, int] = {}
        self._registers = 0
        self._place_all()
        self.rows = Rows(self._registers, 0)
        self._operations = library.operations()
        self._made: list[dict[str, Any]] = []
        self._sites: list[int] = []
        self._refused: dict[int, str] = {}
        self._branches = dict(self._find_branches())
        self._meetings = find_meetings(len(flat.statements), self._branches)
        self._goals: list[tuple[int, str, int]] = []
        self.number = 0
        self._guard = (TRUE, 0)

    # ---- registers

    def _place_all(self) -> None:
        """A row for each register that is named; those that one access moves lie behind each other where they can."""
        operands = [text for one in self.flat.statements for text in (*one.operands, one.guard)]
        for text in operands:
            names = [one.strip() for one in text.strip("{}").split(",")] if text[:1] == "{" else []
            if not any(name in self._places for name in names):
                for name in names:
                    self._place(name)
        for name in self.flat.registers:
            self._place(name)
        for name, variable in self.flat.variables.items():
            if variable.space == "param" and name not in self.layout.parameters:
                self._places[name] = self._registers
                self._registers += -(-variable.size // 4)

    def _place(self, name: str) -> None:
        type_ = self.flat.registers.get(name)
        if type_ == "pred":
            self._predicates.setdefault(name, _OWN_PREDICATES + len(self._predicates))
        elif type_ and name not in self._places:
            self._places[name] = self._registers
            self._registers += max(1, SIZES[type_] // 4)

    def type_of(self, name: str) -> str:
        """The type of a register; "" of what is none."""
        return self.flat.registers.get(name, "")

    # ---- operands

    def row(self, text: str, bytes_: int = 4) -> int:
        """The first row of a register, a number, or the address of a variable, as wide as that."""
        if text in self._places:
            return self._places[text]
        if text in _IN_BANK_0:
            return self.rows.constant(0, _IN_BANK_0[text], 1)
        if text in _BARRIER_WORDS:
            at = BARRIER_AT[self._arch >= FIRST_WITH_CLUSTERS]
            return self.rows.constant(0, at + 4 * _BARRIER_WORDS.index(text), 1)
        words = max(1, bytes_ // 4)
        try:
            return self.immediate(literal(text), words)
        except ValueError:
            return self._symbol_row(text, words)

    def rows_of(self, slots: str, operands: Iterable[str], type_: str = "b32") -> dict[str, int]:
        """Rows of operands, by their slots: those of capital letters are as wide as the type, the others a word."""
        pairs = zip(slots, operands, strict=False)
        size = SIZES[type_]
        return {slot.lower(): self.row(text, size if slot.isupper() else 4) for slot, text in pairs}

    def immediate(self, value: int, words: int = 1) -> int:
        """The first row of a number."""
        value &= (1 << 32 * words) - 1
        return self.rows.immediate(*(value >> 32 * n & ALL for n in range(words)))

    def symbol(self, text: str) -> tuple[str, int]:
        """The name of what is in brackets or not, and an offset from it."""
        match = _SYMBOL.match(text.strip("[] "))
        if match is None:
            raise Unsupported(self.statement.text)
        return match[1], int(match[2] or "0", 0)

    def _symbol_row(self, text: str, words: int) -> int:
        name, more = self.symbol(text)
        layout = self.layout
        if name in layout.address_at:
            if more or self.flat.variables[name].points:
                raise Unsupported(self.statement.text)
            return self.rows.constant(ADDRESS_BANK, layout.address_at[name], 2)
        bases = ((layout.shared, layout.shared_base), (layout.local, 0), (layout.constant, 0))
        for held, base in bases:
            if name in held:
                return self.immediate(base + held[name] + more, words)
        raise Unsupported(self.statement.text)

    def address(self, text: str) -> dict[str, int]:
        """Fields of an address in brackets: its row as a, and an offset."""
        name, more = self.symbol(text)
        if name in self._places:
            return {"a": self._places[name], "offset": more}
        if name in self.layout.address_at:
            return {"a": self._symbol_row(name, 2), "offset": more}
        return {"a": self._symbol_row(text, 2), "offset": 0}

    def place_of(self, name: str) -> int | None:
        """The first row of a register or of a call's parameter; None where there is no such one."""
        return self._places.get(name)

    def predicate(self, text: str) -> tuple[int, int]:
        """A predicate's number, and 1 where its opposite is meant."""
        name = text.lstrip("!")
        if name in self._predicates:
            return self._predicates[name], int(text != name)
        try:
            return TRUE, int(not literal(name)) ^ int(text != name)
        except ValueError:
            raise Unsupported(self.statement.text) from None

    def reads(self, text: str, slot: str = "s") -> dict[str, int]:
        """Fields of a predicate that is read."""
        number, flip = self.predicate(text)
        return {slot: number, f"{slot}_flip": flip}

    def written_predicate(self, text: str) -> int:
        """The number of a predicate that is written; `_` is nobody's."""
        return NOWHERE if text == "_" else self.predicate(text)[0]

    def own_predicate(self) -> int:
        """The number of one more predicate, that no statement names."""
        name = f"own {len(self._predicates)}"
        return self._predicates.setdefault(name, _OWN_PREDICATES + len(self._predicates))

    # ---- instructions

    @property
    def statement(self) -> Statement:
        """The one that is being written."""
        return self.flat.statements[self.number]

    def emit(self, operation: str, **fields: Any) -> None:
        """One instruction. Fields are those of `INSTRUCTION`; what is not given does nothing.

        With `is_float` the operation takes floats by their bits; with `aside` it is no statement of PTX, but only
        prepares or ends one. A `site` that is given gets its number here.
        """
        aside, is_float = fields.pop("aside", False), fields.pop("is_float", False)
        guard, flip = self._guard
        made: dict[str, Any] = {
            "d": self.rows.trash, "a": self.rows.zero, "b": self.rows.zero, "c": self.rows.zero,
            "guard": guard, "guard_flip": flip, "p": NOWHERE, "q": NOWHERE, "s": TRUE, "t": TRUE,
            "keep": [ALL] * 3 if is_float else [0] * 3, "site": -1, **fields,
            "operation": self._operations[operation],
        }  # fmt: skip
        if made["site"] >= 0:
            made["site"] = len(self._sites)
            self._sites.append(len(self._made))
        at, opcode = INSTRUCTION_BYTES * len(self._made), "" if aside else self.statement.opcode
        written = replace(self.statement, opcode=opcode, address=at)
        self._made.append(made | {"number": self.number, "written": written})

    def goes_to(self, label: str) -> None:
        """The instruction just written leads to a label, and says where lanes that part there meet again."""
        meets = self._meetings.of_branches.get(self.number, NOT_AT_ALL)
        self._goals.append((len(self._made) - 1, label, meets))

    def _find_branches(self) -> Iterator[tuple[int, Branch]]:
        count = len(self.flat.statements)
        for number, one in enumerate(self.flat.statements):
            if one.opcode == "bra":
                yield number, Branch((self.flat.labels[one.operands[0]],), bool(one.guard))
            elif one.opcode == "brx":
                goals = self.flat.tables[one.operands[1]]
                yield number, Branch(tuple(self.flat.labels[goal] for goal in goals), bool(one.guard))  # fmt: skip
            elif one.opcode in ("ret", "exit", "trap"):
                yield number, Branch((count,), bool(one.guard))

    # ---- the whole

    def write(self, made_by: str) -> Decoded:
        """All statements."""
        starts: list[int] = []
        loops = self._meetings.of_loops
        met = {*self._meetings.of_branches.values(), *(meets for meets, _ in loops.values())}
        entries: dict[int, int] = {}
        for number, statement in enumerate(self.flat.statements):
            self.number, self._guard = number, (TRUE, 0)
            if self.number in loops:  # who comes from within goes past it
                entries[self.number] = len(self._made)
                self.emit("expect", aside=True)
                self._goals.append((len(self._made) - 1, "", loops[self.number][0]))
            starts.append(len(self._made))
            if self.number in met:
                self.emit("meet", aside=True)
            self._guard = self.predicate(statement.guard) if statement.guard else (TRUE, 0)
            self._write_one(statement)
        starts.append(len(self._made))
        self._guard = (TRUE, 0)
        self.emit("exit", aside=True)
        for at, label, meets in self._goals:
            made = self._made[at]
            if label:
                made["written"] = replace(made["written"], operands=(f"`({label})",))
                goal = self.flat.labels[label]
                is_inside = goal in loops and made["number"] in loops[goal][1]
                made["target"] = starts[goal] if is_inside else entries.get(goal, starts[goal])
            made["offset"] = starts[meets] if meets >= 0 else -1
        return self._decoded(made_by, starts)

    def _write_one(self, statement: Statement) -> None:
        before, sites = len(self._made), len(self._sites)
        try:
            if self.number in self.flat.refused or statement.opcode not in self._readers:
                raise Unsupported(statement.text)
            form = Form(statement)
            reader, more = self._readers[statement.opcode]
            reader(self, form, *more)
            form.refuse_rest()
        except (Unsupported, IndexError, KeyError, ValueError) as error:
            del self._made[before:], self._sites[sites:]
            self._goals = [one for one in self._goals if one[0] < before]
            said = str(error) if isinstance(error, Unsupported) else statement.text
            self._refused[len(self._made)] = said
            self.emit("no code here")

    def _decoded(self, made_by: str, starts: Sequence[int]) -> Decoded:
        predicates = _OWN_PREDICATES + len(self._predicates)
        if self.rows.count > _MOST_ROWS or predicates > _MOST_PREDICATES:
            raise NotAvailable(f"{self.cubin.kernel} has more registers in PTX than are had here.")
        labels = {name: starts[at] * INSTRUCTION_BYTES for name, at in self.flat.labels.items()}
        stated = Listing(self.cubin.kernel, tuple(self.flat.statements), dict(self.flat.labels))
        code = np.zeros(len(self._made) + 1, INSTRUCTION)
        code["guard"], code["operation"] = TRUE, self._operations["no code here"]
        for name in INSTRUCTION.names or ():
            given = {n: made[name] for n, made in enumerate(self._made) if name in made}
            if given:
                code[name][list(given)] = list(given.values())
        written = Listing(self.cubin.kernel, tuple(made["written"] for made in self._made), labels)
        return Decoded(
            self._arch, self.cubin, written, code, self.rows.table(), self.rows.count, 0, tuple(self._sites),
            self._refused, made_by, predicates, "PTX", FIRST_RANK, stated, tuple(starts),
        )  # fmt: skip


def vector(text: str) -> list[str]:
    """The operands between braces, or the one operand."""
    return split_operands(text[1:-1]) if text.startswith("{") else [text]
