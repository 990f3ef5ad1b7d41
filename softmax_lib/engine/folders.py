"""Where the headers and the machine code lie that whoever uses the engine brings along: see `set_compiler`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_find: Callable[[], Path] | None = None


def set_library(find: Callable[[], Path] | None) -> None:
    """Let `find` give the folder from now on."""
    global _find
    _find = find


def library_folder() -> Path:
    """The folder of headers that every source may include."""
    from pathlib import Path

    return _find() if _find else Path(os.devnull)


def listing_folder() -> Path:
    """The folder of what was compiled before."""
    return library_folder() / "listings"
