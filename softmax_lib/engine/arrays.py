"""The arrays that a caller hands in: numpy arrays and torch tensors, told apart without importing torch."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

from softmax_lib.engine.errors import BadInput, WrongType

Matrix: TypeAlias = Any
"""A contiguous float32 matrix of shape (rows, cols): a numpy array or a torch tensor."""


def is_tensor(x: object) -> bool:
    """Whether `x` is a torch tensor; where nobody has imported torch, nothing is one."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)  # not while a thread imports it
    return tensor is not None and isinstance(x, tensor)


def is_on_gpu(x: Matrix) -> bool:
    """Whether `x`, an array or a tensor, is a CUDA tensor or a CuPy array."""
    return bool(getattr(x, "is_cuda", False)) or _is_cupy(x)


def host_view(x: Matrix) -> np.ndarray:
    """A numpy view of `x`, which lies in the host's memory, in the place that it has in its storage.

    Emulated arrays are as misaligned as that place says: see `offset`.
    """
    if not is_tensor(x):
        return np.asarray(x)
    start = x.storage_offset()
    whole = x.detach().as_strided((start + x.numel(),), (1,), 0).numpy()
    return whole[start:].reshape(x.shape)


def offset(x: np.ndarray) -> int:
    """Elements between the start of the array that `x` is a view of and the start of `x`."""
    owner = x
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return (address(x) - address(owner)) // x.itemsize


def address(x: Matrix) -> int:
    """The address of the first element."""
    return x.data_ptr() if is_tensor(x) else x.__array_interface__["data"][0]


def is_array(x: object) -> bool:
    """Whether `x` is a numpy array, a torch tensor or a CuPy array."""
    return isinstance(x, np.ndarray) or is_tensor(x) or _is_cupy(x)


def _is_cupy(x: object) -> bool:
    return type(x).__module__.partition(".")[0] == "cupy" and hasattr(x, "dtype")


def is_writable(x: Any) -> bool:
    """Whether a kernel may write into the array or tensor `x`."""
    return not isinstance(x, np.ndarray) or bool(x.flags.writeable)


def element_code(x: Any) -> str:
    """What the elements are, as numpy codes it: "f4", "i8", "b1", "c8", "V12"; "bf2" for bfloat16."""
    name = str(x.dtype).removeprefix("torch.")
    if name == "bfloat16":
        return "bf2"
    if is_tensor(x):
        return "V1" if name.startswith("float8") else np.dtype(name).str[1:]
    return x.dtype.str[1:]


def check_array(what: str, x: Any) -> None:
    """Raises `WrongType` or `BadInput` for an array or tensor whose bytes no kernel can take."""
    tensor = is_tensor(x)
    if not tensor and isinstance(x, np.ma.MaskedArray):
        raise WrongType(f"{what} is a masked array; kernels see no mask, so pass x.filled(...).")
    if not tensor and (x.dtype.hasobject or x.dtype.kind in "USmM"):
        raise WrongType(f"{what} is an array of {x.dtype}, which no kernel can take.")
    if not tensor and not x.dtype.isnative:
        raise WrongType(
            f"{what} has bytes in the other order; pass x.astype(x.dtype.newbyteorder())."
        )
    if tensor:
        check_bytes(what, x)
    if not is_contiguous(x, tensor):
        how = "x.contiguous()" if tensor else "np.ascontiguousarray(x)"
        raise BadInput(
            f"{what} has strides: its elements do not follow one another in memory; pass {how}."
        )


def host_bytes(x: Any, name: str = "An array") -> np.ndarray:
    """The bytes of `x`, an array or CPU tensor, as uint8 that share its memory, at its place in its storage.

    Raises `BadInput` where `x`, called `name`, is on a GPU.
    """
    if is_on_gpu(x):
        raise BadInput(f"{name} is on {x.device}; the emulator takes its .cpu().")
    if not is_tensor(x):
        owner = x.reshape(-1)
        return owner.view(np.uint8) if x.size else np.empty(0, np.uint8)
    torch = sys.modules["torch"]
    start, flat = x.storage_offset(), x.detach()
    whole = flat.as_strided((start + x.numel(),), (1,), 0).view(torch.uint8).numpy()
    return whole[start * x.element_size() :]


def empty_like(x: Matrix) -> Matrix:
    """A new matrix of the same kind, shape and place."""
    return x.new_empty(x.shape) if is_tensor(x) else np.empty_like(x, subok=False)


def like(x: Matrix, values: np.ndarray) -> Matrix:
    """`values` as what `x` is: a numpy array as itself, for a tensor one that shares its memory."""
    return sys.modules["torch"].from_numpy(values) if is_tensor(x) else values


def check_bytes(what: str, x: Any) -> None:
    """Raises `BadInput` for a tensor whose numbers are not what its memory holds."""
    if x.layout is not sys.modules["torch"].strided or x.is_nested:
        kind = "nested" if x.is_nested else str(x.layout).removeprefix("torch.")
        raise BadInput(f"{what} is a {kind} tensor; kernels take plain ones, so pass a dense copy.")
    if not (x.is_cuda or x.device.type == "cpu"):
        raise BadInput(f"{what} is on {x.device}; kernels take a CUDA tensor or a CPU tensor.")
    for is_view, resolve in ((x.is_neg(), "resolve_neg()"), (x.is_conj(), "resolve_conj()")):
        if is_view:
            raise BadInput(
                f"{what} has its signs turned only as torch reads it; pass its {resolve}."
            )


def is_contiguous(x: Matrix, tensor: bool) -> bool:
    """Whether the elements of an array, or of a `tensor`, follow one another in memory."""
    return x.is_contiguous() if tensor else x.flags.c_contiguous


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 of each number, ties to even, as uint16 bits: numpy has no such dtype."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = bits + 0x7FFF + (bits >> 16 & 1)
    return np.where(np.isnan(values), 0x7FC0, rounded >> 16).astype(np.uint16)


def from_bfloat16_bits(bits: np.ndarray) -> np.ndarray:
    """The float32 numbers that uint16 bits of bfloat16 stand for."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
