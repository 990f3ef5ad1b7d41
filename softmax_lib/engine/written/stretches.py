"""Named stretches of memory: a launch's arrays, and the variables of its source."""

from __future__ import annotations

from typing import NamedTuple

from softmax_lib.engine.words import element


class Stretch(NamedTuple):
    """An array or a variable: where it begins, its bytes, and what an element is, as `arrays.element_code` says.

    A shared one begins at an offset in the block's shared memory, others at an address; in a library's tables, at an
    offset there. One that is not writable is a constant.
    """

    name: str
    address: int
    bytes: int
    code: str
    is_shared: bool = False
    is_writable: bool = True

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return element_bytes(self.code)

    @property
    def elements(self) -> int:
        """How many it has."""
        return self.bytes // self.element_bytes

    def at(self, address: int) -> str:
        """What lies there, in words: "part[8], past the end of its 8 elements"."""
        return element(self.name, address - self.address, self.element_bytes, self.bytes)


def element_bytes(code: str) -> int:
    """Bytes of an element with this code, such as 2 of "bf2"; 1 of a structure of none."""
    return max(1, int(code.lstrip("bfiucVU")))
