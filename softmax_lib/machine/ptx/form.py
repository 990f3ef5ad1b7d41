"""One PTX statement on its way to numbers: its modifiers are read, and what nobody read is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from softmax_lib.machine.draft import Unsupported
from softmax_lib.machine.listing import Statement
from softmax_lib.machine.opcodes import conversions, floats

if TYPE_CHECKING:
    from softmax_lib.machine.ptx.writer import Writer

KINDS = {name.lower(): number for name, number in conversions.KINDS.items()}
KINDS |= {f"b{bits}": KINDS[f"u{bits}"] for bits in (8, 16, 32, 64)}
"""Kinds of numbers as cpp/numbers.h has them, by the names of PTX's types."""

PACKED = ("f16x2", "bf16x2", "u16x2", "s16x2", "pred")
"""Types that have no kind of their own."""

ROUNDINGS = {name.lower(): number for name, number in floats.ROUNDINGS.items()}
KIND_SHIFT, MADE_SHIFT = 16, 20
"""Where in a variant the kind of what is read is, and of what a conversion makes."""


class Form:
    """A statement whose modifiers are taken one by one; `finish` refuses one of which some are left over."""

    def __init__(self, statement: Statement):
        self.statement, self.args = statement, statement.operands
        self.opcode = statement.opcode
        self._left = list(statement.modifiers)

    @property
    def types(self) -> tuple[str, ...]:
        """The types that it names, in their order: what is made comes before what is read."""
        return tuple(one for one in self.statement.modifiers if one in KINDS or one in PACKED)

    def take_type(self) -> str:
        """The last type, which is that of what is read."""
        if not self.types:
            raise self.refuse()
        self.ignore(*self.types)
        return self.types[-1]

    def has(self, *names: str) -> bool:
        """Whether one of these modifiers is there."""
        found = not set(names).isdisjoint(self._left)
        self.ignore(*names)
        return found

    def ignore(self, *names: str) -> None:
        """These modifiers change nothing here."""
        self._left = [one for one in self._left if one not in names]

    def choose(self, options: Mapping[str, int], default: int | None = None) -> int:
        """The number of the one modifier that is among `options`."""
        for name in self._left:
            if name in options:
                self._left.remove(name)
                return options[name]
        if default is None:
            raise self.refuse()
        return default

    def flags(self) -> int:
        """Rounding, .ftz and .sat of a float, as cpp/numbers.h has them."""
        rounding = self.choose(ROUNDINGS, 0)
        return rounding | floats.FLUSHED * self.has("ftz") | floats.SATURATED * self.has("sat")

    def refuse(self) -> Unsupported:
        """What to raise of a statement that cannot be done."""
        return Unsupported(self.statement.text)

    def finish(self) -> None:
        """Raises `Unsupported` where a modifier was not asked for."""
        if self._left:
            raise self.refuse()


def kind_bits(type_: str) -> int:
    """A type's kind at its place in a variant."""
    return KINDS[type_] << KIND_SHIFT


Reader = Callable[["Writer", Form], None]
READERS: dict[str, Reader] = {}
"""How each opcode is read, by its name."""


def opcode(*names: str) -> Callable[[Reader], Reader]:
    """The function below reads the opcodes of these names."""

    def add(function: Reader) -> Reader:
        for name in names:
            assert name not in READERS
            READERS[name] = function
        return function

    return add
