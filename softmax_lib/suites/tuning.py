"""The table of designs for this GPU: each line's design against others that differ from it in one thing.

A line is tried on the matrix that it is `like`, each design for a moment, and those that come near the
fastest for as long as anything is timed. The fastest of a round is varied again, until none is faster by
more than two runs of one design differ.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import product
from math import inf
from typing import Any, cast

import torch
from torch import Tensor

from softmax_lib.engine.source import WARP
from softmax_lib.gpu.facts import gpu_facts, today, versions
from softmax_lib.gpu.presence import arch_of
from softmax_lib.ops.binaries import cubin
from softmax_lib.ops.designs import Design, Task
from softmax_lib.ops.launches import prepare_design
from softmax_lib.ops.outlines import build_of
from softmax_lib.ops.tables import Line, read_line, shipped_path
from softmax_lib.records.measurement import ITEM_BYTES
from softmax_lib.suites.cells import time_beside_copies
from softmax_lib.suites.peers import providers
from softmax_lib.suites.peers.measure import Cell, sample
from softmax_lib.suites.timing import REPLAYS, Call
from softmax_lib.worklog.errors import CompileError, NotAvailable

ROUNDS = 4
GAIN = 1.005
"""A design is better when it is faster than this; less is what two runs of one differ by."""
NEAR, QUICK_REPLAYS = 1.02, 3
"""After so many replays those stay in that take at most so many times what the fastest takes."""
NEARBY = (0.5, 0.75, 1.25, 1.5, 2)
"""Numbers of threads and of blocks are varied by these factors."""

_DTYPES = {"4": "float32", "2": "bfloat16"}


@dataclass(frozen=True)
class Trial:
    """A line's matrix, the design that came along and the one found, with microseconds of one run.

    They are infinite for a design that the GPU has no room for.
    """

    cell: Cell
    before: Design
    after: Design
    before_us: float
    after_us: float
    copy_us: float

    def as_json(self) -> dict[str, Any]:
        us = {"before_us": self.before_us, "after_us": self.after_us, "copy_us": self.copy_us}
        times = {name: time if time < inf else None for name, time in us.items()}
        return {**vars(self.cell), "before": str(self.before), "after": str(self.after), **times}


def tune(progress: Callable[[str, int, int], None]) -> tuple[dict[str, Any], list[Trial]]:
    """A table for the current GPU, as JSON has it, and what was tried; starts from the one that came along.

    `progress` hears a label, how many lines are done, and how many there are. A line whose matrix the
    memory is too small for stays as it was. Raises `NotAvailable` for a GPU that has no table, and where
    kernels cannot be compiled.
    """
    arch = arch_of(torch.cuda.current_device())
    content = json.loads(shipped_path(arch).read_text(encoding="utf-8"))
    gpu = gpu_facts()
    content |= {"measured_on": gpu["name"], "gpu": gpu, "date": today(), "software": versions()}
    todo = [
        (_cell(where, line), line, written)
        for where, lines in content.items()
        for written in (lines if isinstance(lines, list) else [])
        if (line := read_line(written)).like
    ]
    trials = []
    for done, (cell, line, written) in enumerate(todo):
        progress(str(cell), done, len(todo))
        try:
            trials.append(_try_line(cell, line, arch))
        except torch.OutOfMemoryError:
            continue
        finally:
            torch.cuda.empty_cache()
        _write_design(trials[-1].after, written)
    progress("done", len(todo), len(todo))
    return content, trials


def _cell(where: str, line: Line) -> Cell:
    direction, size = where.split()
    rows, cols = cast(tuple[int, int], line.like)
    return Cell(rows, cols, _DTYPES[size], cast(Any, direction))


def _write_design(design: Design, line: dict[str, Any]) -> None:
    """Into a line of JSON, which says what differs from a design as it ever is."""
    usual = {field.name: field.default for field in fields(Design)} | {"team": 1}
    for name, value in asdict(design).items():
        line.pop(name, None)
        if value != usual[name]:
            line[name] = value


# ---- which designs are tried


def variations(design: Design) -> Iterator[Design]:
    """Designs that differ in one thing: caches, threads and what each holds, blocks, regime."""
    threads, team = design.threads, design.team
    for loads in ("PLAIN", "EVICT_LAST"):
        yield replace(design, loads=loads)
    for stores in ("PLAIN", "L2", "STREAMING"):
        yield replace(design, stores=stores)
    held = ((design.registers, design.shared), (8, 0), (16, 0), (8, 8))
    for factor, (registers, shared) in product((1, *NEARBY), held):
        yield replace(design, threads=_warps(factor * threads), registers=registers, shared=shared)
    if design.regime != "block":
        for other in (round(factor * team) for factor in NEARBY):
            yield replace(design, team=other)
            yield replace(design, team=other, threads=_warps(threads * team / max(1, other)))
    if design.regime == "warp":
        yield replace(design, regime="block", team=1, threads=WARP)
    if design.regime == "block":
        yield replace(design, regime="warp", team=WARP)
        for blocks in (2, 4):
            yield replace(design, regime="cluster", team=blocks, threads=threads // blocks)
    if design.regime == "cluster":
        yield replace(design, balanced=not design.balanced)
        yield replace(design, regime="block", team=1, threads=threads * team, balanced=False)
        yield replace(design, regime="grid", team=2 * team, balanced=False)
    if design.regime == "grid":
        yield replace(design, regime="cluster", team=16)


def _warps(threads: float) -> int:
    """As many threads in whole warps."""
    return round(threads / WARP) * WARP


def is_possible(design: Design, line: Line, cell: Cell, arch: int) -> bool:
    """Whether sm_`arch` has such kernels, and they hold every row that `line` takes."""
    teams = {
        "warp": (1, 2, 4, 8, 16, 32),
        "block": range(1, 2),
        "cluster": range(2, 17 if arch >= 90 else 2),
        "grid": range(8, 257),
    }
    whole_warps = design.threads in range(WARP, 1025, WARP)
    has_shared = not design.shared or (arch >= 80 and design.regime != "warp")
    has_priorities = design.loads == "PLAIN" or arch >= 80
    if not (whole_warps and has_shared and has_priorities and design.team in teams[design.regime]):
        return False
    longest = int(line.row_bytes) // ITEM_BYTES[cell.dtype]
    return design.fit(replace(cell.task, cols=longest, edges=line.edges is not False)) is not None


# ---- how long they take


def _try_line(cell: Cell, line: Line, arch: int) -> Trial:
    best, tried = line.design, {line.design}
    for _ in range(ROUNDS):
        others = {one for one in variations(best) if is_possible(one, line, cell, arch)} - tried
        tried |= others
        quick, _ = _time([best, *others], cell, arch, QUICK_REPLAYS)
        at_most = NEAR * min(quick.values(), default=inf)
        near = [one for one in others if quick.get(one, inf) <= at_most]
        us, copy_us = _time([best, *near], cell, arch)
        fastest = _faster(best, us)
        if fastest == best:
            break
        best = fastest
    if best != line.design:
        us, copy_us = _time([line.design, best], cell, arch)
        best = _faster(line.design, us)
    return Trial(cell, line.design, best, us.get(line.design, inf), us.get(best, inf), copy_us)


def _faster(design: Design, us: dict[Design, float]) -> Design:
    """The fastest of those that were timed, or `design` where that is no slower."""
    fastest = min(us, key=us.__getitem__, default=design)
    return fastest if us.get(fastest, inf) * GAIN < us.get(design, inf) else design


def _time(
    designs: Iterable[Design], cell: Cell, arch: int, replays: int = REPLAYS
) -> tuple[dict[Design, float], float]:
    """Microseconds of each design that this GPU takes, and of the faster copy, all in one run."""
    task = cell.task
    fitting: dict[Design, Design] = {}
    for design in designs:
        fitted = design.fit(task)
        if fitted:
            fitting.setdefault(fitted, design)  # on these rows several are one
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(partial(_compile, task=task, arch=arch), fitting))
    given, calls = sample(cell), {}
    for fitted, design in fitting.items():
        with contextlib.suppress(CompileError, NotAvailable):
            calls[design] = _prepare(fitted, task, given)
    del given
    named = {repr(design): calls[design] for design in calls}
    us, copy_us = time_beside_copies(cell.case, named, cell.direction == "backward", replays)
    return {design: us[repr(design)] for design in calls if repr(design) in us}, copy_us


def _compile(design: Design, task: Task, arch: int) -> None:
    """Put its machine code on the disk, or leave it to `_prepare` to say why not."""
    with contextlib.suppress(CompileError):
        cubin(build_of(design, task), arch)


def _prepare(design: Design, task: Task, given: Tensor) -> Call:
    """A call that launches this design. Raises `NotAvailable` where it has no room, or is wrong."""
    strides = (task.cols, task.cols if task.backward else 0, task.cols)
    launch = prepare_design(design, task, strides, torch.cuda.current_device())
    if launch is None:
        raise NotAvailable(f"This GPU has no room for {design}.")

    def call(x: Tensor, y: Tensor) -> Tensor:
        first, second = x if task.backward else (x, None)
        launch(first.data_ptr(), 0 if second is None else second.data_ptr(), y.data_ptr())
        return y

    providers.try_once(str(design), call, given, task.backward)
    return call
