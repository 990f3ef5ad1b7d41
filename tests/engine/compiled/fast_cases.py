"""Matrices on which the kernels behind `softmax()` are counted, here and by an H200."""

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from softmax_lib.engine.compiled.counters import COUNTERS, add_up
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.ptx.program import translate
from softmax_lib.ops.designs import Task
from softmax_lib.ops.xray import arrays_for, outline_of, run_outline


@dataclass(frozen=True)
class Case:
    """softmax of contiguous (task.rows, task.cols), or (rows, cols, inner), on sm_90."""

    task: Task
    inner: int = 1

    @cached_property
    def outline(self):
        return outline_of(self.task, self.inner, 90)[1]

    @property
    def stem(self):
        return self.outline.build.stem

    @property
    def name(self):
        task = self.task
        words = [task.of, f"{task.rows}x{task.cols}"]
        words += [f"inner {self.inner}"] * (self.inner > 1)
        words += [name for name in ("log", "backward") if getattr(task, name)]
        return ", ".join(words)


def _case(rows, cols, dtype="float32", inner=1, **how):
    return Case(Task(rows, cols, dtype, dtype, **how), inner)


_FORWARD = (
    # warp, and a block of some warps
    (4096, 64), (128, 96), (2048, 256), (512, 1000), (512, 1024), (256, 4096), (100, 5000),
    # clusters of 2 to 16
    (64, 8192), (64, 8191), (32, 16384), (16, 32768), (128, 50257), (4, 131072), (24, 131072),
    # grids, which hold a row or read it twice
    (1, 1048576), (8, 262144), (2, 1000003), (1, 20000000),
    # tiles
    (40000, 33), (40000, 3),
)  # fmt: skip

_BF16 = (
    (1024, 256), (256, 4096), (64, 16384), (32, 32768), (16, 131072), (8, 262143), (1, 1048576), (40000, 33),
)  # fmt: skip
_BACKWARD = ((4096, 64), (256, 4096), (32, 16384), (16, 50257), (1, 2097152), (40000, 33))
_STRIDED = ((16 * 256, 512, 256), (40 * 33, 1000, 33), (64 * 64, 64, 64))

CASES = (
    *(_case(*shape) for shape in _FORWARD),
    *(_case(*shape, "bfloat16") for shape in _BF16),
    *(_case(*shape, "float16") for shape in ((256, 4096), (32, 32768))),
    *(_case(*shape, backward=True) for shape in _BACKWARD),
    *(_case(*shape, "bfloat16", backward=True) for shape in ((32, 32768), (256, 4096))),
    *(_case(*shape, log=True) for shape in ((256, 4096), (64, 8192))),
    *(_case(rows, cols, inner=inner) for rows, cols, inner in _STRIDED),
    _case(16 * 256, 512, "bfloat16", 256, backward=True),
)
POLLING = tuple(case for case in CASES if case.outline.is_cooperative)
ALONE = tuple(case for case in CASES if case not in POLLING)


def launched(case, decoder=decode_program):
    """Counters by name, and first, second and result."""
    arrays = arrays_for(case.task, case.inner)
    decoded = decoder(case.outline.build.program, 90, "")
    return add_up([run_outline(case.outline, arrays, decoded)]), arrays


def units_apart(case):
    """Of the last place, at most: what PTX and machine code give."""
    bits = np.int32 if case.task.size == 4 else np.int16
    ptx, code = (launched(case, by)[1][2].view(bits) for by in (translate, decode_program))
    return np.abs(ptx.astype(np.int64) - code).max()


@cache
def read_record():
    return json.loads(Path(__file__).with_name("fast_on_gpu.json").read_text(encoding="utf-8"))


def recorded(case):
    """What a GPU counted, both times, by name."""
    held = read_record()["cases"][case.name]
    first, second = held["counters"], held["counters"] | held["counted_again"]
    return {name: (first.get(name, 0), second.get(name, 0)) for name in COUNTERS}
