"""Launches of the kernels that find the k first of each row, and the memory by which their blocks meet."""

from __future__ import annotations

import torch

from softmax_lib.engine.source import WARP
from softmax_lib.ops import slots
from softmax_lib.ops.binaries import function
from softmax_lib.ops.launches import Launch, multiprocessors
from softmax_lib.ops.outlines import Outline
from softmax_lib.ops.topk_designs import (
    SHORT_THREADS,
    TopkDesign,
    TopkTask,
    short_build,
    topk_design,
)

PAIRS, LISTS, ARRIVED = 8, 9, 10
"""Of a kernel's arguments those that say where blocks of one row meet."""
PAIR_BYTES = KEY_BYTES = 8


class MeetingLaunch(Launch):
    """One whose rows are shared out among blocks, of which the last to arrive ends each row."""

    rows: int
    pairs: int
    keys: int

    def __call__(self, first: int, second: int, result: int) -> None:
        length = PAIR_BYTES * self.pairs + KEY_BYTES * self.keys
        memory = torch.empty(length, dtype=torch.uint8, device=torch.device("cuda", self.device))
        values = self._values
        values[PAIRS] = memory.data_ptr()
        values[LISTS] = memory.data_ptr() + PAIR_BYTES * self.pairs
        values[ARRIVED] = slots.address(self.device, slots.COUNTERS, self.rows)
        super().__call__(first, second, result)


def prepare_topk(task: TopkTask, stride: int, device: int) -> Launch:
    """The launch for rows with this stride, in numbers. Raises `NotAvailable` where no kernel can be had."""
    if task.is_short:
        build, blocks = short_build(task), -(-task.rows * WARP // SHORT_THREADS)
        numbers = (task.rows, task.cols, stride, task.k)
        outline = Outline(build, blocks, SHORT_THREADS, numbers)
        return Launch(function(build, device), outline, device)
    return prepare_design(topk_design(task, multiprocessors(device)), task, stride, device)


def prepare_design(design: TopkDesign, task: TopkTask, stride: int, device: int) -> Launch:
    """The launch by this design."""
    numbers = (task.rows, task.cols, stride, task.k, design.teams, 0, 0, 0)
    outline = Outline(design.build(task), design.blocks(task.rows), design.threads, numbers)
    kernel = function(outline.build, device)
    if design.teams == 1:
        return Launch(kernel, outline, device)
    launch, teams = MeetingLaunch(kernel, outline, device), task.rows * design.teams
    launch.rows, launch.pairs = task.rows, teams * design.warps
    launch.keys = teams * task.keys_a_list
    return launch
