"""One PTX statement on its way to numbers: its modifiers are read, and what nobody read is refused."""

from __future__ import annotations

from collections.abc import Mapping

from softmax_lib.engine.compiled.draft import Modifiers, Readers, register_readers
from softmax_lib.engine.compiled.opcodes import floats

KINDS = {name.lower(): number for name, number in floats.KINDS.items()}
KINDS |= {f"b{bits}": KINDS[f"u{bits}"] for bits in (8, 16, 32, 64)}
"""Kinds of numbers as cpp/numbers.h has them, by the names of PTX's types."""

PACKED = ("f16x2", "bf16x2", "u16x2", "s16x2", "pred")
"""Types that have no kind of their own."""

KIND_SHIFT, MADE_SHIFT = 16, 20
"""Where in a variant the kind of what is read is, and of what a conversion makes."""


class Form(Modifiers):
    """A statement of PTX while its words are read: options have the names that machine code has, in small letters."""

    def _spelled(self, options: Mapping[str, int]) -> Mapping[str, int]:
        return {name.lower(): number for name, number in options.items()}

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

    def float_flags(self) -> int:
        """Rounding, .ftz and .sat of a float, as cpp/numbers.h has them."""
        return self.choose(floats.ROUNDINGS, 0) | self.flags(floats.ENDS)


def kind_bits(type_: str) -> int:
    """A type's kind at its place in a variant."""
    return KINDS[type_] << KIND_SHIFT


READERS: Readers = {}
"""How each opcode of PTX is read."""

opcodes = register_readers(READERS)
