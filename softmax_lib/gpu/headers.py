"""Headers for NVRTC: those of a source, and stand-ins for libraries of the host, whose calls are left out.

NVRTC knows none of the C and C++ library's headers; what kernels use of them is built in, or CUDA's own.
"""

from __future__ import annotations

from softmax_lib.engine.compiler import LINES_A_FILE
from softmax_lib.engine.host_code import HOST_HEADERS
from softmax_lib.engine.source import Source

_LIMITS = """\
#pragma once
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
"""
_STD = """\
#pragma once
#include <cuda/std/{0}>
namespace std {{ using namespace cuda::std; }}
"""
_HOST = """\
#pragma once
#ifndef NULL
#define NULL 0
#endif
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
"""
_MATH = """\
#pragma once
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_1_PI 0.31830988618379067154
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
"""
_STRING = "#pragma once\nnamespace std { class string; }\n"
_EMPTY = (
    "algorithm", "cassert", "chrono", "cstdio", "cstdlib", "cstring", "ctime", "fstream", "iomanip",
    "iostream", "map", "memory", "numeric", "omp.h", "random", "sstream", "strings.h", "sys/time.h",
    "thread", "time.h", "unistd.h", "vector", "assert.h", "stdio.h", "string.h",
    "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h",
)  # fmt: skip


def read_headers(source: Source) -> dict[str, str]:
    """Text of each header by the name that it is included by; the source's own come first."""
    found = dict.fromkeys(_EMPTY, "#pragma once\n")
    found |= dict.fromkeys(("float.h", "cfloat", "limits.h", "climits"), _LIMITS)
    found |= {name: _STD.format(name) for name in ("type_traits", "utility", "limits")}
    found |= {"math.h": _MATH, "cmath": _MATH, "string": _STRING}
    found |= {"stdlib.h": _HOST, "stdint.h": _STD.format("cstdint")}
    return {**found, **HOST_HEADERS, **source.device_headers}


def number_apart(source: Source, headers: dict[str, str]) -> dict[str, str]:
    """The same `headers`, with the lines of the source's own numbered so that no two files have a line in common.

    ptxas leaves out of its table what comes from another file and has the same number as what came before it.
    """
    starts = {name: LINES_A_FILE * n + 1 for n, name in enumerate(source.device_headers, 1)}
    lined = {name: f'#line {start} "{name}"\n{headers[name]}' for name, start in starts.items()}
    return headers | lined


def options_for(source: Source) -> tuple[str, ...]:
    """What NVRTC is told of a source that had functions of the host: what else is there is the GPU's."""
    if not source.has_host_code:
        return ()
    # nvcc puts these two in front of every source
    return ("--device-as-default-execution-space", "--pre-include=math.h", "--pre-include=stdlib.h")


def folders_for(source: Source) -> tuple[str, ...]:
    """Options by which NVRTC finds what is beside a source, and CUDA's own headers where CuPy finds them.

    `cupy.RawModule` would have added the latter, and -ftz=true behind them: small numbers as zeros,
    which neither nvcc nor the emulator does.
    """
    from cupy._core.core import assemble_cupy_compiler_options

    beside = (f"-I{folder}" for folder in source.include_folders)
    cudas = (one for one in assemble_cupy_compiler_options(()) if one.startswith("-I"))
    return (*beside, *cudas)
