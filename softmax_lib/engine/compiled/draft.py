"""One instruction on its way from nvdisasm's words to numbers: operands are read, and what nobody read is refused."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from softmax_lib.engine.compiled.library import Rows
from softmax_lib.engine.compiled.listing import Statement

ALL = 0xFFFFFFFF
TRUE, UNIFORM_TRUE, NOWHERE = 7, 15, 16
"""Predicates by number: PT, UPT, and the one that nobody reads."""

NO_BITS: Mapping[str, int] = MappingProxyType({})
"""Of operations whose modifiers say nothing."""

_OF_A_WARP = ("vote", "reduce", "make uniform")
"""Operations that make a uniform register of the lanes of a warp, which therefore do them."""

_REGISTER = re.compile(r"(U?)R(\d+|Z)$")
_PREDICATE = re.compile(r"(!?)(U?)P(\d|T)$")
_CONSTANT = re.compile(r"c\[0x([0-9a-f]+)\]\[(?:0x([0-9a-f]+)|RZ)\]$")
_HEXADECIMAL = re.compile(r"0x[0-9a-f]+$")
_NUMBER = re.compile(r"(\+?INF|QNAN|\+QNAN|\+?\d+(?:\.\d*)?(?:e[-+]?\d+)?)$", re.IGNORECASE)


class Unsupported(Exception):
    """An instruction, or a form of one, that the interpreter does not have."""


class Modifiers:
    """A statement while its words are read. `has` says whether a modifier is there, and notes that it was asked for;
    `refuse_rest` refuses a statement of which one is left over."""

    def __init__(self, statement: Statement):
        self.statement, self.args = statement, statement.operands
        self._left = set(statement.modifiers)

    def _spelled(self, options: Mapping[str, int]) -> Mapping[str, int]:
        """Options by their names as they stand in a statement."""
        return options

    def has(self, *names: str) -> bool:
        """Whether one of these modifiers is there."""
        self._left.difference_update(names)
        return not set(names).isdisjoint(self.statement.modifiers)

    def ignore(self, *names: str) -> None:
        """These modifiers change nothing that is counted here."""
        self._left.difference_update(names)

    def choose(self, options: Mapping[str, int], default: int | None = None) -> int:
        """The number of the one modifier that is among `options`."""
        for name, number in self._spelled(options).items():
            if name in self.statement.modifiers:
                self._left.discard(name)
                return number
        if default is None:
            raise self.refuse()
        return default

    def flags(self, options: Mapping[str, int]) -> int:
        """The bits of the modifiers that are there, among `options`; one of no bits changes nothing that is counted."""
        spelled, found = self._spelled(options), 0
        self._left.difference_update(spelled)
        for name in self.statement.modifiers:
            found |= spelled.get(name, 0)
        return found

    def refuse(self) -> Unsupported:
        """What to raise of an instruction that cannot be done."""
        return Unsupported(self.statement.text)

    def refuse_rest(self) -> None:
        """Raises `Unsupported` where a modifier is left over."""
        if self._left:
            raise self.refuse()


class Draft(Modifiers):
    """The fields of one instruction while its words are read; operands are taken from `args` by number."""

    def __init__(self, statement: Statement, rows: Rows, labels: Mapping[str, int]):
        super().__init__(statement)
        self.rows, self._labels = rows, labels
        self.operation = "nothing"
        self.bytes = self.variant = self.offset = self.target = 0
        self.is_site = False
        self.rows_of = {"d": rows.trash, "a": rows.zero, "b": rows.zero, "c": rows.zero}
        self.keep, self.flip = [0, 0, 0], [0, 0, 0]
        self.written = {"p": NOWHERE, "q": NOWHERE}
        self.read = {"s": TRUE, "t": TRUE}
        self.flipped = {"s": 0, "t": 0}
        self.is_uniform = False

    # ---- operands

    def is_predicate(self, number: int) -> bool:
        """Whether operand `number` is a predicate."""
        return number < len(self.args) and bool(_PREDICATE.match(self.args[number]))

    def to(self, number: int) -> None:
        """The result goes to operand `number`."""
        self.rows_of["d"] = self.register(self.args[number], is_written=True)

    def register(self, text: str, *, is_written: bool = False) -> int:
        """The row of a register. Raises `Unsupported` for anything else."""
        match = _REGISTER.match(text)
        if match is None:
            raise self.refuse()
        uniform, number = match.groups()
        if number == "Z":
            return self.rows.trash if is_written else self.rows.zero
        if uniform and is_written:
            self.is_uniform = True
        return self.rows.uniform(int(number)) if uniform else int(number)

    def whole(self, slot: str, number: int, words: int = 1) -> None:
        """Operand `number` is a whole number of so many words; -x and ~x are done where it is read."""
        text = self.args[number]
        index = "abc".index(slot)
        if text[0] in "-~" and not _HEXADECIMAL.match(text[1:]):
            self.flip[index], self.keep[index] = ALL, int(text[0] == "-")
            text = text[1:]
        self.rows_of[slot] = self._row(text, words, _read_whole)

    def take(self, slots: str, words: int = 1, read: Callable[[str], int] | None = None) -> int:
        """Operands from the first on, each as its slot says; gives the number of the one behind them.

        d is the result, p and q are predicates that are written, P and Q those that need not be there, s and t those
        that are read; a, b and c are whole numbers, A, B and C floats of so many words, or what `read` makes of their
        digits.
        """
        if not {*"ABC"}.isdisjoint(slots):
            self.keep = [ALL, ALL, ALL]
        number = 0
        for slot in slots:
            if slot in "PQ" and not self.is_predicate(number):
                continue
            if slot == "d":
                self.to(number)
            elif slot in "pqPQ":
                self.writes(slot.lower(), number)
            elif slot in "st":
                self.reads(slot, number)
            elif slot.islower():
                self.whole(slot, number)
            else:
                self.real(slot.lower(), number, words, read)
            number += 1
        return number

    def long(self, slot: str, number: int) -> None:
        """Operand `number` is a whole number of 64 bits; one that is part of the instruction is its upper word."""
        if _HEXADECIMAL.match(self.args[number].lstrip("-")):
            self.rows_of[slot] = self.rows.immediate(0, self.literal(number))
        else:
            self.whole(slot, number, 2)

    def half(self, slot: str, number: int, *, is_bfloat: bool) -> None:
        """Operand `number` is a 16-bit float in the lower half of a register."""
        if _NUMBER.match(self.args[number].lstrip("-")):
            self.keep["abc".index(slot)] = ALL
            self.rows_of[slot] = self.rows.immediate(half_bits(self.args[number], is_bfloat))
        else:
            self.real(slot, number)

    def real(
        self, slot: str, number: int, words: int = 1, read: Callable[[str], int] | None = None
    ) -> None:
        """Operand `number` is a float, or what `read` makes of its digits; -x and |x| are done where it is read."""
        text, index = self.args[number], "abc".index(slot)
        self.keep[index] = ALL
        if text[0] == "-" and not _NUMBER.match(text[1:]):
            self.flip[index], text = 0x80000000, text[1:]
        if text[0] == "|":
            self.keep[index], text = 0x7FFFFFFF, text[1:-1]
        self.rows_of[slot] = self._row(text, words, read or _read_float)

    def word(self, text: str) -> int:
        """The row of a register, a constant or a number of 32 bits."""
        return self._row(text, 1, _read_whole)

    def _row(self, text: str, words: int, read: Callable[[str], int]) -> int:
        if match := _CONSTANT.match(text):
            return self.rows.constant(int(match[1], 16), int(match[2] or "0", 16), words)
        if _REGISTER.match(text):
            return self.register(text)
        try:
            value = read(text)
        except ValueError:
            raise self.refuse() from None
        return self.rows.immediate(*(value >> 32 * n for n in range(words)))

    def writes(self, name: str, number: int) -> None:
        """Predicate operand `number` is written, as `p` or `q`."""
        self.written[name] = self.predicate(number, is_written=True)[0]

    def reads(self, name: str, number: int) -> None:
        """Predicate operand `number` is read, as `s` or `t`."""
        self.read[name], self.flipped[name] = self.predicate(number)

    def predicate(self, number: int, *, is_written: bool = False) -> tuple[int, int]:
        """A predicate's number, and 1 where its opposite is meant."""
        found = read_predicate(self.args[number]) if number < len(self.args) else None
        if found is None:
            raise self.refuse()
        if not is_written:
            return found
        self.is_uniform |= found[0] > TRUE
        return (NOWHERE if found[0] in (TRUE, UNIFORM_TRUE) else found[0]), found[1]

    def place(self, number: int) -> int:
        """The index of the instruction that a label leads to."""
        match = re.match(r"`\((.*)\)$", self.args[number])
        if match is None or match[1] not in self._labels:
            raise self.refuse()
        return self._labels[match[1]] // 16

    def literal(self, number: int) -> int:
        """A whole number that is part of the instruction."""
        try:
            return _read_whole(self.args[number]) & ALL
        except (ValueError, IndexError):
            raise self.refuse() from None

    # ---- the end

    def finish(self, operations: Mapping[str, int], row: np.void, site: int) -> None:
        """Fill in a row of the program. Raises `Unsupported` where a modifier is left over."""
        self.refuse_rest()
        fields: dict[str, Any] = {
            "operation": operations[self.operation], "bytes": self.bytes, "variant": self.variant & ALL,
            "keep": self.keep, "flip": self.flip, "offset": self.offset, "target": self.target, "site": site,
            **self.rows_of, **self.written, **self.read,
            "s_flip": self.flipped["s"], "t_flip": self.flipped["t"],
        }  # fmt: skip
        guard, flip = guard_of(self.statement)
        is_of_all = self.is_uniform and self.operation not in _OF_A_WARP
        fields |= {"guard": guard, "guard_flip": flip | (2 if is_of_all else 0)}
        for name, value in fields.items():
            row[name] = value


def guard_of(statement: Statement) -> tuple[int, int]:
    """The number of the predicate under which a statement happens, and 1 where its opposite is meant."""
    return read_predicate(statement.guard or "PT") or (TRUE, 0)


def read_predicate(text: str) -> tuple[int, int] | None:
    """A predicate's number, and 1 where its opposite is meant; None for what is no predicate."""
    match = _PREDICATE.match(text)
    if match is None:
        return None
    flip, uniform, name = match.groups()
    true = UNIFORM_TRUE if uniform else TRUE
    return true if name == "T" else int(name) + (8 if uniform else 0), int(bool(flip))


def _read_whole(text: str) -> int:
    return int(text, 0)


def float_bits(text: str, kind: str) -> int:
    """Bits of a number as nvdisasm prints it: kind "f", "d" or "e", as in `struct`."""
    unsigned = {"e": "H", "f": "I", "d": "Q"}[kind]
    sign = text.startswith("-")
    digits = text.lstrip("+-")
    if digits.upper() == "QNAN":
        width = struct.calcsize(unsigned) * 8
        return (1 << width) - 1 if sign else (1 << width - 1) - 1
    number = float(digits)
    if kind == "f":
        number = float(np.float32(number))
    bits = struct.unpack(unsigned, struct.pack(kind, number))[0]
    return bits | (1 << struct.calcsize(unsigned) * 8 - 1 if sign else 0)


def half_bits(text: str, is_bfloat: bool) -> int:
    """The same of a 16-bit float."""
    return float_bits(text, "f") >> 16 if is_bfloat else float_bits(text, "e")


def _read_float(text: str) -> int:
    return int(text, 16) if _HEXADECIMAL.match(text) else float_bits(text, "f")


def read_double(text: str) -> int:
    """Bits of a double: the upper word of what has hexadecimal digits."""
    return int(text, 16) << 32 if _HEXADECIMAL.match(text) else float_bits(text, "d")


Read = TypeVar("Read", bound=Callable[..., None])
Readers = dict[str, tuple[Callable[..., None], tuple[Any, ...]]]
"""By an opcode the function that reads it, and what that is given besides."""


def register_readers(
    table: Readers,
) -> Callable[[str | Mapping[str, tuple[Any, ...]]], Callable[[Read], Read]]:
    """A decorator of the function that reads some opcodes, by their names with spaces between.

    Of a mapping of such names the function is given what stands behind its own.
    """

    def opcodes(names: str | Mapping[str, tuple[Any, ...]]) -> Callable[[Read], Read]:
        rows = {names: ()} if isinstance(names, str) else names

        def add(function: Read) -> Read:
            for some, more in rows.items():
                for name in some.split():
                    assert name not in table
                    table[name] = function, more
            return function

        return add

    return opcodes


READERS: Readers = {}
"""How each opcode of machine code is read."""

opcodes = register_readers(READERS)


def make(
    draft: Draft,
    operation: str,
    slots: str = "",
    bits: Mapping[str, int] = NO_BITS,
    usual: int = 0,
    *how: Any,
) -> None:
    """An operation of operands that `Draft.take` reads; its variant is the `usual` one, with `bits` of modifiers turned."""
    draft.operation, draft.variant = operation, draft.flags(bits) ^ usual
    draft.take(slots, *how)
