"""Symptoms of the page A method beside their cures: counted without a GPU, by ncu, and as torch's profiler saw calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from softmax_lib.engine.compiled.inspection import occupancy
from softmax_lib.engine.words import count
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.ops.xray import xray_softmax
from softmax_lib.records.measurement import ITEM_BYTES
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.suites.kept import required
from softmax_lib.suites.symptoms.record import (
    PROGRAMS,
    Event,
    Program,
    Side,
    Symptom,
    SymptomTime,
    Track,
    symptom_source,
    symptom_times,
    timeline_events,
)
from softmax_lib.widgets.tables import table
from softmax_lib.widgets.views import View, view
from softmax_lib.worklog.errors import CompileError, NotAvailable
from softmax_lib.worklog.reads import in_flight_per_thread, reads
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.xray import xray

ROWS = 16
"""Of the matrix that is x-rayed: each of its rows asks for the same."""
ARCH = 90
MULTIPROCESSORS = 132
"""Of an H200, which the matrix of the tail is made for."""
TIMED_ONLY: tuple[Symptom, ...] = ("tail of blocks", "launch-bound", "L2-resident", "host-bound")
"""No counter of a launch shows them."""
_HOW = {"cold": "", "warm": ", data in L2", "eager": "", "graph": ", one graph"}
"""What a column's head says of the way of its calls."""
_PROGRAM_OF: dict[str, Program] = {"eager": "small, eager", "graph": "small, one graph"}


def symptom(name: Symptom, gpu: str = DEFAULT_GPU) -> View:
    """A column for each side of a symptom: who, its counters, its time.

    Raises `BadInput` for another name, and where it was not measured.
    """
    missing = f"The symptom {name!r:.40} was not measured on {gpu}."
    found = required(symptom_times(gpu, symptom=name), missing)
    sides = [one.side for one in found]
    rows = []
    if len({one.rows for one in sides}) > 1:
        rows.append(["rows", *(f"{one.rows:,}" for one in sides)])
    if any(one.block_size for one in sides):
        rows.append(["threads per block", *(f"{one.block_size:,}" if one.block_size else "its choice" for one in sides)])  # fmt: skip
    rows += [[label, *(_told(read, one) for one in sides)] for label, read in _COUNTED[name]]
    rows += [[label, *map(read, found)] for label, read in _MEASURED.get(name, [])]
    if name == "host-bound":
        programs = (_PROGRAM_OF[one.how] for one in sides)
        busy = (f"{busy_share(timeline_events(one, gpu)):.0%}" for one in programs)
        rows.append(["GPU busy, torch.profiler", *busy])
    rows.append(["time", *(f"{one.median_us:,.1f} µs" for one in found)])
    head = ["", *(f"{one.role}: {one.side.who}{_HOW[one.side.how]}" for one in found)]
    caption = f"{name}, {sides[0].rows:,} × {sides[0].cols:,} floats: {symptom_source(gpu)}"
    return view([table(head, rows, caption=caption), view(_how_to(name, sides))])


def _told(read: Callable[[Side], str], side: Side) -> str:
    """A dash for what a machine without NVRTC or nvdisasm cannot say."""
    try:
        return read(side)
    except (NotAvailable, CompileError):
        return "–"


def _how_to(name: Symptom, sides: list[Side]) -> str:
    """What the reader can run."""
    if name in TIMED_ONLY:
        return "Only a GPU shows it: `softmax-lib bench --suite symptoms`"
    symptom, *_, cure = (f"`{command_of(side)}`" for side in sides)
    return f"Count it without a GPU: {symptom}, and its cure: {cure}"


def command_of(side: Side) -> str:
    """What shows its counters in a shell, with no GPU."""
    who = "softmax" if side.who == "softmax()" else side.who
    size = f" --block-size {side.block_size}" if side.block_size else ""
    return f"softmax-lib xray {who} --rows {ROWS} --cols {side.cols}{size}"


# ---- counted without a GPU


@lru_cache(maxsize=32)
def _xray(side: Side) -> XRay:
    if side.who in kernels:
        return xray(kernels[side.who], ROWS, side.cols, side.block_size or None)
    return xray_softmax(side.rows, side.cols)


def _blocks_held(side: Side) -> int:
    """How many of its blocks a multiprocessor holds. Raises `NotAvailable` where no machine code can be had."""
    if not (steps := _xray(side).steps):
        raise NotAvailable("Without machine code nobody knows how many registers a kernel has.")
    cubin = steps[-1].decoded.cubin
    return occupancy(ARCH, _xray(side).block_size, cubin.registers, cubin.shared_bytes)[0]


def _per_request(counters: Mapping[str, int], access: str, unit: str) -> str:
    return f"{counters[f'{access}_{unit}'] / counters[f'{access}_requests']:.3g}"


def _per_block(counter: str) -> Callable[[Side], str]:
    return lambda side: f"{_xray(side).total[counter] / _xray(side).blocks:,.0f}"


def _in_flight(side: Side) -> str:
    kernel = kernels[side.who]
    size = kernel.settle_block_size(side.block_size or None, side.cols)
    a_thread = in_flight_per_thread(reads(kernel, size, side.cols, ARCH))
    return f"{_blocks_held(side) * size * a_thread / 1024:,.3g} KiB"


def _threads_held(side: Side) -> str:
    return f"{_blocks_held(side) * _xray(side).block_size:,}"


def _launches(side: Side) -> int:
    return len(kernels[side.who].steps)


_COUNTED: dict[Symptom, list[tuple[str, Callable[[Side], str]]]] = {
    "uncoalesced": [("sectors per load request", lambda side: _per_request(_xray(side).total, "global_load", "sectors"))],
    "bank conflicts": [("bank conflicts per block", _per_block("bank_conflicts"))],
    "too few bytes in flight": [("bytes in flight per SM", _in_flight)],
    "low occupancy": [("threads on an SM, at most", _threads_held)],
    "barriers": [("barriers per block", _per_block("barriers"))],
    "tail of blocks": [
        ("blocks", lambda side: f"{side.rows if side.who in kernels else _xray(side).blocks:,}"),
        ("blocks that fit at once", lambda side: f"{MULTIPROCESSORS * _blocks_held(side):,}"),
    ],
    "launch-bound": [("launches", lambda side: str(_launches(side)))],
    "L2-resident": [("x and y", lambda side: f"{2 * side.rows * side.cols * ITEM_BYTES['float32'] / (1 << 20):.0f} MiB")],
    "host-bound": [("launches by Python for 100 calls", lambda side: "100" if side.how == "eager" else "1")],
}  # fmt: skip

# ---- measured


def _counted(read: Callable[[SymptomTime], str]) -> Callable[[SymptomTime], str]:
    """The same, with a dash where ncu counted nothing."""
    return lambda one: read(one) if one.counters else "–"


def _ratio(access: str, unit: str) -> Callable[[SymptomTime], str]:
    return _counted(lambda one: _per_request(one.counters, access, unit))


_BANDWIDTH: tuple[str, Callable[[SymptomTime], str]] = ("GB/s", lambda one: f"{one.gb_per_s:,.0f}")
_MEASURED: dict[Symptom, list[tuple[str, Callable[[SymptomTime], str]]]] = {
    "uncoalesced": [("the same, by ncu", _ratio("global_load", "sectors"))],
    "bank conflicts": [("wavefronts per shared load, ncu", _ratio("shared_load", "wavefronts"))],
    "too few bytes in flight": [
        ("stalled_long_scoreboard, ncu", _counted(lambda one: f"{one.profile.stalls['long_scoreboard']:.0%}")), _BANDWIDTH,
    ],
    "low occupancy": [("warps on an SM, ncu", _counted(lambda one: f"{one.profile.warps_per_multiprocessor:.1f}"))],
    "barriers": [("stalled_barrier, ncu", _counted(lambda one: f"{one.profile.stalls['barrier']:.0%}"))],
    "tail of blocks": [_BANDWIDTH],
    "launch-bound": [("time per launch", lambda one: f"{one.median_us / _launches(one.side):.1f} µs")],
    "L2-resident": [_BANDWIDTH],
}  # fmt: skip

# ---- when Python called, when it launched, when the GPU worked

_LEFT, _HIGH, _HEAD = 46, 16, 22
_PANEL = _HEAD + 3 * _HIGH + 20
_LOOKS: dict[Track, tuple[str, str]] = {"call": ("Python", "plain"), "launch": ("launch", "orange"), "kernel": ("GPU", "blue")}  # fmt: skip


def profiled_calls(gpu: str = DEFAULT_GPU) -> View:
    """Draw the timelines of `suites.symptoms.record.PROGRAMS`, one below the other; the small ones share a scale.

    Raises `BadInput` where none was recorded.
    """
    seen: dict[Program, list[Event]] = {}
    for program in PROGRAMS:
        events = timeline_events(program, gpu)
        first_us = min(one.at_us for one in events)
        seen[program] = [replace(one, at_us=one.at_us - first_us) for one in events]
    words = "; ".join(f"{program}: {_in_words(events)}" for program, events in seen.items())
    drawing = Drawing(len(seen) * _PANEL, words)
    for number, (program, events) in enumerate(seen.items()):
        like = [one for name in seen if name[:5] == program[:5] for one in seen[name]]
        _draw(drawing, number * _PANEL, program, events, max(one.end_us for one in like))
    title = "Eight calls of torch.softmax, by torch.profiler"
    return frame(drawing, title, f"{symptom_source(gpu)}; the profiler itself slows Python down")


def busy_share(events: Sequence[Event]) -> float:
    """Of the time from the first event to the end of the last kernel, the share in which a kernel ran."""
    kernels = [one for one in events if one.track == "kernel"]
    span = max(one.end_us for one in kernels) - min(one.at_us for one in events)
    return sum(one.us for one in kernels) / span


def _in_words(events: Sequence[Event]) -> str:
    """How many launches made how many kernels, in what time, and how busy the GPU was."""
    counts = {track: sum(one.track == track for one in events) for track in _LOOKS}
    last = max(one.end_us for one in events)
    launches = count(counts["launch"], "launch", "launches")
    return f"{launches}, {counts['kernel']} kernels in {last:.0f} µs, GPU busy {busy_share(events):.0%}"  # fmt: skip


def _draw(
    drawing: Drawing, top: float, program: Program, events: Sequence[Event], last_us: float
) -> None:
    scale = (WIDTH - _LEFT) / last_us
    drawing.text(0, top + 13, program, bold=True)
    drawing.text(WIDTH, top + 13, f"GPU busy {busy_share(events):.0%}", anchor="end")
    for row, (track, (label, tone)) in enumerate(_LOOKS.items()):
        line = top + _HEAD + row * _HIGH
        drawing.text(_LEFT - 4, line + 11, label, anchor="end", size=11)
        drawing.line([(_LEFT, line + _HIGH - 1.5), (WIDTH, line + _HIGH - 1.5)], faint=True)
        of_track = [
            (one.at_us * scale, max(one.us * scale, 1)) for one in events if one.track == track
        ]
        bars = [(_LEFT + at, line + 1, wide, _HIGH - 4) for at, wide in of_track]
        drawing.boxes(bars, tone, solid=tone != "plain")
    drawing.text(_LEFT, top + _PANEL - 8, "0", size=10)
    drawing.text(WIDTH, top + _PANEL - 8, f"{last_us:.0f} µs", anchor="end", size=10)
