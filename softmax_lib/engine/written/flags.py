"""How kernels and the runtime are compiled and linked: the flags, and headers that hold next to nothing."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from softmax_lib.engine.caches import cache_folder, replace_file
from softmax_lib.engine.host_code import HOST_HEADERS
from softmax_lib.engine.signature import HEADER as SIGNATURE_HEADER
from softmax_lib.engine.source import Program
from softmax_lib.engine.toolchain import Toolchain

CPP_FOLDER = Path(__file__).parent / "cpp"
PRELUDE = "emulator_prelude.h"
PRELUDE_TEXT = f'#include "cuda_shim.h"\n#include "{SIGNATURE_HEADER}"\n'
"""What stands in front of every source, and is the same for all: it is compiled once, where that can be."""

COMMON_FLAGS = (
    "-std=c++17",
    "-O2",
    "-fPIC",
    # Hidden also keeps g++ from merging a template's __shared__ variables across libraries.
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-ffp-contract=off",  # the same bits on every machine
)
NO_WARNINGS = ("-w",)
KERNEL_FLAGS = (
    "-fno-finite-loops",  # an endless loop is a hang to report, not something to remove
    "-fwrapv",  # as on a GPU: an int that is too small ends at a wrong address, not anywhere
    "-fno-optimize-sibling-calls",  # a barrier in last place must return into its kernel
    "-fno-exceptions",  # as on a GPU
    # without one a function runs on into the next; -w would silence this one too
    "-Werror=return-type",
    "-Werror=vla",
    "-fstack-clash-protection",  # a large frame must not step over the guard page below a stack
    "-fno-plt",  # the stubs that it would call through have no lines
    "-gdwarf-4",
    # So that the linker can leave out what the launched kernels do not reach: others of the file
    # may call what the emulator lacks, and have shared memory of their own.
    "-ffunction-sections",
    "-fdata-sections",
    "-fsanitize=shift-exponent",  # as a GPU does otherwise: see checks.cpp
)
# The kernel's operator new is its own, and clang declares one that is everybody's unless it is told.
CLANG_FLAGS = ("-fvisibility-global-new-delete-hidden",)
GCC_FLAGS = (
    "-gstatement-frontiers",  # without it an empty loop has no line
    "-fno-aggressive-loop-optimizations",  # a row's index may go on into the next row
)
# Kernels stop at a misaligned access, but where accesses are counted or written down: g++ keeps no value in a register
# past such a check, and what hooks see is checked in the runtime.
GCC_CHECK_FLAGS = ("-fsanitize=alignment",)
CLANG_CHECK_FLAGS = ("-fsanitize=alignment", "-fsanitize-trap=alignment")
TRACE_FLAGS = (
    "-fsanitize=thread",
    "-fno-tree-vectorize",
    "-Wuninitialized",
    # called, they tell what they touch: see vector_types.h
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-memset",
)
GCC_TRACE_FLAGS = (
    "-fsanitize=object-size,bounds,signed-integer-overflow",  # see checks.cpp
    "-fno-wrapv",  # which would leave the last one out; the handler goes on with what wraps
    "-fno-tree-loop-distribute-patterns",
    "-fno-tree-sra",  # a struct is copied by one access, as on a GPU
    "-fno-ipa-sra",
    "-Wmaybe-uninitialized",
    "--param=tsan-distinguish-volatile=1",  # who waits reads a volatile word again and again
)
CLANG_TRACE_FLAGS = (
    "-fsanitize=object-size,array-bounds,signed-integer-overflow",
    "-fno-wrapv",
    "-Wconditional-uninitialized",
    "-fno-slp-vectorize",
    "-DEMULATOR_OPAQUE_COPIES",  # clang would narrow a vector's load to the members in use
    "-mllvm",
    "-tsan-instrument-read-before-write=1",  # clang leaves those reads out
    "-mllvm",
    "-tsan-distinguish-volatile=1",
)


def kernel_flags(
    tools: Toolchain, program: Program, warp_size: int, traced: bool, counted: bool
) -> tuple[str, ...]:
    """How a kernel is compiled: as its prelude, behind it, and with macros of its own."""
    macros = dict(program.defines)
    if not program.source.declares_warp:
        macros = {"WARP": warp_size} | macros
    own = (f"-D{name}={value}" for name, value in macros.items())
    return (*prelude_flags(tools, warp_size, traced, counted), *own, "-include", PRELUDE)


def prelude_flags(tools: Toolchain, warp_size: int, traced: bool, counted: bool) -> tuple[str, ...]:
    """How what stands in front of every source is compiled, and the source with it."""
    checks: tuple[str, ...] = ()
    if traced:
        checks = (*TRACE_FLAGS, *(CLANG_TRACE_FLAGS if tools.is_clang else GCC_TRACE_FLAGS))
    if not counted:
        checks += CLANG_CHECK_FLAGS if tools.is_clang else GCC_CHECK_FLAGS
    # Lines are enough, but for tracing, which needs the types of shared variables.
    own = ["-g" if traced else "-g1"]
    own += CLANG_FLAGS if tools.is_clang else GCC_FLAGS
    folders = (CPP_FOLDER / "cuda", headers_folder(), CPP_FOLDER)
    includes = (f"-I{folder}" for folder in folders)
    warp = f"-DEMULATOR_WARP={warp_size}"
    return (*COMMON_FLAGS, *KERNEL_FLAGS, *own, *checks, warp, *includes)


def link_flags(runtime: Path) -> tuple[str, ...]:
    """How a kernel's library finds the runtime, which Python loads first."""
    if sys.platform == "darwin":
        return ("-shared", "-Wl,-undefined,dynamic_lookup")
    own = "-Wl,-Bsymbolic"  # operator new is the device's, not the C++ library's
    no_library = "-fno-sanitize=undefined"  # zig would bring one: the handlers are the runtime's
    return (
        "-shared",
        own,
        no_library,
        "-Wl,-z,defs",
        "-Wl,-z,now",
        "-Wl,--gc-sections",
        str(runtime),
        "-lm",
    )


def runtime_flags(name: str) -> tuple[str, ...]:
    """How the runtime is compiled and linked into a library that is called `name`."""
    soname = () if sys.platform == "darwin" else (f"-Wl,-soname,{name}",)
    return (*COMMON_FLAGS, *NO_WARNINGS, "-shared", "-pthread", *soname)


# ---- CUDA's headers, of which those that hold more are files in `cpp/cuda`

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
