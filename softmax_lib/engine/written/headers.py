"""The headers of CUDA's and of the host's that hold next to nothing, and the folder where a compiler finds them.

Those that hold more are files, in `cpp/cuda`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from softmax_lib.engine.caches import cache_folder, replace_file
from softmax_lib.engine.host_headers import HOST_HEADERS

# All of CUDA that the emulator has stands before every source: these only have to exist.
_EMPTY = (
    "builtin_types.h", "common_functions.h", "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h",
    "device_double_functions.h", "device_functions.h", "device_launch_parameters.h", "device_types.h", "driver_types.h",
    "host_defines.h", "math_functions.h", "vector_functions.h",
)  # fmt: skip

_OTHERS = {
    "cooperative_groups.h": "groups/partitions.h",
    "cuda_awbarrier_primitives.h": "cuda_awbarrier.h",
    "cuda_pipeline_primitives.h": "cuda_pipeline.h",
    "cuda/latch": "cuda/semaphore",
    "cuda/std/functional": "cuda/functional",
    "cuda_bf16.hpp": "cuda_bf16.h",
    "cuda_fp16.hpp": "cuda_fp16.h",
    **{f"cuda/std/{name}": f"cuda/{name}" for name in ("atomic", "barrier", "latch", "semaphore")},
}
"""By name the file of the emulator that each includes."""

_STANDARD = (
    "array", "bitset", "cassert", "cfloat", "chrono", "climits", "cmath", "cstddef", "cstdint", "cstdlib", "cstring",
    "ctime", "initializer_list", "iterator", "limits", "numeric", "optional", "ratio", "tuple", "type_traits", "utility",
    "variant",
)  # fmt: skip
"""Of <cuda/std/...> those that are the standard library's, in namespace cuda::std, as `scopes.h` has it."""

HEADERS = {
    **HOST_HEADERS,
    **dict.fromkeys(_EMPTY, ""),
    **{name: f"#pragma once\n#include <{other}>\n" for name, other in _OTHERS.items()},
    **{
        f"cuda/std/{name}": f"#pragma once\n#include <{name}>\n#include <scopes.h>\n"
        for name in _STANDARD
    },
}
"""By the name that a source includes it by, what each holds."""

_DIGEST = hashlib.sha256(repr(sorted(HEADERS.items())).encode()).hexdigest()[:24]


def headers_folder() -> Path:
    """Where `write_headers` puts them, beside what is built: a folder for the compiler's -I."""
    return cache_folder("emulator") / f"headers-{_DIGEST}"


def write_headers() -> None:
    """Write those that are not there, whole. Raises `OSError`."""
    for name, text in HEADERS.items():
        path = headers_folder() / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode())
