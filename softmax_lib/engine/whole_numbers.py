"""Arguments that are whole numbers: rows, columns, threads, blocks, bytes."""

from __future__ import annotations

import operator
from typing import Any

from softmax_lib.engine.errors import WrongType


def whole(what: str, given: Any) -> int:
    """`given` as an int, numpy's too. Raises `WrongType`, about `what`, for any other and for True."""
    try:
        number = None if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = None
    if number is None:
        raise WrongType(f"{what} is a {type(given).__name__}; it takes a whole number.")
    return number
