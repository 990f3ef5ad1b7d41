"""Figures of what is measured here where that can be done, else as recorded: `catch_lie` and `search_unroll`."""

from __future__ import annotations

from typing import Any

from rich.progress import Progress

from softmax_lib.engine.whole_numbers import whole
from softmax_lib.gpu.presence import has_gpu
from softmax_lib.show import figures
from softmax_lib.suites.kept import matching, required
from softmax_lib.suites.lies.record import find_lie
from softmax_lib.suites.times import UNROLL
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View, view
from softmax_lib.worklog.errors import NotAvailable, WrongType


def catch_lie(name: str) -> View | Explorer:
    """`figures.lie`, with a GPU of what is measured there and then, which takes some seconds.

    Without one, and for each GPU with such a run, it is of what was recorded. Raises `WrongType`, `BadInput` for a
    lie that there is not, and `NotAvailable` where the matrices do not fit.
    """
    if not isinstance(name, str):
        raise WrongType(f"A lie is a {type(name).__name__}; it is given by its name.")
    lie = find_lie(name)
    if not has_gpu():
        return figures.over_records(figures.lie, runs="lies", name=name)
    from softmax_lib.suites.lies.measure import run_suite  # which needs torch, and so comes after

    run = run_suite(lambda *told: None, (lie,))
    if not run["rows"]:
        raise NotAvailable(f"{lie}: {run['skipped'][lie]}.")
    return view(figures.lie(name, run=run))


def search_unroll(rows: int = 1024, cols: int = 32768) -> View | Explorer:
    """`figures.unroll_map` with a slider over the threads of a block.

    With a GPU, `unroll` is timed on a (rows, cols) matrix at each of its settings there and then, which takes
    up to half a minute on an H200, behind a bar; without one, and for each GPU with such a run, the map is of
    what was recorded. Raises `NotAvailable` on a GPU without NVRTC or nvdisasm, and `BadInput` for a matrix
    that was never recorded.
    """
    rows, cols = whole("rows", rows), whole("cols", cols)
    if not has_gpu():
        threads = _block_sizes(UNROLL.newest(), rows, cols)
        return figures.over_records(
            figures.unroll_map, runs="unroll", axes={"threads": threads}, start=threads[:1], rows=rows, cols=cols,
        )  # fmt: skip
    from softmax_lib.suites.unroll import search  # which needs torch, and so comes after

    with Progress(transient=True) as bar:
        task = bar.add_task("compiling", total=None)
        run = search(
            rows, cols, lambda label, done, total: bar.update(task, description=label, completed=done, total=total),
        )  # fmt: skip
    threads = _block_sizes(run, rows, cols)

    def show(threads: int) -> Any:
        return figures.unroll_map(rows, cols, threads, run=run)

    return explorer({"threads": threads}, show, start=threads[:1])


def _block_sizes(run: dict[str, Any], rows: int, cols: int) -> list[int]:
    """Those that were searched on this matrix. Raises `BadInput` where none was."""
    found = matching(UNROLL.read(run), rows=rows, cols=cols)
    required(found, f"unroll was not searched on {rows} × {cols}.")
    return sorted({one.block_size for one in found})
