"""What torch's profiler saw of a few calls: when Python called, when it launched, when the GPU worked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.suites.symptoms.record import (
    PROGRAMS,
    Event,
    Program,
    Track,
    symptom_source,
    timeline_events,
)
from softmax_lib.widgets.views import View

_LEFT, _HIGH, _HEAD = 46, 16, 22
_PANEL = _HEAD + 3 * _HIGH + 20
_LOOKS: dict[Track, tuple[str, str]] = {"call": ("Python", "plain"), "launch": ("launch", "orange"), "kernel": ("GPU", "blue")}  # fmt: skip


def profiled_calls(gpu: str = DEFAULT_GPU) -> View:
    """Draw the timelines of `records.symptoms.PROGRAMS`, one below the other; the small ones share a scale.

    Raises `BadInput` where none was recorded.
    """
    seen = {program: _from_zero(timeline_events(program, gpu)) for program in PROGRAMS}
    words = "; ".join(f"{program}: {in_words(events)}" for program, events in seen.items())
    drawing = Drawing(len(seen) * _PANEL, words)
    for number, (program, events) in enumerate(seen.items()):
        like = [one for name in seen if name[:5] == program[:5] for one in seen[name]]
        _draw(drawing, number * _PANEL, program, events, max(one.end_us for one in like))
    title = "Eight calls of torch.softmax, by torch.profiler"
    return frame(drawing, title, f"{symptom_source(gpu)}; the profiler itself slows Python down")


def _from_zero(events: Sequence[Event]) -> list[Event]:
    first_us = min(one.at_us for one in events)
    return [replace(one, at_us=one.at_us - first_us) for one in events]


def busy_share(events: Sequence[Event]) -> float:
    """Of the time from the first event to the end of the last kernel, the share in which a kernel ran."""
    kernels = [one for one in events if one.track == "kernel"]
    span = max(one.end_us for one in kernels) - min(one.at_us for one in events)
    return sum(one.us for one in kernels) / span


def in_words(events: Sequence[Event]) -> str:
    """How many launches made how many kernels, in what time, and how busy the GPU was."""
    counts = {track: sum(one.track == track for one in events) for track in _LOOKS}
    last = max(one.end_us for one in events)
    launches = f"{counts['launch']} launch{'es' * (counts['launch'] != 1)}"
    return f"{launches}, {counts['kernel']} kernels in {last:.0f} µs, GPU busy {busy_share(events):.0%}"  # fmt: skip


def _draw(
    drawing: Drawing, top: float, program: Program, events: Sequence[Event], last_us: float
) -> None:
    scale = (WIDTH - _LEFT) / last_us
    drawing.text(0, top + 13, program, anchor="start", size=12, bold=True)
    busy = f"GPU busy {busy_share(events):.0%}"
    drawing.text(WIDTH, top + 13, busy, anchor="end", size=12)
    for row, (track, (label, tone)) in enumerate(_LOOKS.items()):
        line = top + _HEAD + row * _HIGH
        drawing.text(_LEFT - 4, line + 11, label, anchor="end", size=11)
        drawing.line([(_LEFT, line + _HIGH - 1.5), (WIDTH, line + _HIGH - 1.5)], faint=True)
        of = [one for one in events if one.track == track]
        drawing.boxes(
            [(_LEFT + one.at_us * scale, line + 1, max(one.us * scale, 1), _HIGH - 4) for one in of],
            tone, solid=tone != "plain",
        )  # fmt: skip
    drawing.text(_LEFT, top + _PANEL - 8, "0", anchor="start", size=10)
    drawing.text(WIDTH, top + _PANEL - 8, f"{last_us:.0f} µs", anchor="end", size=10)
