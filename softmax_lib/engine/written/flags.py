"""How kernels and the runtime are compiled and linked: the flags, and what each is there for."""

from __future__ import annotations

import sys
from pathlib import Path

from softmax_lib.engine.signature import HEADER as SIGNATURE_HEADER
from softmax_lib.engine.source import Program
from softmax_lib.engine.toolchain import Toolchain
from softmax_lib.engine.written.headers import headers_folder

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
    "-fstack-clash-protection",  # a large frame must not step over the guard page below a stack
    "-fno-plt",  # the stubs that it would call through have no lines
    "-gdwarf-4",
    # So that the linker can leave out what the launched kernels do not reach: others of the file
    # may call what the emulator lacks, and have shared memory of their own.
    "-ffunction-sections",
    "-fdata-sections",
)
# The kernel's operator new is its own, and clang declares one that is everybody's unless it is told.
CLANG_FLAGS = ("-fvisibility-global-new-delete-hidden",)
# Untraced kernels trap at a misaligned access; traced ones check it in the runtime.
GCC_CHECK_FLAGS = ("-fsanitize=alignment", "-fsanitize-undefined-trap-on-error")
CLANG_CHECK_FLAGS = ("-fsanitize=alignment", "-fsanitize-trap=alignment")
TRACE_FLAGS = ("-fsanitize=thread", "-fno-tree-vectorize", "-Wuninitialized")
GCC_TRACE_FLAGS = (
    "-fno-tree-loop-distribute-patterns",
    "-fno-tree-sra",  # a struct is copied by one access, as on a GPU
    "-fno-ipa-sra",
    "-Wmaybe-uninitialized",
    "--param=tsan-distinguish-volatile=1",  # who waits reads a volatile word again and again
)
CLANG_TRACE_FLAGS = (
    "-Wconditional-uninitialized",
    "-fno-slp-vectorize",
    "-fno-builtin-memcpy",
    "-fno-builtin-memset",
    "-DEMULATOR_OPAQUE_COPIES",  # clang would narrow a vector's load to the members in use
    "-mllvm",
    "-tsan-instrument-read-before-write=1",  # clang leaves those reads out
    "-mllvm",
    "-tsan-distinguish-volatile=1",
)


def kernel_flags(
    tools: Toolchain, program: Program, warp_size: int, traced: bool
) -> tuple[str, ...]:
    """How a kernel is compiled: as its prelude, behind it, and with macros of its own."""
    macros = dict(program.defines)
    if not program.source.declares_warp:
        macros = {"WARP": warp_size} | macros
    own = (f"-D{name}={value}" for name, value in macros.items())
    return (*prelude_flags(tools, warp_size, traced), *own, "-include", PRELUDE)


def prelude_flags(tools: Toolchain, warp_size: int, traced: bool) -> tuple[str, ...]:
    """How what stands in front of every source is compiled, and the source with it."""
    if traced:
        checks = (*TRACE_FLAGS, *(CLANG_TRACE_FLAGS if tools.is_clang else GCC_TRACE_FLAGS))
    else:
        checks = CLANG_CHECK_FLAGS if tools.is_clang else GCC_CHECK_FLAGS
    # Lines are enough, but for tracing, which needs the types of shared variables.
    own = ["-g" if traced else "-g1"]
    # without the latter an empty loop has no line
    own += CLANG_FLAGS if tools.is_clang else ["-gstatement-frontiers"]
    folders = (CPP_FOLDER / "cuda", headers_folder(), CPP_FOLDER)
    includes = (f"-I{folder}" for folder in folders)
    warp = f"-DEMULATOR_WARP={warp_size}"
    return (*COMMON_FLAGS, *KERNEL_FLAGS, *own, *checks, warp, *includes)


def link_flags(runtime: Path) -> tuple[str, ...]:
    """How a kernel's library finds the runtime, which Python loads first."""
    if sys.platform == "darwin":
        return ("-shared", "-Wl,-undefined,dynamic_lookup")
    own = "-Wl,-Bsymbolic"  # operator new is the device's, not the C++ library's
    return ("-shared", own, "-Wl,-z,defs", "-Wl,-z,now", "-Wl,--gc-sections", str(runtime), "-lm")


def runtime_flags(name: str) -> tuple[str, ...]:
    """How the runtime is compiled and linked into a library that is called `name`."""
    soname = () if sys.platform == "darwin" else (f"-Wl,-soname,{name}",)
    return (*COMMON_FLAGS, *NO_WARNINGS, "-shared", "-pthread", *soname)
