"""A peer called in C: FlashInfer, whose import takes a dozen packages."""

import subprocess
from ctypes import CDLL, c_size_t, c_void_p
from functools import cache
from importlib.metadata import distribution
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from softmax_lib.suites.timing import Call

_FLASHINFER = """
#include <flashinfer/sampling.cuh>
extern "C" int softmax(float* x, float* y, size_t rows, size_t cols, void* space, size_t bytes, cudaStream_t stream) {
  return flashinfer::sampling::OnlineSoftmax<float>(x, y, rows, cols, nullptr, 1.0f, space, bytes, false, stream);
}
"""
_SPACE_BYTES = 2**20
"""As FlashInfer's `softmax` gives it."""


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
        space = x.new_empty(_SPACE_BYTES // 4)
        of = (x.data_ptr(), y.data_ptr(), *x.shape, space.data_ptr(), _SPACE_BYTES)
        function(*of, torch.cuda.current_stream().cuda_stream)
        return y

    return run
