"""`catch_lie`: one lie of the page Benchmark lies, told and caught here where that can be done, else as recorded."""

from __future__ import annotations

from softmax_lib.gpu.presence import has_gpu
from softmax_lib.show import figures
from softmax_lib.suites.lies.record import find_lie
from softmax_lib.suites.measure import measure_lie
from softmax_lib.widgets.explorers import Explorer
from softmax_lib.widgets.views import View, view
from softmax_lib.worklog.errors import WrongType


def catch_lie(name: str) -> View | Explorer:
    """`figures.lie`, with a GPU of what is measured there and then, which takes some seconds.

    Without one, and for each GPU with such a run, it is of what was recorded. Raises `WrongType`, `BadInput` for a
    lie that there is not, and what `measure_lie` raises.
    """
    if not isinstance(name, str):
        raise WrongType(f"A lie is a {type(name).__name__}; it is given by its name.")
    find_lie(name)
    if not has_gpu():
        return figures.over_records(figures.lie, runs="lies", name=name)
    return view(figures.lie(name, run=measure_lie(name)))
