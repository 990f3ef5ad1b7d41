"""What stands behind the dots of an instruction's name, word by word: what nobody asked for is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from softmax_lib.engine.compiled.listing import Statement

Reader = TypeVar("Reader", bound=Callable[..., None])


class Unsupported(Exception):
    """An instruction, or a form of one, that the interpreter does not have."""


class Modifiers:
    """A statement while its words are read. `has` says whether a modifier is there, and notes that it was asked for;
    `refuse_rest` refuses a statement of which one is left over."""

    def __init__(self, statement: Statement):
        self.statement, self.args = statement, statement.operands
        self._left = set(statement.modifiers)

    def has(self, *names: str) -> bool:
        """Whether one of these modifiers is there."""
        self._left.difference_update(names)
        return not set(names).isdisjoint(self.statement.modifiers)

    def ignore(self, *names: str) -> None:
        """These modifiers change nothing that is counted here."""
        self._left.difference_update(names)

    def choose(self, options: Mapping[str, int], default: int | None = None) -> int:
        """The number of the one modifier that is among `options`."""
        for name, number in options.items():
            if name in self.statement.modifiers:
                self._left.discard(name)
                return number
        if default is None:
            raise self.refuse()
        return default

    def refuse(self) -> Unsupported:
        """What to raise of an instruction that cannot be done."""
        return Unsupported(self.statement.text)

    def refuse_rest(self) -> None:
        """Raises `Unsupported` where a modifier is left over."""
        if self._left:
            raise self.refuse()


def registered_in(table: dict[str, Any]) -> Callable[..., Callable[[Reader], Reader]]:
    """A decorator of the function that reads the opcodes of some names."""

    def opcode(*names: str) -> Callable[[Reader], Reader]:
        def add(function: Reader) -> Reader:
            for name in names:
                assert name not in table
                table[name] = function
            return function

        return add

    return opcode
