"""The ladder: each kernel's share of a copy's speed, as far as a chapter has climbed, or rung by rung; and its passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from softmax_lib import widgets
from softmax_lib.engine.words import percent, time_in_words
from softmax_lib.records.measurement import Measurement
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.registry import kernels, rungs

if TYPE_CHECKING:
    from softmax_lib.widgets.boxes import Shown

_BASE, _HIGH, _GAP = 88, 70, 8
_LEAST = 2
"""Of a bar, or 1 % could not be seen."""
_RUNG = (
    "<p><strong>{{ number }}. {{ idea }}</strong> &nbsp; {{ time }}, "
    "<strong>{{ share }} of a copy’s speed</strong></p>{{ bars }}<p>{{ line }}</p>"
)
IDEAS = {
    "naive": ("One thread per row", "Each thread walks along its own row, so a warp’s loads lie far apart."),
    "online": ("Online softmax", "A running maximum and sum save one of three reads. Why so little gain?"),
    "shared": ("Coalescing and shared memory", "Neighbours read neighbours, then reduce in a tree."),
    "shuffle": ("Warp shuffles", "Lanes swap registers: most barriers go, and the waiting stays."),
    "float4": ("Bytes in flight", "Ask for four vectors of 16 bytes before you wait for the first."),
    "fusion": ("Kernel fusion", "The row stays in registers: one read, one write, nothing in between."),
}  # fmt: skip
"""What each rung is about, in the field's words and in a sentence."""


def ladder(upto: str, rows: int = 1024, cols: int = 32768, *, gpu: str = DEFAULT_GPU) -> View:
    """A bar for each rung up to `upto`, an outline for each one after it, and the copy's bar.

    Heights are recorded shares of the copy's speed on a (rows, cols) float32 matrix. Raises `BadInput` for a name
    that is no rung, and where one of them was not recorded.
    """
    times = _times(rows, cols, gpu)
    if upto not in times:
        raise BadInput(f"{upto!r} is no rung; they are {', '.join(times)}.")
    drawing = _draw(times, upto)
    html = Markup('<div class="worklog-ladder">{}</div>').format(Markup(drawing.svg()))
    return View(str(html), f"{drawing.words}.")


def climb(rows: int = 1024, cols: int = 32768, *, gpu: str = DEFAULT_GPU) -> Shown:
    """Step up the ladder: each rung with its idea, its time and its share of a copy's speed, as recorded.

    Raises `BadInput` where a rung was not recorded on a (rows, cols) float32 matrix.
    """
    times = _times(rows, cols, gpu)
    frames = []
    for number, (name, timing) in enumerate(times.items(), 1):
        idea, line = IDEAS[name]
        time, share = time_in_words(timing.median_us), percent(timing.copy_share)
        bars = Markup(_draw(times, name).svg())
        html = render(_RUNG, number=number, idea=idea, time=time, share=share, bars=bars, line=line)
        words = f"{number}. {idea}: {time}, {share} of a copy's speed. {line}"
        frames.append(View(str(html), words))
    return widgets.stepper(frames, label="kernel")


def _times(rows: int, cols: int, gpu: str) -> Mapping[str, Measurement]:
    """Of each rung."""
    times, names = recorded(gpu).times(rows, cols), [kernel.name for kernel in rungs()]
    if lacking := [name for name in names if name not in times]:
        raise BadInput(f"{', '.join(lacking)} was not recorded on ({rows}, {cols}).")
    return {name: times[name] for name in names}


def _draw(times: Mapping[str, Measurement], upto: str) -> Drawing:
    climbed = list(times)[: list(times).index(upto) + 1]
    shares = {name: times[name].copy_share for name in climbed} | {"copy": 1.0}
    told = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    drawing = Drawing(_BASE + 20, f"Share of a copy's speed: {told}")
    pitch = WIDTH / (len(times) + 1)
    for at, name in enumerate([*times, "copy"]):
        left, middle, width = at * pitch + _GAP / 2, (at * pitch) + pitch / 2, pitch - _GAP
        share, here = shares.get(name), name == upto
        if share is None:
            drawing.box((left, _BASE - _HIGH, width, _HIGH), "?", faint=True)
        else:
            high, tone = max(_LEAST, _HIGH * share), "orange" if here else "blue"
            drawing.boxes([(left, _BASE - high, width, high)], tone, solid=here)
            drawing.text(middle, _BASE - high - 5, percent(share), anchor="middle", bold=here)
        drawing.text(middle, _BASE + 14, name, anchor="middle", size=11, bold=here)
    return drawing


# ---- each pass over the rows, in a launch by itself

_PASS_HIGH, _PITCH = 28, 54


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
        of = f"{name}_passes"
        entries = [step.entry for step in kernels[of].steps]
        found = [record.select(provider=of, step=one, rows=rows, cols=cols) for one in entries]
        if not all(found):
            raise BadInput(f"The passes of {name} were not recorded on ({rows}, {cols}) on {gpu}.")
        times_ms[name] = [timings[0].median_us / 1e3 for timings in found]
    told = {
        name: [f"{word} {ms:.1f}" for word, ms in zip(words, times_ms[name], strict=True)]
        for name, words in named.items()
    }
    spoken = "; ".join(f"{name}: {', '.join(words)}" for name, words in told.items())
    drawing = Drawing(_PITCH * len(named), f"Milliseconds of each pass. {spoken}")
    scale = (WIDTH - 2) / max(sum(times) for times in times_ms.values())
    for at, (name, words) in enumerate(told.items()):
        drawing.text(0, _PITCH * at + 15, name, bold=True)
        left, top = 1.0, _PITCH * at + 21
        for word, ms in zip(words, times_ms[name], strict=True):
            width, writes = ms * scale, word == words[-1]
            drawing.boxes([(left, top, width, _PASS_HIGH)], "blue" if writes else "orange")
            drawing.text(left + width / 2, top + _PASS_HIGH / 2 + 4, word, anchor="middle")
            left += width
    return frame(drawing, "Milliseconds of each pass, in a launch by itself", record.where)
