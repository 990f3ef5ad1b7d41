"""Steppers over a tiny row: the online recurrence, the tree in shared memory, the warp shuffle.

What they draw is what the kernels did in the emulator, and needs no kernel to be moved through.
"""

from __future__ import annotations

from collections.abc import Sequence

from softmax_lib.drawings.blocks import read_frame, reduction_frame, tree_frame, write_frame
from softmax_lib.drawings.drawing import number
from softmax_lib.drawings.recurrence import online_frame
from softmax_lib.errors import BadInput
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.stepping import Shown, stepper
from softmax_lib.widgets.views import View
from softmax_lib.xrays.exchanges import exchanges
from softmax_lib.xrays.reductions import between_barriers, online_steps, shared_steps, trace_row

MOST_CELLS = 8
"""Values that stand side by side and can still be read on a phone."""


def online(*rows: Sequence[float], read: int = 1) -> Explorer:
    """Read rows of up to 8 values as `online` does, one after the other: running maximum, running sum, correction.

    It starts with `read` of the first row's. The rows are of one length, and -inf is a masked score.
    Raises `BadInput` for others.
    """
    for values in rows:
        _check_length(values, MOST_CELLS)
    if len({len(values) for values in rows}) != 1:
        raise BadInput(f"The rows of this picture have one length, unlike {list(rows)}.")
    steps = {", ".join(map(number, values)): (values, online_steps(values)) for values in rows}

    def show(row: str, count: int) -> View:
        values, found = steps[row]
        return online_frame(values, found[count - 1], count - 1)

    axes = {"row": list(steps), "scores read": range(1, len(rows[0]) + 1)}
    shown = explorer(axes, show, start=(next(iter(steps)), read))
    shown.add_class("worklog-two-columns")
    return shown


def tree(values: Sequence[float], warp_size: int = 8) -> Shown:
    """Step through the maximum of up to 8 values as `shared` finds it: a tree in shared memory.

    There are as many threads as values, a power of two, in warps of `warp_size` lanes.
    """
    _check_length(values, MOST_CELLS)
    _, *steps, _ = shared_steps(trace_row("shared", values, warp_size))
    shown = stepper([tree_frame(step) for step in steps])
    shown.add_class("worklog-two-columns")
    return shown


def shuffle(values: Sequence[float], warp_size: int = 4) -> Shown:
    """Step through the maximum of a block as `shuffle` finds it: in each warp, then across warps."""
    _check_length(values, 2 * MOST_CELLS)
    _check_warp(warp_size, len(values))
    trace = trace_row("shuffle", values, warp_size)
    in_warps, across_warps = between_barriers(trace)[:2]
    write, read = shared_steps(trace)
    rounds = warp_size.bit_length() - 1
    first = exchanges(in_warps, warp_size)
    second = exchanges(across_warps, warp_size, rounds, max)
    return stepper(
        [
            *(reduction_frame(exchange, warp_size) for exchange in first),
            write_frame(write),
            read_frame(read),
            *(reduction_frame(exchange, warp_size) for exchange in second),
        ]
    )


def _check_length(values: Sequence[float], most: int) -> None:
    if len(values) > most:
        raise BadInput(f"This stepper draws up to {most} values, and was given {len(values)}.")


def _check_warp(warp_size: int, threads: int) -> None:
    if warp_size not in (2, 4, MOST_CELLS):
        raise BadInput(f"This stepper draws warps of 2, 4 or 8 lanes, and not of {warp_size}.")
    if threads > warp_size**2:
        raise BadInput(
            f"{threads} threads make more warps of {warp_size} lanes than one warp can read from."
        )
