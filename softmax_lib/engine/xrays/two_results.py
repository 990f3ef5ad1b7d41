"""What two runs of one launch left in an array, compared: the source as it is written, and compiled code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from softmax_lib.engine.arrays import from_bfloat16_bits

Elements: TypeAlias = str | np.dtype
"""What elements are: a code, as `arrays.element_code` says, or a dtype of a structure's members."""

_CLOSE, _CLOSE_SHORT = 1e-3, 2e-2
"""How far apart numbers may be, and those of 16 bits: compilers contract, functions are approximate, atomics add in any
order. A fraction of the number itself, and a hundredth as much of the array's largest, which is left where a sum cancels."""


def first_difference(
    written: np.ndarray, compiled: np.ndarray, of: Elements, noise: float, in_any_order: bool
) -> tuple[int, str, str] | None:
    """Index and values of the first element that is another one, in bytes of two arrays; None where all are the same.

    Whole numbers, and bytes of an unknown type, are compared exactly; numbers with a point may be `noise` apart, or close.
    `in_any_order` it is enough that the same elements are there.
    """
    a, b = (_readable(one, of) for one in (written, compiled))
    others = _others(a, b, of == "bf2", noise)
    if others.any() and in_any_order and a.ndim == 1 and not a.dtype.names:
        others &= _others(np.sort(a), np.sort(b), of == "bf2", noise).any()
    at = int(np.argmax(others))
    return (at, str(a[at]), str(b[at])) if others.any() else None


def noise_of(arrays: Iterable[tuple[np.ndarray, Elements]]) -> float:
    """By how much the sum of an array's numbers may differ with their order; of the noisiest one.

    Typical numbers count: one that is very large, such as a mask, says nothing of the others.
    """
    real = [one for one in (_readable(*each) for each in arrays) if one.dtype.kind in "fc"]
    some = [(one.size, one[:: 1 + one.size // 10_000]) for one in real]
    finite = [(count, one[np.isfinite(one)]) for count, one in some]
    return 2.0**-24 * max(
        (count * float(np.median(np.abs(one))) for count, one in finite if one.size), default=0
    )


def _readable(array: np.ndarray, of: Elements) -> np.ndarray:
    """Bytes as numbers, as structures with members, or as a row of bytes an element."""
    if of == "bf2":
        return from_bfloat16_bits(array.view(np.uint16))
    typed = array.view(of)
    is_opaque = typed.dtype.kind == "V" and not typed.dtype.names
    return typed.view(np.uint8).reshape(len(typed), -1) if is_opaque else typed


def _others(a: np.ndarray, b: np.ndarray, is_short: bool, noise: float) -> np.ndarray:
    """Which elements are others, of arrays of one type."""
    if a.dtype.names:
        members = [_others(a[name], b[name], is_short, noise) for name in a.dtype.names]
        return np.logical_or.reduce(members)
    others = a != b
    if a.dtype.kind in "fc":
        close = _CLOSE_SHORT if is_short or a.dtype == np.float16 else _CLOSE
        largest = float(np.max(np.abs(a), where=np.isfinite(a), initial=0))
        with np.errstate(all="ignore"):
            x, y = (one[others].astype(np.complex128) for one in (a, b))
            room = 0.01 * close * largest + noise
            others[others] = ~np.isclose(y, x, rtol=close, atol=room, equal_nan=True)
    return others.reshape(len(a), -1).any(axis=1)
