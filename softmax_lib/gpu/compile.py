"""From a kernel's source to machine code: NVRTC through CuPy, cached on disk and in memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING, Any

from softmax_lib.engine.caches import cache_folder, read_or_make
from softmax_lib.engine.compiler import LINES_A_FILE, Resources
from softmax_lib.engine.errors import CompileError, NotAvailable
from softmax_lib.engine.host_code import HOST_HEADERS
from softmax_lib.engine.signature import HEADER
from softmax_lib.engine.source import FLAGS, Program, Source
from softmax_lib.engine.toolchain import COMPILE_S, ENDLESS
from softmax_lib.gpu.presence import arch_of

if TYPE_CHECKING:
    from cupy.cuda.function import Module

OLDEST_ARCH = 75
"""sm_75, the T4: the oldest GPU that the kernels are written for."""

_LINES = "--generate-line-info"
"""What NVRTC is told so that machine code knows the lines of the source: the instructions are the same."""

_FACTS = """
extern "C" __device__ kernel_signature::SignatureOf<decltype(&{kernel})>::SignatureTable softmax_lib_signature =
    kernel_signature::SignatureOf<decltype(&{kernel})>::signature_table;
extern "C" __device__ int softmax_lib_counts[] = {{sizeof(softmax_lib_signature) / sizeof(int), {count}}};
extern "C" __device__ void* softmax_lib_variables[] = {{{addresses}nullptr}};
extern "C" __device__ unsigned long long softmax_lib_sizes[] = {{{sizes}0}};
"""
"""What Python asks a module for: what the kernel takes, and where the source's variables lie."""

_INSTALL = (
    "install it with `pip install cupy-cuda12x` (or cupy-cuda13x where the driver is for CUDA 13)"
)
_LINE = re.compile(r"\((\d{7,})\)")
_FUNCTION = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@cache
def nvrtc() -> Any:
    """CuPy's NVRTC binding, which needs no GPU. Raises `NotAvailable` when CuPy or NVRTC is missing."""
    try:
        from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except ImportError as error:
        raise NotAvailable(
            f"CuPy, which compiles the kernels, cannot be imported; {_INSTALL}."
        ) from error
    except RuntimeError as error:
        raise NotAvailable(
            f"CuPy finds no NVRTC: {error}; install CuPy with its [ctk] extra."
        ) from error
    return nvrtc


def compiler() -> str:
    """Such as "NVRTC 12.9". Raises `NotAvailable` without NVRTC."""
    return f"NVRTC {'.'.join(map(str, nvrtc().getVersion()))}"


def supported_archs() -> tuple[int, ...]:
    """Archs that this NVRTC compiles for, from sm_75 up: (75, 80, ...)."""
    return tuple(arch for arch in nvrtc().getSupportedArchs() if arch >= OLDEST_ARCH)


def compile_cubin(program: Program, arch: int) -> bytes:
    """Machine code of `program` for sm_`arch`, from the disk cache when it is there.

    It knows the line of the source that each instruction comes from. Raises `CompileError` with the compiler's
    message at the source's own lines, and `NotAvailable` without CuPy or NVRTC.
    """
    return compile_kernel(program, arch)[0]


def compile_kernel(program: Program, arch: int) -> tuple[bytes, str]:
    """The same, and what the program's `entry` is called there, "" without one.

    With an `entry` the code has in variables what Python asks of it, see `signature` and `gpu.calls`.
    """
    code, entry, _ = _compile(program, arch)
    return code, entry


def compile_ptx(program: Program, arch: int) -> tuple[str, str]:
    """PTX for sm_`arch` of the same, with its lines; as `compile_kernel` else."""
    text, entry, _ = _compile(program, arch, ptx=True)
    return text.decode(), entry


def resources(program: Program, arch: int, entries: Sequence[str] = ()) -> tuple[Resources, ...]:
    """Registers, shared memory, stack and spills of each entry of `program`, or of its own, on sm_`arch`.

    `entries` are name expressions of a program without one, which are compiled together.
    """
    _, only, report = _compile(program, arch, entries)
    return tuple(one for one in read_report(report) if only in ("", one.entry))


def _compile(
    program: Program, arch: int, entries: Sequence[str] = (), *, ptx: bool = False
) -> tuple[bytes, str, str]:
    """What NVRTC makes of `program`, what its `entry` is called there, and the assembler's report; kept on disk."""
    source, entry = program.source, program.entry
    text = source.with_prelude()
    if entry:
        text = f"{HEADER.read_text(encoding='utf-8')}{text}\n{_facts(source, entry)}"
        entries = (entry,)
    version = nvrtc().getVersion()
    # NVRTC has a cache since 12.9, where there is a driver: what comes from it comes without a report
    anew = ("--no-cache",) if version >= (12, 9) else ()
    macros = (f"--define-macro={name}={value}" for name, value in program.defines)
    flags = (*FLAGS, _LINES, "--ptxas-options=-v", *anew, *macros, *program.flags)
    key = (text, read_headers(source), options_for(source), tuple(entries), arch, flags, version)
    digest = hashlib.sha256(repr(key).encode()).hexdigest()

    def make() -> bytes:
        code, log, names = run_nvrtc(source, text, arch, flags, entries, ptx=ptx)
        name = names[0] if entry else ""
        return b"\0".join((name.encode(), log.rstrip("\0").encode(), code))

    path = cache_folder("nvrtc") / f"{digest}.{'ptx' if ptx else 'cubin'}"
    name, report, code = read_or_make(path, make).split(b"\0", 2)
    return code, name.decode(), report.decode()


def _facts(source: Source, kernel: str) -> str:
    return _FACTS.format(
        kernel=kernel,
        count=len(source.variables),
        addresses="".join(f"(void*)&{name}, " for name in source.variables),
        sizes="".join(f"sizeof({name}), " for name in source.variables),
    )


def read_report(log: str) -> tuple[Resources, ...]:
    """What the assembler's report, `-v`, says of each entry."""
    found, entry, stack, spill = [], "", 0, 0
    for line in log.splitlines():
        if match := _FUNCTION.search(line):
            entry = match[1]
        elif match := _STACK.search(line):
            stack, spill = int(match[1]), int(match[2]) + int(match[3])
        elif match := _REGISTERS.search(line):
            shared = sum(map(int, _SHARED.findall(line)))
            found.append(Resources(entry, int(match[1]), shared, stack, spill))
    return tuple(found)


def run_nvrtc(
    source: Source,
    text: str,
    arch: int,
    flags: Sequence[str],
    entries: Sequence[str] = (),
    *,
    ptx: bool = False,
) -> tuple[bytes, str, list[str]]:
    """Machine code of `text`, which is made of `source`, the compiler's log, and what `entries`, C++ names, are there.

    With `ptx` it is PTX in place of machine code. Raises `CompileError`, and `NotAvailable` without CuPy or NVRTC.
    """
    texts = read_headers(source)
    if _LINES in flags:
        texts = _number_apart(source, texts)
    headers = {name.encode(): held.encode() for name, held in texts.items()}
    options = [*flags, f"--gpu-architecture={'compute' if ptx else 'sm'}_{arch}"]
    options += [*options_for(source), *_folders_for(source)]
    handle = nvrtc().createProgram(text, source.file_name, list(headers.values()), list(headers))
    try:
        for entry in entries:
            nvrtc().addNameExpression(handle, entry)
        _compile_in_time(handle, options)
        lowered = [nvrtc().getLoweredName(handle, entry) for entry in entries]
        if ptx:
            return nvrtc().getPTX(handle), nvrtc().getProgramLog(handle), lowered
        # CuPy cuts off the last byte, which ends the ELF file
        return nvrtc().getCUBIN(handle) + b"\0", nvrtc().getProgramLog(handle), lowered
    except nvrtc().NVRTCError:
        log = nvrtc().getProgramLog(handle).strip()  # with lines as their files have them
        told = _LINE.sub(lambda match: f"({int(match[1]) % LINES_A_FILE})", log)
        raise CompileError(told) from None
    except TimeoutError:
        handle = None  # which is still in use
        raise CompileError(ENDLESS) from None
    finally:
        if handle is not None:
            nvrtc().destroyProgram(handle)


def _compile_in_time(handle: int, options: list[str]) -> None:
    """NVRTC is no process that could be stopped: where it does not come back it is left behind, until Python ends."""
    done: Future[None] = Future()

    def compile_it() -> None:
        try:
            done.set_result(nvrtc().compileProgram(handle, options))
        except BaseException as error:
            done.set_exception(error)

    Thread(target=compile_it, daemon=True).start()
    done.result(COMPILE_S)


def load(program: Program, device: int) -> Module:
    """`program` loaded on CUDA device number `device`, compiled for that device's own arch."""
    return _load(program, program.digest, device)


@cache
def _load(program: Program, digest: str, device: int) -> Module:
    """The digest is also that of headers, which may have been changed."""
    nvrtc()  # says what to install when CuPy is missing
    import cupy

    arch = arch_of(device)
    if arch < OLDEST_ARCH:
        raise NotAvailable(
            f"GPU {device} has compute capability {arch / 10}; the kernels need 7.5 or more."
        )
    with cupy.cuda.Device(device):
        module = cupy.cuda.function.Module()
        module.load(compile_cubin(program, arch))
    return module


# ---- headers: those of a source, and stand-ins for libraries of the host, whose calls are left out. NVRTC knows none of the C
# and C++ library's; what kernels use of them is built in, or CUDA's own.

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


def _number_apart(source: Source, headers: dict[str, str]) -> dict[str, str]:
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


def _folders_for(source: Source) -> tuple[str, ...]:
    """Options by which NVRTC finds what is beside a source, and CUDA's own headers where CuPy finds them.

    `cupy.RawModule` would have added the latter, and -ftz=true behind them: small numbers as zeros,
    which neither nvcc nor the emulator does.
    """
    from cupy._core.core import assemble_cupy_compiler_options

    beside = (f"-I{folder}" for folder in source.include_folders)
    cudas = (one for one in assemble_cupy_compiler_options(()) if one.startswith("-I"))
    return (*beside, *cudas)
