"""How long each pass over the rows takes, in a launch by itself: a bar for each kernel, a part for each pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.registry import kernels

_HIGH, _PITCH = 28, 54
_EDGE = 1


def passes(
    named: Mapping[str, Sequence[str]],
    rows: int = 1024,
    cols: int = 32768,
    *,
    gpu: str = DEFAULT_GPU,
) -> View:
    """Recorded times of the passes of `naive` and `online`, by words for each, on one scale.

    Raises `BadInput` where they were not recorded on (rows, cols) on this GPU.
    """
    record = recorded(gpu)
    times_ms = {}
    for name in named:
        steps = kernels[f"{name}_passes"].steps
        found = [
            record.select(provider=f"{name}_passes", step=step.entry, rows=rows, cols=cols)
            for step in steps
        ]
        if not all(found):
            raise BadInput(f"The passes of {name} were not recorded on ({rows}, {cols}) on {gpu}.")
        times_ms[name] = [timings[0].median_us / 1e3 for timings in found]
    told = {
        name: [f"{word} {ms:.1f}" for word, ms in zip(words, times_ms[name], strict=True)]
        for name, words in named.items()
    }
    spoken = "; ".join(f"{name}: {', '.join(words)}" for name, words in told.items())
    drawing = Drawing(_PITCH * len(named), f"Milliseconds of each pass. {spoken}")
    scale = (WIDTH - 2 * _EDGE) / max(sum(times) for times in times_ms.values())
    for at, (name, words) in enumerate(told.items()):
        drawing.text(0, _PITCH * at + 15, name, anchor="start", size=12, bold=True)
        _draw_passes(drawing, _PITCH * at + 21, [ms * scale for ms in times_ms[name]], words)
    return frame(drawing, "Milliseconds of each pass, in a launch by itself", record.where)


def _draw_passes(
    drawing: Drawing, top: float, widths: Sequence[float], words: Sequence[str]
) -> None:
    """Side by side; the last one, which writes, is another colour than those that only read."""
    left = float(_EDGE)
    tones = [*["orange"] * (len(words) - 1), "blue"]
    for width, word, tone in zip(widths, words, tones, strict=True):
        drawing.boxes([(left, top, width, _HIGH)], tone)
        drawing.text(left + width / 2, top + _HIGH / 2 + 4, word, size=12)
        left += width
