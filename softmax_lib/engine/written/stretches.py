"""Named stretches of memory: a launch's arrays, and the variables of its source."""

from __future__ import annotations

from typing import NamedTuple


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


def element_bytes(code: str) -> int:
    """Bytes of an element with this code, such as 2 of "bf2"; 1 of a structure of none."""
    return max(1, int(code.lstrip("bfiucVU")))
