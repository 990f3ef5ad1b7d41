"""Kernels of a test's own, and the emulator on small matrices."""

import numpy as np

from softmax_lib.engine.source import Source
from softmax_lib.engine.written import running
from softmax_lib.worklog import launch
from softmax_lib.worklog.reference import softmax as exact_softmax
from softmax_lib.worklog.registry import resolve

HEAD = 'extern "C" __global__ void mine(const float* x, float* y, int rows, int cols) {\n'
"""Line 1 of each kernel that `kernel_of` makes; its body starts on line 2."""
COLUMN_OF_A_TILE = """\
    __shared__ float tile[32 * WIDTH];
    for (int i = 0; i < 32; i++) tile[i * WIDTH + threadIdx.x] = x[i];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x * WIDTH];
"""
"""The body of one that reads a column out of shared memory; put a number for WIDTH."""

LIBRARIES = (
    "GL/freeglut.h", "GL/glut.h", "cublas.h", "cublas_v2.h", "cublasLt.h", "cuda_gl_interop.h", "cuda_profiler_api.h",
    "cufft.h", "curand.h", "cusolverDn.h", "cusparse.h", "exception.h", "helper_cuda.h", "helper_functions.h",
    "helper_image.h", "helper_string.h", "helper_timer.h", "nvToolsExt.h", "nvtx3/nvToolsExt.h", "torch/extension.h",
    "torch/types.h",
)  # fmt: skip
WITH_LIBRARIES = "".join(f"#include <{name}>\n" for name in (*LIBRARIES, *reversed(LIBRARIES))) + (
    "cublasHandle_t handle;\ncublasLtHandle_t lt;\nStopWatchInterface* timer;\nstd::string* text;\n"
    "__global__ void one(int* a) { *a = 1; }\nint main() {}\n"
)
"""A source with every header of the host's libraries, twice."""


def kernel_of(body, file_name="mine.cu", before=""):
    """The source of one kernel with this body, a block a row."""
    return Source(file_name, f"{before}{HEAD}{body}}}\n")


def ones(*shape):
    return np.ones(shape, np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def noise(*shape, scale=1, seed=0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def softmax(x):
    return exact_softmax(x).astype(np.float32)


def emulate(kernel, x, y, block_size, **how):
    """y = kernel(x) in the emulator, in warps and blocks as they are said."""
    if 0 not in x.shape:
        running.launch(*kernel.launches(x, y, block_size, **how))


def execute(source, x, block_size, **how):
    """What the emulator makes of x; an element that is not written is NaN."""
    y = np.full_like(x, np.nan)
    emulate(resolve(source), x, y, block_size, **how)
    return y


def trace(source, x, block_size, warp_size=32):
    return launch.trace(resolve(source), x, block_size, warp_size)
