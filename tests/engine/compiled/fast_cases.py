"""Launches of the kernels behind `softmax()` and of cluster_kernels.cu that are counted here and by an H200."""

import json
import random
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from softmax_lib.engine.compiled.counters import COUNTERS, add_up
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.ptx.program import translate
from softmax_lib.engine.source import Source
from softmax_lib.engine.spec import LaunchSpec
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


# ---- the kernels of cluster_kernels.cu

SOURCE = Source.read(Path(__file__).with_name("cluster_kernels.cu"))

LAUNCHES = {
    "load_from_other": ("load_from_other", 8, 128, {"cluster": 4}),
    "store_to_other": ("store_to_other", 8, 128, {"cluster": 2}),
    "add_to_first": ("add_to_first", 8, 96, {"cluster": 4}),
    "where, 1 x 3 x 2": ("where", (6, 6, 2), 32, {"cluster": (1, 3, 2)}),
    "where, 3 x 2 x 1": ("where", (6, 6, 2), 32, {"cluster": (3, 2, 1)}),
    "where, 5 x 1 x 1": ("where", (10, 6, 1), 32, {"cluster": (5, 1, 1)}),
    "where, 1 x 7 x 1": ("where", (7, 14, 1), 32, {"cluster": (1, 7, 1)}),
    "where, alone": ("where", 5, 32, {}),
    "some_end": ("some_end", 6, 100, {"cluster": 3}),
    "two_phases": ("two_phases", 4, 128, {}),
    "send_words": ("send_words", 16, 32, {"cluster": 8}),
    "all_meet": ("all_meet", 12, 64, {"cooperative": True}),
}
"""By name a kernel, its grid and block, and more words of a launch."""

POLLS = ("two_phases", "all_meet")
"""Those that ask again and again whether others have come: how often depends on time."""


def arrays():
    """x, in an order without a pattern, and y: float32."""
    number = np.arange(4096, dtype=np.int64)
    x = ((number * 7919 + (number >> 5) * 271) % 505 - 252).astype(np.float32)
    return x, np.full(8192, -1, np.float32)


def spec_of(name, x, y):
    kernel, grid, block, how = LAUNCHES[name]
    return LaunchSpec.of(SOURCE, grid, block, [x, y], kernel=kernel, **how)


_BYTES = {"cg16": 17, "ca16": 16, "ca8": 8, "ca4": 4}


def copies():
    """Requests that copy to shared memory: (name, lanes, bytes from the start there, and here)."""
    chance = random.Random(1)

    def some_lanes():
        return chance.getrandbits(32) or 1

    found = [("cg16", (1 << n) - 1, a, b) for n in range(1, 33) for b in range(0, 128, 16) for a in (0, 16)]  # fmt: skip
    for _ in range(200):
        found.append(("cg16", some_lanes(), 16 * chance.choice((0, 1, 2, 3)), chance.randrange(8) * 16))  # fmt: skip
    for name, each in (("ca16", 16), ("ca8", 8), ("ca4", 4)):
        found += [(name, 0xFFFFFFFF, a, b) for b in range(0, 64, each) for a in range(0, 48, each)]
        for _ in range(40):
            lanes, there, here = some_lanes(), chance.randrange(8), chance.randrange(128 // each)
            found.append((name, lanes, there * each, here * each))
    return found


def copy_spec(x, y, name, lanes, start, to):
    return LaunchSpec.of(SOURCE, 1, 32, [x, y, lanes, start, to], kernel=f"copies<{_BYTES[name]}>")
