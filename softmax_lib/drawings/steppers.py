"""Steppers over a tiny row: the online recurrence, the tree in shared memory, the warp shuffle.

What they draw is what the kernels did in the emulator, and needs no kernel to be moved through.
"""

from __future__ import annotations

from collections.abc import Sequence

from softmax_lib.drawings.blocks import read_frame, reduction_frame, tree_frame, write_frame
from softmax_lib.drawings.recurrence import online_frame
from softmax_lib.errors import BadInput
from softmax_lib.widgets.stepping import Shown, stepper
from softmax_lib.xrays.exchanges import exchanges
from softmax_lib.xrays.reductions import between_barriers, online_steps, shared_steps, trace_row

MOST_CELLS = 8
"""Values that stand side by side and can still be read on a phone."""


def online(values: Sequence[float]) -> Shown:
    """Step through a row of up to 8 values as `online` does: running maximum, running sum, correction."""
    _check_length(values, MOST_CELLS)
    steps = online_steps(values)
    return stepper([online_frame(values, step, i) for i, step in enumerate(steps)])


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
