"""The lines of a benchmark that lies, as they were run when it was recorded."""

from __future__ import annotations

from softmax_lib.drawings.listings import STYLE, highlight_python
from softmax_lib.errors import BadInput
from softmax_lib.records.lies import lie_run
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.widgets.views import View


def advertisement(name: str, *, gpu: str = DEFAULT_GPU) -> View:
    """The lines that told a lie in the newest run kept on `gpu`: "warm cache", or "synchronised", where one is true.

    Raises `BadInput` for another name, and where no run was kept.
    """
    shown = lie_run(gpu)["advertisements"]
    if name not in shown:
        raise BadInput(f"Nothing is advertised as {name!r:.40}; there are {', '.join(shown)}.")
    return View(STYLE + highlight_python(shown[name]), shown[name])
