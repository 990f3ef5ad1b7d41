"""What Triton makes of its kernels beside what NVRTC makes of this book's: instructions in their PTX, by kind."""

from __future__ import annotations

import re

from softmax_lib.engine.source import WARP
from softmax_lib.gpu.compile import compile_ptx
from softmax_lib.worklog.registry import find_kernel
from softmax_lib.worklog.tiles.compiling import compile_tile, count_instructions
from softmax_lib.worklog.tiles.programs import kernels as tile_kernels

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
    texts = [_ptx(name, cols, num_warps, num_stages, arch) for name in names]
    counts = [count_instructions(text) for text in texts]
    return [
        (kind, *(sum(n for name, n in count.items() if re.match(form, name)) for count in counts))
        for kind, form in KINDS.items()
    ]


def _ptx(name: str, cols: int, num_warps: int, num_stages: int, arch: int) -> str:
    if name in tile_kernels:
        return compile_tile(name, cols, num_warps=num_warps, num_stages=num_stages, arch=arch).ptx
    kernel = find_kernel(name)
    size = kernel.settle_block_size(WARP * num_warps, cols)
    return compile_ptx(kernel.program(size, cols), arch)[0]
