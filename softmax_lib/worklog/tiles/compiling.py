"""What Triton makes of a kernel: PTX, and what the machine code takes of a GPU that need not be there."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from softmax_lib.engine.compiled.inspection import occupancy
from softmax_lib.engine.source import WARP
from softmax_lib.gpu.compile import compile_ptx, read_report
from softmax_lib.worklog.errors import BadInput, CompileError, NotAvailable
from softmax_lib.worklog.registry import find_kernel
from softmax_lib.worklog.tiles.programs import (
    ARRAYS,
    CONSTANTS,
    Setting,
    TileKernel,
    find,
    kernels,
    settle,
)

KEYWORDS = ("num_ctas", "maxnreg", "enable_fp_fusion")
"""What `compile_tile` hands on to Triton's compiler, beside `num_warps` and `num_stages`."""
DIVISOR = 16
"""Triton tells its compiler of each pointer and whole number whether this divides it."""

_INSTRUCTION = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z]\w*(?:[.:]+\w+)+)", re.MULTILINE)
_LOAD = re.compile(r"\bld\.global(?:\.[a-z]\w*)*?(?:\.v(\d))?\.[bfsu](\d+)")
_DIRECTIVE = re.compile(
    r"^\.(?:reqntid|maxnreg|reqnctapercluster|explicitcluster).*$", re.MULTILINE
)


@dataclass(frozen=True)
class TileCode:
    """A Triton kernel compiled for rows of a length: its PTX, and by its machine code what it takes.

    `registers`, and `spill_bytes` of memory in place of registers, are a thread's; `shared_bytes` a program's,
    of which a multiprocessor holds `programs` at once (0 where one does not fit), and `limit` keeps more out.
    """

    kernel: str
    cols: int
    setting: Setting
    arch: int
    ptx: str
    registers: int
    spill_bytes: int
    shared_bytes: int
    programs: int
    limit: str

    @property
    def counts(self) -> dict[str, int]:
        """How often each instruction stands in the PTX: {"ld.global.v4.b32": 2}."""
        return count_instructions(self.ptx)

    @property
    def loads(self) -> dict[int, int]:
        """How many loads of so many bytes from global memory stand in the PTX, the largest first: {16: 2}."""
        found: Counter[int] = Counter()
        for vector, bits in _LOAD.findall(self.ptx):
            found[int(vector or 1) * int(bits) // 8] += 1
        return dict(sorted(found.items(), reverse=True))

    @property
    def directives(self) -> tuple[str, ...]:
        """Lines of the PTX that say how the kernel is launched: (".reqntid 128",)."""
        return tuple(line.strip() for line in _DIRECTIVE.findall(self.ptx))


def count_instructions(ptx: str) -> dict[str, int]:
    """How often each instruction stands in a PTX text, by its name with all suffixes."""
    return dict(sorted(Counter(_INSTRUCTION.findall(ptx)).items()))


def compile_tile(
    kernel: str | TileKernel,
    cols: int,
    *,
    tile: int | None = None,
    num_warps: int | None = None,
    num_stages: int | None = None,
    arch: int = 90,
    **keywords: Any,
) -> TileCode:
    """Compile a Triton kernel of float32 matrices for sm_`arch`, without a GPU; the same again is at hand.

    Triton is told that 16 divides the number of rows. `kernel` and the setting are as for `run`; `keywords` are
    of KEYWORDS, as Triton's launch takes them. Raises what `run` raises without a GPU, and `NotAvailable` where
    `TRITON_INTERPRET` has turned the compiler off.
    """
    kernel = find(kernel)
    if unknown := set(keywords) - set(KEYWORDS):
        known = ", ".join(("num_warps", "num_stages", *KEYWORDS))
        raise BadInput(f"Triton's launch takes {known}, and not {', '.join(sorted(unknown))}.")
    setting = settle(cols, tile, num_warps, num_stages)
    return _compile(kernel, cols, setting, arch, tuple(sorted(keywords.items())))


@cache
def _compile(
    kernel: TileKernel,
    cols: int,
    setting: Setting,
    arch: int,
    keywords: tuple[tuple[str, Any], ...],
) -> TileCode:
    compiled = _by_triton(kernel, cols, setting, arch, dict(keywords))
    ptx, shared = compiled.asm["ptx"], compiled.metadata.shared
    (taken,) = read_report(_assemble(ptx, arch))
    fit, limit = occupancy(arch, 32 * setting.num_warps, taken.registers, shared)
    return TileCode(
        kernel.name, cols, setting, arch, ptx, taken.registers, taken.spill_bytes, shared, fit, limit
    )  # fmt: skip


def _by_triton(
    kernel: TileKernel, cols: int, setting: Setting, arch: int, keywords: dict[str, Any]
) -> Any:
    function = kernel.function
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.runtime.jit import JITFunction

    if not isinstance(function, JITFunction):
        raise NotAvailable(
            "TRITON_INTERPRET is set, and so Triton compiles nothing; unset it and start anew."
        )
    names = kernel.parameters
    kinds = {**dict.fromkeys(ARRAYS, "*fp32"), **dict.fromkeys(CONSTANTS, "constexpr")}
    constants = {"TILE": setting.tile, "STAGES": setting.num_stages}
    divided = ("rows", "cols") if cols % DIVISOR == 0 else ("rows",)
    told = {
        (place,): [["tt.divisibility", DIVISOR]]
        for place, name in enumerate(names)
        if name in ARRAYS or (name in divided and not function.params[place].do_not_specialize)
    }
    source = ASTSource(
        function,
        {name: kinds.get(name, "i32") for name in names},
        {name: value for name, value in constants.items() if name in names},
        told,
    )
    words = {"num_warps": setting.num_warps, "num_stages": setting.num_stages, **keywords}
    try:
        with _silence():
            return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=words)
    except Exception as error:  # Triton's own, LLVM's, and assertions
        said = _first_words(kernel, error)
        raise CompileError(f"Triton does not compile {kernel.name} with {words}: {said}") from error


def _first_words(kernel: TileKernel, error: BaseException) -> str:
    """What Triton says first, "mine.py, line 3: ..." where it names a line, which it counts from the function's own."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    at = re.fullmatch(r"at (\d+):\d+:", lines[0])
    if not at:
        return lines[0]
    while lines[-1].strip() == "^" and error.__cause__:
        error = error.__cause__
        lines = str(error).strip().splitlines()
    return f"{kernel.source.file_name}, line {kernel.first_line + int(at[1]) - 1}: {lines[-1]}"


def _assemble(ptx: str, arch: int) -> str:
    """The report of the assembler that Triton brings."""
    from triton import knobs

    target = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "kernel.ptx")
        given.write_text(ptx, encoding="utf-8")
        name = f"--gpu-name={target[1] if target else f'sm_{arch}'}"
        command = [knobs.nvidia.ptxas.path, "-v", name, str(given), "-o", os.devnull]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(f"Triton's assembler refuses the kernel: {done.stderr.strip()}")
    return done.stderr + done.stdout


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what a failing compiler writes, pages of it, off the standard error stream."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


# ---- beside what NVRTC makes of this book's kernels

KINDS = {
    "loads of 16 bytes": r"ld\.global.*\.v4",
    "loads of 4 bytes": r"ld\.global(?!.*\.v\d)",
    "copies past registers": r"cp\.async.*\.global",
    "stores of 16 bytes": r"st\.global.*\.v4",
    "stores of 4 bytes": r"st\.global(?!.*\.v\d)",
    "exponentials": r"ex2\.",
    "multiply and add": r"fma\.",
    "divisions": r"(div|rcp)\.",
    "shuffles": r"shfl\.",
    "barriers": r"bar(rier)?\.",
    "loads and stores in shared memory": r"(ld|st)\.shared",
}
"""Kinds of PTX instructions, in the order of a softmax."""


def compare_ptx(
    *names: str, cols: int, num_warps: int, num_stages: int = 2, arch: int = 90
) -> list[tuple[str | int, ...]]:
    """For each of KINDS a line: its name, and how often it stands in the PTX of each kernel named.

    Names are of `tiles.kernels` or of `kernels`, whose blocks get as many warps; nothing runs. Raises what
    `compile_tile` raises, and for a CUDA kernel what `machine_code` does.
    """
    texts = []
    for name in names:
        if name in kernels:
            given = {"num_warps": num_warps, "num_stages": num_stages, "arch": arch}
            texts.append(compile_tile(name, cols, **given).ptx)
        else:
            kernel = find_kernel(name)
            size = kernel.settle_block_size(WARP * num_warps, cols)
            texts.append(compile_ptx(kernel.program(size, cols), arch)[0])
    counts = [count_instructions(text) for text in texts]
    return [
        (kind, *(sum(n for name, n in count.items() if re.match(form, name)) for count in counts))
        for kind, form in KINDS.items()
    ]
