"""What a kernel takes, as its compiler says, and whether what it is given fits."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import bfloat16_bits, element_code, is_array, is_writable
from softmax_lib.engine.declarations import Declaration
from softmax_lib.engine.errors import BadInput, WrongType

HEADER = Path(__file__).with_name("signature.h")
"""C++ for in front of a source: `kernel_signature::SignatureOf<decltype(&kernel)>::signature_table` has `rows`."""

ROW = 6
"""Numbers a parameter."""


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

    def code(self, given: Any) -> str:
        """What the kernel takes the elements of an array for, as `element_code` says: 16-bit numbers may be given as bits."""
        of_bits = {Kind.HALF: "f2", Kind.BFLOAT: "bf2"} if element_code(given) == "u2" else {}
        return of_bits.get(self.kind, element_code(given))


_CODES = {"b": Kind.BOOLEAN, "i": Kind.SIGNED, "u": Kind.UNSIGNED, "f": Kind.FLOATING}


@dataclass(frozen=True)
class Signature:
    """The parameters of `kernel`."""

    kernel: str
    parameters: tuple[Parameter, ...]

    def bind(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """`arguments` as they go to the kernel: arrays and lists of arrays as they are, values as bytes.

        None stands for a null pointer. Raises `WrongType` or `BadInput`, naming the argument that
        does not fit and what its parameter takes.
        """
        taken = len(self.parameters)
        if len(arguments) != taken:
            raise BadInput(
                f"{self.kernel} takes {taken} argument{'s' * (taken != 1)} "
                f"({', '.join(p.declared for p in self.parameters)}), and {len(arguments)} were given."
            )
        pairs = zip(self.parameters, arguments, strict=True)
        return tuple(
            _bind(f"Argument {i} of {self.kernel}", *pair) for i, pair in enumerate(pairs, 1)
        )


def read_signature(kernel: str, declared: Declaration | None, rows: np.ndarray) -> Signature:
    """The signature that `rows`, an array of shape (1 + parameters, 6) as signature.h has it, tells.

    Parameters are called as they are `declared`, where that is known.
    """
    parameters = []
    is_known = declared and len(declared.parameters) == len(rows) - 1
    for i, (depth, is_const, kind, size, lanes, bytes_) in enumerate(rows[1:].tolist()):
        text, name = f"parameter {i + 1}", f"argument{i + 1}"
        if declared and is_known:
            text, name = declared.parameters[i], declared.parameter_names[i]
        parameters.append(
            Parameter(name, text, depth, bool(is_const), Kind(kind), size, lanes, bytes_)
        )
    return Signature(kernel, tuple(parameters))


def _bind(what: str, parameter: Parameter, given: Any) -> Any:
    if parameter.depth > 1:
        if not isinstance(given, (list, tuple)) or not all(map(is_array, given)):
            raise WrongType(_mismatch(what, parameter, f"a {type(given).__name__}"))
        return list(given)
    if parameter.depth:
        return None if given is None else _bind_array(what, parameter, given)
    if is_array(given) and given.ndim:
        raise WrongType(_mismatch(what, parameter, f"an array of {given.dtype}"))
    return _pack(what, parameter, given)


def _bind_array(what: str, parameter: Parameter, given: Any) -> Any:
    if not is_array(given):
        raise WrongType(_mismatch(what, parameter, f"a {type(given).__name__}"))
    code = element_code(given)
    if not _fits(parameter, code, given.itemsize, given.nbytes):
        raise WrongType(_mismatch(what, parameter, f"an array of {given.dtype}"))
    if not parameter.is_const and not is_writable(given):
        raise BadInput(f"{what} is read-only, and `{parameter.declared}` may be written.")
    return given


def _fits(parameter: Parameter, code: str, itemsize: int, nbytes: int) -> bool:
    """Whether elements with this code, such as "f4" or "bf2", are what the pointer points to."""
    kind, size, lanes = parameter.kind, parameter.size, parameter.lanes
    if kind == Kind.NOTHING:
        return True
    if kind == Kind.STRUCTURE or code[0] in "Vc":  # complex is a pair, or somebody's own structure
        own = code[0] == "V" or kind == Kind.STRUCTURE or (kind == Kind.FLOATING and lanes == 2)
        return own and itemsize == size
    if kind == Kind.BFLOAT:
        return code in ("bf2", "u2") and nbytes % size == 0
    if kind == Kind.HALF:
        return code in ("f2", "u2") and nbytes % size == 0
    if size == 1 and itemsize == 1:  # char is text, flags and raw bytes alike
        return code[0] in "biu"
    return _CODES.get(code[0]) == kind and itemsize == size // lanes and nbytes % size == 0


# ---- the bytes of a value


def _mismatch(what: str, parameter: Parameter, given: str) -> str:
    return f"{what} is {given}; `{parameter.declared}` takes {parameter.expected}."


def _pack(what: str, parameter: Parameter, given: Any) -> bytes:
    """A value as the parameter's bytes."""
    if is_array(given):  # of no dimension
        given = given[()] if isinstance(given, np.ndarray) else given.item()
    if isinstance(given, (ctypes.Structure, ctypes.Union, np.void, bytes, tuple)):
        return _pack_structure(what, parameter, given)
    if parameter.kind == Kind.STRUCTURE or parameter.lanes > 1:
        if isinstance(given, (complex, np.complexfloating)) and parameter.size in (8, 16):
            return struct.pack("2f" if parameter.size == 8 else "2d", given.real, given.imag)
        raise WrongType(_mismatch(what, parameter, f"a {type(given).__name__}"))
    if parameter.kind in (Kind.FLOATING, Kind.HALF, Kind.BFLOAT):
        return _pack_float(what, parameter, given)
    return _pack_integer(what, parameter, given)


def _pack_float(what: str, parameter: Parameter, given: Any) -> bytes:
    if not isinstance(given, (int, float, np.integer, np.floating)) or isinstance(given, bool):
        raise WrongType(_mismatch(what, parameter, f"a {type(given).__name__}"))
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
        raise WrongType(_mismatch(what, parameter, f"a {type(given).__name__}"))
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
    for value in values:
        if not isinstance(value, np.generic):
            raise WrongType(
                f"A structure given as a tuple has numpy scalars, such as np.float32(1), not a "
                f"{type(value).__name__}."
            )
        packed += b"\0" * (-len(packed) % value.itemsize) + value.tobytes()
        widest = max(widest, value.itemsize)
    return packed + b"\0" * (-len(packed) % widest)
