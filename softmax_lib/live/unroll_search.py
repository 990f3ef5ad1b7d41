"""`search_unroll`: chapter 09's heat map, measured here where that can be done, else as recorded."""

from __future__ import annotations

from typing import Any

from softmax_lib import figures
from softmax_lib.gpu.presence import has_gpu
from softmax_lib.measurements import measure_unroll
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View

THREADS = (64, 128, 256, 512, 1024)


def search_unroll(rows: int = 1024, cols: int = 32768) -> View | Explorer:
    """`figures.unroll_map` with a slider over the threads of a block.

    With a GPU, `unroll` is timed on a (rows, cols) matrix at each of its settings there and then, which takes
    some ten seconds; without one, and for each GPU with such a run, the map is of what was recorded. Raises what
    `measure_unroll` raises.
    """
    if not has_gpu():
        return figures.over_records(
            figures.unroll_map, runs="unroll", axes={"threads": THREADS}, start=[1024], rows=rows, cols=cols,
        )  # fmt: skip
    run = measure_unroll(rows, cols, THREADS)

    def show(threads: int) -> Any:
        return figures.unroll_map(rows, cols, threads, run=run)

    return explorer({"threads": THREADS}, show, start=THREADS[-1:])
