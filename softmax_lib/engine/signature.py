"""What a kernel takes, as its compiler says, and whether what it is given fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import element_code, is_array, is_writable
from softmax_lib.engine.errors import BadInput, WrongType
from softmax_lib.engine.parameters import Kind, Parameter, mismatch, pack

HEADER = Path(__file__).with_name("signature.h")
"""C++ for in front of a source: `kernel_signature::SignatureOf<decltype(&kernel)>::signature_table` has `rows`."""

ROW = 6
"""Numbers a parameter."""

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


def read_signature(
    kernel: str, declared: Sequence[str], names: Sequence[str], rows: np.ndarray
) -> Signature:
    """The signature that `rows`, an array of shape (1 + parameters, 6) as signature.h has it, tells.

    `declared` and `names` are the parameters as the source writes them, where that is known.
    """
    parameters = []
    for i, (depth, is_const, kind, size, lanes, bytes_) in enumerate(rows[1:].tolist()):
        text = declared[i] if len(declared) == len(rows) - 1 else f"parameter {i + 1}"
        name = names[i] if len(names) == len(rows) - 1 else f"argument{i + 1}"
        parameters.append(
            Parameter(name, text, depth, bool(is_const), Kind(kind), size, lanes, bytes_)
        )
    return Signature(kernel, tuple(parameters))


def _bind(what: str, parameter: Parameter, given: Any) -> Any:
    if parameter.depth > 1:
        return _bind_table(what, parameter, given)
    if parameter.depth:
        return None if given is None else _bind_array(what, parameter, given)
    if is_array(given) and given.ndim:
        raise WrongType(mismatch(what, parameter, f"an array of {given.dtype}"))
    return pack(what, parameter, given)


def _bind_table(what: str, parameter: Parameter, given: Any) -> Any:
    if not isinstance(given, (list, tuple)) or not all(is_array(array) for array in given):
        raise WrongType(mismatch(what, parameter, f"a {type(given).__name__}"))
    return list(given)


def _bind_array(what: str, parameter: Parameter, given: Any) -> Any:
    if not is_array(given):
        raise WrongType(mismatch(what, parameter, f"a {type(given).__name__}"))
    code = element_code(given)
    if not _fits(parameter, code, given.itemsize, given.nbytes):
        raise WrongType(mismatch(what, parameter, f"an array of {given.dtype}"))
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
