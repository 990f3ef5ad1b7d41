"""Steppers over a tiny row: the online recurrence, the tree in shared memory, the warp shuffle.

What they draw is what the kernels did in the emulator, and needs no kernel to be moved through.
"""

from __future__ import annotations

from collections.abc import Sequence

from softmax_lib.show.drawings.blocks import butterfly_frame, tree_frame
from softmax_lib.show.drawings.drawing import number
from softmax_lib.show.drawings.recurrence import online_frame
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.stepping import Shown, stepper
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.reductions import (
    between_barriers,
    exchanges,
    online_steps,
    shared_steps,
    trace_row,
)

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


def shuffle(values: Sequence[float]) -> Shown:
    """Step through the maximum of 2, 4 or 8 values as a warp of so many lanes finds it in `shuffle`."""
    if len(values) not in (2, 4, MOST_CELLS):
        raise BadInput(f"A warp of this stepper has 2, 4 or 8 lanes, not {len(values)}.")
    in_warp = between_barriers(trace_row("shuffle", values, len(values)))[0]
    rounds = exchanges(in_warp, len(values))
    shown = stepper(
        [butterfly_frame(rounds, step) for step in range(len(rounds))], label="exchange"
    )
    shown.add_class("worklog-two-columns")
    return shown


def _check_length(values: Sequence[float], most: int) -> None:
    if len(values) > most:
        raise BadInput(f"This stepper draws up to {most} values, and was given {len(values)}.")
