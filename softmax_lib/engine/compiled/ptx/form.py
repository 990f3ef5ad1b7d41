"""One PTX statement on its way to numbers: its modifiers are read, and what nobody read is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from softmax_lib.engine.compiled.modifiers import Modifiers, registered_in
from softmax_lib.engine.compiled.opcodes import conversions, floats

if TYPE_CHECKING:
    from softmax_lib.engine.compiled.ptx.writer import Writer

KINDS = {name.lower(): number for name, number in conversions.KINDS.items()}
KINDS |= {f"b{bits}": KINDS[f"u{bits}"] for bits in (8, 16, 32, 64)}
"""Kinds of numbers as cpp/numbers.h has them, by the names of PTX's types."""

PACKED = ("f16x2", "bf16x2", "u16x2", "s16x2", "pred")
"""Types that have no kind of their own."""

ROUNDINGS = {name.lower(): number for name, number in floats.ROUNDINGS.items()}
KIND_SHIFT, MADE_SHIFT = 16, 20
"""Where in a variant the kind of what is read is, and of what a conversion makes."""


class Form(Modifiers):
    """A statement of PTX while its words are read."""

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

    def flags(self) -> int:
        """Rounding, .ftz and .sat of a float, as cpp/numbers.h has them."""
        rounding = self.choose(ROUNDINGS, 0)
        return rounding | floats.FLUSHED * self.has("ftz") | floats.SATURATED * self.has("sat")


def kind_bits(type_: str) -> int:
    """A type's kind at its place in a variant."""
    return KINDS[type_] << KIND_SHIFT


Reader = Callable[["Writer", Form], None]
READERS: dict[str, Reader] = {}
"""How each opcode is read, by its name."""

opcode = registered_in(READERS)
