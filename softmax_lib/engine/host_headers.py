"""Stand-ins for headers of libraries that only the host calls: by name, what each holds.

Those calls are left out before anything is compiled. Of the types, there is what variables and parameters of a source
need.
"""

from __future__ import annotations

_EMPTY = (
    "GL/freeglut.h", "GL/glut.h", "cuda_gl_interop.h", "cuda_profiler_api.h", "cufft.h", "curand.h", "cusolverDn.h",
    "cusparse.h", "exception.h", "helper_image.h", "nvToolsExt.h", "nvtx3/nvToolsExt.h", "torch/extension.h",
    "torch/types.h",
)  # fmt: skip

# As the library's own header does, it brings the 16-bit floats along.
_CUBLAS = """\
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef struct cublasContext* cublasHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasComputeType_t { CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32 };
"""
_CUBLAS_LT = '#include "cublas_v2.h"\ntypedef struct cublasLtContext* cublasLtHandle_t;\n'

_TYPES = {
    "cublas.h": '#include "cublas_v2.h"\n',
    "cublas_v2.h": _CUBLAS,
    "cublasLt.h": _CUBLAS_LT,
    "helper_cuda.h": '#include "helper_string.h"\n',
    "helper_functions.h": '#include "helper_string.h"\n#include "helper_timer.h"\n',
    "helper_string.h": "#include <string>\n",
    "helper_timer.h": "struct StopWatchInterface;\n",
}

HOST_HEADERS = dict.fromkeys(_EMPTY, "") | {
    name: f"#pragma once\n{text}" for name, text in _TYPES.items()
}
