"""How many exponentials the threads of an answer take, which no x-ray of a source counts."""

from __future__ import annotations

import numpy as np

from softmax_lib.engine.source import Source
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.xray import xray_launch

FUNCTIONS = (
    "exp", "expf", "__expf", "exp2", "exp2f", "exp10", "exp10f", "__exp10f", "expm1", "expm1f", "pow", "powf", "__powf",
)  # fmt: skip
"""Each of which takes one."""

_COUNTING = """\
__device__ unsigned long long exponentials_taken;
template <typename T>
__device__ inline T count_exponential(T value) {
    atomicAdd(&exponentials_taken, 1ull);
    return value;
}
"""


def exponentials_a_thread(kernel: Kernel, rows: int, cols: int, block_size: int) -> float:
    """Exponentials of a launch on normal noise, for each thread of it. Raises `CompileError`, and what launching does."""
    step, program = kernel.steps[0], kernel.program(block_size, cols)
    x = noise(rows, cols)
    taken = np.zeros(1, np.uint64)
    blocks = step.blocks(rows, cols, block_size)
    xray_launch(
        _counting(program.source),
        blocks,
        block_size,
        [x, np.full_like(x, np.nan), rows, cols],
        kernel=step.entry,
        symbols={"exponentials_taken": taken},
        defines=dict(program.defines),
        path="written",
    )
    return int(taken[0]) / (blocks * block_size)


def _counting(source: Source) -> Source:
    """The same source, each line where it was, in which every exponential is counted on its way."""
    macros = (
        f"#define {name}(value, ...) {name}(count_exponential(value), ##__VA_ARGS__)\n"
        for name in FUNCTIONS
    )
    head = "".join((_COUNTING, *macros, f'#line 1 "{source.file_name}"\n'))
    return Source(source.file_name, head + source.text, source.folder)
