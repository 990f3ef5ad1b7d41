"""One parameter of a kernel, and the bytes of a value that it takes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import bfloat16_bits, is_array
from softmax_lib.engine.errors import BadInput, WrongType


class Kind(IntEnum):
    """What an element is, as signature.h counts."""

    STRUCTURE, BOOLEAN, SIGNED, UNSIGNED, FLOATING, HALF, BFLOAT, NOTHING = range(8)


_TEXT = {Kind.BOOLEAN: "bool", Kind.SIGNED: "int{}", Kind.UNSIGNED: "uint{}", Kind.FLOATING: "float{}",
         Kind.HALF: "float16", Kind.BFLOAT: "bfloat16"}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One parameter: `depth` pointers to elements of a `kind`; a float4 is 4 `lanes` of 16 bytes `size`."""

    name: str
    declared: str
    depth: int
    is_const: bool
    kind: Kind
    size: int
    lanes: int
    bytes: int

    @property
    def expected(self) -> str:
        """What to pass, in words."""
        if self.depth > 1:
            return "a list of arrays"
        element = _TEXT.get(self.kind, "").format(self.size * 8 // self.lanes)
        if self.kind == Kind.NOTHING:
            return "an array of any dtype"
        if self.kind == Kind.STRUCTURE:
            element = f"structure of {self.size} bytes"
        if not self.depth:
            return f"one {element}" if self.lanes == 1 else f"{self.lanes} {element} values"
        groups = f" with a multiple of {self.lanes} elements" if self.lanes > 1 else ""
        return f"an array of {element}{groups}" if self.kind else f"an array of a {element}"


def mismatch(what: str, parameter: Parameter, given: str) -> str:
    return f"{what} is {given}; `{parameter.declared}` takes {parameter.expected}."


def pack(what: str, parameter: Parameter, given: Any) -> bytes:
    """A value as the parameter's bytes."""
    if is_array(given):  # of no dimension
        given = given.item() if hasattr(given, "item") else given
    if isinstance(given, (ctypes.Structure, ctypes.Union, np.void, bytes, tuple)):
        return _pack_structure(what, parameter, given)
    if parameter.kind == Kind.STRUCTURE or parameter.lanes > 1:
        if isinstance(given, (complex, np.complexfloating)) and parameter.size in (8, 16):
            return struct.pack("2f" if parameter.size == 8 else "2d", given.real, given.imag)
        raise WrongType(mismatch(what, parameter, f"a {type(given).__name__}"))
    if parameter.kind in (Kind.FLOATING, Kind.HALF, Kind.BFLOAT):
        return _pack_float(what, parameter, given)
    return _pack_integer(what, parameter, given)


def _pack_float(what: str, parameter: Parameter, given: Any) -> bytes:
    if not isinstance(given, (int, float, np.integer, np.floating)) or isinstance(given, bool):
        raise WrongType(mismatch(what, parameter, f"a {type(given).__name__}"))
    with np.errstate(over="ignore"):
        try:
            value = float(given)
        except OverflowError:
            raise BadInput(f"{what} is too large for `{parameter.declared}`.") from None
        if parameter.kind == Kind.BFLOAT:
            return bfloat16_bits(np.array(value, np.float32)).tobytes()
        return np.asarray(value, f"<f{parameter.size}").tobytes()


def _pack_integer(what: str, parameter: Parameter, given: Any) -> bytes:
    if not hasattr(given, "__index__") and not isinstance(given, np.bool_):
        raise WrongType(mismatch(what, parameter, f"a {type(given).__name__}"))
    value, bits = int(given), parameter.size * 8
    is_signed = parameter.kind == Kind.SIGNED
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    high = 1 if parameter.kind == Kind.BOOLEAN else high
    if not low <= value <= high:
        raise BadInput(f"{what} is {value}; `{parameter.declared}` takes {low} to {high}.")
    return value.to_bytes(parameter.size, "little", signed=is_signed)


def _pack_structure(what: str, parameter: Parameter, given: Any) -> bytes:
    packed = _members(given) if isinstance(given, tuple) else bytes(given)
    if len(packed) != parameter.bytes:
        raise BadInput(
            f"{what} has {len(packed)} bytes; `{parameter.declared}` has {parameter.bytes}."
        )
    return packed


def _members(values: tuple) -> bytes:
    """Numpy scalars one after the other, each as aligned as C++ aligns it."""
    packed, widest = b"", 1
    for value in _numpy_scalars(values):
        packed += b"\0" * (-len(packed) % value.itemsize) + value.tobytes()
        widest = max(widest, value.itemsize)
    return packed + b"\0" * (-len(packed) % widest)


def _numpy_scalars(values: tuple) -> Iterator[np.generic]:
    for value in values:
        if not isinstance(value, np.generic):
            raise WrongType(
                f"A structure given as a tuple has numpy scalars, such as np.float32(1), not a "
                f"{type(value).__name__}."
            )
        yield value
