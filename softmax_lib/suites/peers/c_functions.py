"""Peers called in C: FlashInfer, whose import takes a dozen packages, and Transformer Engine, whose part for torch is no wheel."""

import subprocess
from ctypes import CDLL, Structure, byref, c_float, c_int, c_size_t, c_void_p, sizeof
from functools import cache
from importlib.metadata import distribution
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from softmax_lib.suites.timing import SCALE, Call, mask_of

_FLASHINFER = """
#include <flashinfer/sampling.cuh>
extern "C" int softmax(float* x, float* y, size_t rows, size_t cols, void* space, size_t bytes, cudaStream_t stream) {
  return flashinfer::sampling::OnlineSoftmax<float>(x, y, rows, cols, nullptr, 1.0f, space, bytes, false, stream);
}
"""
_TE_DTYPES = {torch.bool: 0, torch.float16: 5, torch.bfloat16: 6}


@cache
def flashinfer() -> Call:
    """Softmax of float32 rows. Raises whatever is missing, and RuntimeError with what the compiler says."""
    from torch.utils.cpp_extension import CUDA_HOME

    headers = distribution("flashinfer-python").locate_file("flashinfer/data/include")
    flags = "-O3 -std=c++17 -use_fast_math -arch=native -shared -Xcompiler -fPIC -x cu -"
    with TemporaryDirectory() as folder:
        library = f"{folder}/softmax.so"
        command = [f"{CUDA_HOME}/bin/nvcc", f"-I{headers}", "-o", library, *flags.split()]
        done = subprocess.run(command, input=_FLASHINFER, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        function = CDLL(library).softmax
    function.argtypes = [c_void_p, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t, c_void_p]

    def run(x: Tensor, y: Tensor) -> Tensor:
        if x.dtype is not torch.float32:
            raise TypeError("it takes float32 alone")
        space = x.new_empty(2**18)  # as its `softmax` has it
        of = (x.data_ptr(), y.data_ptr(), *x.shape, space.data_ptr(), space.nbytes)
        function(*of, torch.cuda.current_stream().cuda_stream)
        return y

    return run


class _BasicTensor(Structure):
    """Transformer Engine's `NVTEBasicTensor`."""

    _fields_ = (("data", c_void_p), ("dtype", c_int), ("shape", c_size_t * 15), ("dims", c_size_t))


def transformer_engine() -> Call:
    """Softmax of masked scores, of some shapes: others would end the process. Raises whatever is missing."""
    from transformer_engine.common import _TE_LIB_CTYPES as library

    library.nvte_create_tensor.restype = c_void_p

    def named(x: Tensor) -> c_void_p:
        it = c_void_p(library.nvte_create_tensor(0))
        tells = _BasicTensor(x.data_ptr(), _TE_DTYPES[x.dtype], tuple(x.shape), x.dim())
        library.nvte_set_tensor_param_v2(it, 0, byref(tells), c_size_t(sizeof(tells)))
        return it

    def run(x: Tensor, y: Tensor) -> Tensor:
        if x.shape[2] % 4 or not 128 < x.shape[3] <= 16384:
            raise ValueError("it takes a multiple of 4 queries and 129 to 16384 keys")
        tensors = [named(one) for one in (x, mask_of(x, torch.bool), y)]
        stream = c_void_p(torch.cuda.current_stream().cuda_stream)
        library.nvte_scaled_masked_softmax_forward(*tensors, c_float(SCALE), stream)
        for one in tensors:
            library.nvte_destroy_tensor(one)
        return y

    return run
