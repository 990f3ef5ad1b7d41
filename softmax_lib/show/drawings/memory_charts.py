"""A memory chart: threads and memories as boxes, and on the arrows between them what a launch moves.

An x-ray knows what threads ask of L1 and of shared memory. What hits in L1, and what DRAM gives and takes, ncu
counted; shares of a peak take the time of the launch too. All that is there for kernels of the book on the matrices
that they were profiled on; elsewhere it is not known, and None here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from markupsafe import Markup

from softmax_lib.engine.source import Source
from softmax_lib.engine.words import bytes_in_words, count, plural, short_number, time_in_words
from softmax_lib.engine.xrays.lines import ACCESSES, SECTOR_BYTES, LineCounters
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.records.measurement import Case, Profile
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.show.drawings.drawing import WIDTH, Drawing
from softmax_lib.show.drawings.margins import STYLE, counters_table
from softmax_lib.suites.hardware.record import hardware
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.registry import kernels, resolve
from softmax_lib.worklog.xray import xray

LEVELS = ("shared memory", "L1", "L2", "DRAM")
"""Memories, by the names that `Hardware.levels` has for them."""


@dataclass(frozen=True)
class Flow:
    """What moves one way between a memory of `LEVELS` and what is next to it on the way to the threads.

    `kind` is such as "loads" or "local stores". `requests` are those of warps; `units` sectors, or wavefronts of
    shared memory; `bytes` what lanes ask for, of L2 what its sectors hold, of DRAM what it counted. `share` is that
    of the most that all multiprocessors read from this memory, over the time of the launch. Each is None where
    nobody counted it. `counted_by` is "x-ray", "ncu", or "" of a flow of which nothing is known.
    """

    level: str
    kind: str
    counted_by: str
    requests: int | None = None
    units: int | None = None
    bytes: int | None = None
    share: float | None = None

    @property
    def is_read(self) -> bool:
        """Whether it goes to the threads."""
        return self.kind.endswith("loads")


@dataclass(frozen=True)
class Flows:
    """All flows of a launch, memories in the order of `LEVELS`, reads before writes.

    `l1_hits` is the share of global sectors that L1 had, `dram_share` that of DRAM's peak which its reads and writes
    take together, since both go over the same wires; None where the record does not say. `time_us` is ncu's own of
    the launch that it counted, where `timed_by` is "ncu", or that of the "benchmark". `profiled` and `peaks` say where
    ncu's counters and the peaks are from, `caches` what ncu did with these before; "" where there are none.
    """

    flows: tuple[Flow, ...]
    l1_hits: float | None
    dram_share: float | None
    time_us: float | None
    timed_by: str
    profiled: str
    caches: str
    peaks: str

    def of(self, level: str) -> tuple[Flow, ...]:
        """Those of one of `LEVELS`."""
        return tuple(flow for flow in self.flows if flow.level == level)


def flows_of(found: XRay, gpu: str = DEFAULT_GPU) -> Flows:
    """What moved in the launch of `found`, with what the record of `gpu` has of it.

    The record counts where it is of the same kernel, unchanged, on the same matrix in blocks of the same size, and of
    a GPU that runs the code which was counted. Raises `BadInput` where that GPU has no record.
    """
    record = recorded(gpu)
    case = _case_of(found, record)
    profile = next((one for one in record.profiles if one.case == case), None)
    counters = profile.counters if profile else {}
    time_us, timed_by = _time_of(case, counters, record)
    per_second, source = _peaks_of(gpu) if time_us else ({}, "")
    flows = [*_asked(found.lines), *_behind_l1(counters)]
    dram = [flow.bytes for flow in flows if flow.level == "DRAM" and flow.bytes is not None]
    return Flows(
        # what is written has no share: peaks are of reading
        tuple(
            replace(one, share=_share(one.bytes, time_us, per_second.get(one.level)))
            if one.is_read
            else one
            for one in flows
        ),
        _l1_hits(counters),
        _share(sum(dram), time_us, per_second.get("DRAM")) if dram else None,
        time_us,
        timed_by,
        f"ncu, {record.where}" if profile else "",
        _caches_of(profile),
        source if per_second else "",
    )


def _case_of(found: XRay, record: Record) -> Case | None:
    """What the record may have of this launch; None where it is another kernel, changed since, or for another GPU."""
    kernel = kernels.get(found.kernel)
    if kernel is None or found.rows is None or found.cols is None or record.is_stale(kernel.name):
        return None
    rows, cols, size = found.rows, found.cols, found.block_size
    blocks = sum(step.blocks(rows, cols, size) for step in kernel.steps)
    if found.program != kernel.program(size, cols) or found.blocks != blocks:
        return None
    arch = round(10 * float(record.content["gpu"]["compute_capability"]))
    if found.arch not in (None, arch):
        return None
    return Case(kernel.name, rows, cols, block_size=size)


def _caches_of(profile: Profile | None) -> str:
    """As `bench.ncu.profile` has them before a launch."""
    if profile is None:
        return ""
    several = len(kernels[profile.case.provider].steps) > 1
    return "caches as the launch before left them" if several else "caches emptied first"


def _time_of(
    case: Case | None, counters: dict[str, int], record: Record
) -> tuple[float | None, str]:
    if "duration_ns" in counters:
        return counters["duration_ns"] / 1e3, "ncu"
    timing = record.timings.get(case) if case else None
    return (timing.median_us, "benchmark") if timing else (None, "")


def _peaks_of(gpu: str) -> tuple[dict[str, float], str]:
    """Bytes a second that all multiprocessors together read at most, by memory, and where that is from."""
    try:
        found = hardware(gpu)
    except BadInput:
        return {}, ""
    speeds = {name: found.levels[name].gb_per_s for name in LEVELS if name in found.levels}
    return {name: 1e9 * speed for name, speed in speeds.items() if speed}, found.source


_ASKED = (
    ("shared memory", "shared", "wavefronts", ""),
    ("shared memory", "cluster", "", "cluster "),
    ("L1", "global", "sectors", ""),
    ("L1", "local", "sectors", "local "),
)
"""By memory and address space of CUDA: the units of its requests, and what its flows are called before their operation."""


def _asked(lines: tuple[LineCounters, ...]) -> Iterator[Flow]:
    """What threads ask of shared memory and L1; loads and stores of global memory also where there are none."""
    for (level, space, unit, prefix), operation in product(_ASKED, ACCESSES):
        these = [one for one in lines if (one.space, one.operation) == (space, operation)]
        if these or (space == "global" and operation != "atomic"):
            yield Flow(
                level,
                f"{prefix}{operation}s",
                "x-ray",
                sum(one.requests for one in these),
                sum(getattr(one, unit) for one in these) if unit else None,
                sum(one.bytes_asked for one in these),
            )


def _behind_l1(counters: dict[str, int]) -> Iterator[Flow]:
    """What ncu counted behind L1.

    A global load brings from L2 the sectors that it did not find in L1: on an H200 these two of its counters were
    within 1 % of each other in 20 launches. How many sectors stores take there is another matter: in those of
    `chunked`, which write one sector in several requests, L1 joined up to seven of ten.
    """
    if "global_load_hit_sectors" in counters:
        missed = counters["global_load_sectors"] - counters["global_load_hit_sectors"]
        yield Flow("L2", "loads", "ncu", units=missed, bytes=missed * SECTOR_BYTES)
    else:
        yield Flow("L2", "loads", "")
    yield Flow("L2", "stores", "")
    for kind, name in (("loads", "dram_read_bytes"), ("stores", "dram_write_bytes")):
        yield Flow("DRAM", kind, "ncu" if name in counters else "", bytes=counters.get(name))


def _l1_hits(counters: dict[str, int]) -> float | None:
    sectors, hits = (counters.get(f"global_load{of}_sectors") for of in ("", "_hit"))
    return hits / sectors if sectors and hits is not None else None


def _share(bytes_: int | None, time_us: float | None, per_second: float | None) -> float | None:
    if bytes_ is None or not time_us or per_second is None:
        return None
    return bytes_ / (time_us * 1e-6) / per_second


# ---- the chart

_CHART = """\
<p><strong>{{ title }}</strong></p>{{ svg }}<p>{{ caption }}</p>\
<details><summary>The numbers as they were counted</summary>{{ table }}</details>"""

UNKNOWN = "not counted here"
"""What stands in place of a number that is not known."""

_NEIGHBOUR = {"shared memory": "threads", "L1": "threads", "L2": "L1", "DRAM": "L2"}
_UNITS = {"shared memory": "wavefronts", "L1": "sectors", "L2": "sectors", "DRAM": ""}
_TONES = {"loads": "blue", "stores": "orange", "atomics": "green"}
_LEFT, _GUTTER, _LINE, _BOX = 10.0, 78.0, 16.0, 28.0
_WIDEST = 124.0
_LONG, _MIDDLE = 100.0, 70.0
"""Widths from which on a flow's numbers are written out, and its name fits on a line."""


def memory_chart(
    name_or_source: str | Path | Kernel | Source,
    rows: int = 64,
    cols: int = 4096,
    block_size: int | None = None,
    *,
    gpu: str = DEFAULT_GPU,
) -> View:
    """Draw what a kernel moves between threads, shared memory, L1, L2 and DRAM on a (rows, cols) matrix.

    Requests, sectors, wavefronts and bytes that threads ask for are counted here. Hits in L1, bytes of DRAM and the
    time are those of the record of `gpu`, where it has this launch; shares are of the bandwidth that
    `bench --suite hardware` measured there. What is in neither is "not counted here". Raises what `xray` raises, and
    `BadInput` for a GPU without a record.
    """
    return memory_chart_of(xray(resolve(name_or_source), rows, cols, block_size), gpu=gpu)


def memory_chart_of(found: XRay, *, gpu: str = DEFAULT_GPU) -> View:
    """The same of an x-ray that is there already. Raises `BadInput` for a GPU without a record."""
    flows = flows_of(found, gpu)
    title, caption, drawing = found.words, _caption(found, flows), _draw(found, flows)
    head = ("between", "what", "requests", "units", "bytes", "of peak", "counted by")
    table = counters_table("numbers of the memory chart", head, list(map(_row, flows.flows)))
    body = render(_CHART, title=title, svg=Markup(drawing.svg()), caption=caption, table=table)
    return View(STYLE + str(body), f"{title}: {drawing.words} {caption}")


# ---- the picture


def _draw(found: XRay, flows: Flows) -> Drawing:
    """From top to bottom: shared memory, threads and L1, which every multiprocessor has, then L2 and DRAM."""
    shared = flows.of("shared memory")
    drawing = Drawing(0, _in_words(flows))
    used = "" if shared else "not used"
    top = _box(drawing, 28.0, "shared memory", used, _LEFT, faint=not shared)
    top = _band(drawing, top, shared)
    blocks = f"{count(found.blocks, 'block')} of {found.block_size}"
    top = _box(drawing, top, "threads", blocks, _LEFT, tone="orange")
    top = _band(drawing, top, flows.of("L1"))
    top = _box(drawing, top, "L1", _hits(flows), _LEFT)
    drawing.box((1, 1, WIDTH - 2, top + 6), tone="blue")
    drawing.parts.insert(0, drawing.parts.pop())  # what is in it lies above it
    drawing.text(_LEFT, 19, "multiprocessors", size=13, bold=True)
    top = _band(drawing, top + 7, flows.of("L2"))
    top = _box(drawing, top, "L2", f"hit rate {UNKNOWN}")
    top = _band(drawing, top, flows.of("DRAM"))
    both = flows.dram_share
    top = _box(drawing, top, "DRAM", "" if both is None else f"both ways {_percent(both)} of peak")
    drawing.height = top + 2
    return drawing


def _box(
    drawing: Drawing, top: float, name: str, told: str, left: float = 1.0, **looks: Any
) -> float:
    """A memory, or the threads, with its name and what there is to tell; returns where it ends."""
    drawing.box((left, top, WIDTH - 2 * left, _BOX), **looks)
    line = top + _BOX / 2 + 5
    drawing.text(left + 8, line, name, size=13, bold=True)
    if told:
        drawing.text(WIDTH - left - 8, line, told, anchor="end")
    return top + _BOX


def _band(drawing: Drawing, top: float, flows: Sequence[Flow]) -> float:
    """The arrows between two boxes, one beside the other, with names and numbers; returns where it ends."""
    if not flows:
        return top + 8
    width = min(_WIDEST, (WIDTH - 2 * _LEFT - _GUTTER) / len(flows))
    names = [[flow.kind] if width >= _MIDDLE else flow.kind.split() for flow in flows]
    labels = _labels(flows, is_long=width >= _LONG)
    head = top + 4 + max(map(len, names)) * _LINE
    bottom = head + max(len(labels), 1) * _LINE + 10
    by = next((flow.counted_by for flow in flows if flow.counted_by), "")
    drawing.text(_LEFT + 2, head, by)
    for line, (label, _) in enumerate(labels, 1):
        drawing.text(_LEFT + 2, head + line * _LINE, label)
    aside, size = (15, 12 if width >= _LONG else 11) if width >= _MIDDLE else (12, 10)
    for number, (flow, name) in enumerate(zip(flows, names, strict=True)):
        left = _LEFT + _GUTTER + number * width
        _arrow(drawing, flow, left + 6, (top + 3, bottom - 3))
        told = [texts[number] for _, texts in labels] if flow.counted_by else [UNKNOWN]
        for line, words in enumerate([*name, *told], 1 - len(name)):
            drawing.text(left + aside, head + line * _LINE, words, size=size, bold=line <= 0)
    return bottom


def _labels(flows: Sequence[Flow], *, is_long: bool) -> list[tuple[str, list[str]]]:
    """What a line is called of which at least one flow has something, and what each has; written out or short."""
    level = flows[0].level
    asked = "asked for" if level in ("L1", "shared memory") else "bytes"
    digits = 4 if is_long else 3
    every = (
        ("requests", [_number(flow.requests, is_long) for flow in flows]),
        (_UNITS[level], [_number(flow.units, is_long) for flow in flows]),
        (asked, [_of(flow.bytes, lambda one: bytes_in_words(one, digits)) for flow in flows]),
        ("of peak", [_of(flow.share, _percent) for flow in flows]),
    )
    return [(name, texts) for name, texts in every if any(texts)]


def _arrow(drawing: Drawing, flow: Flow, x: float, ends: tuple[float, float]) -> None:
    """Towards who gets the bytes; thin and dashed where nobody counted them."""
    tone = _TONES[flow.kind.split()[-1]] if flow.counted_by else "plain"
    goes_up = flow.is_read == (flow.level != "shared memory")  # threads are below shared memory
    start, end = reversed(ends) if goes_up else ends
    drawing.arrow((x, start), (x, end), tone=tone)


# ---- words


def _hits(flows: Flows) -> str:
    return f"hit rate of loads {_of(flows.l1_hits, _percent) or UNKNOWN}"


def _of(value: Any, write: Callable[[Any], str]) -> str:
    """The value as it is written, "" where it is not known."""
    return "" if value is None else write(value)


def _number(value: int | None, is_long: bool = True) -> str:
    return _of(value, lambda one: f"{one:,}" if is_long else short_number(one))


def _percent(share: float) -> str:
    """Such as "87.5 %", "0.13 %", "0 %"."""
    return f"{100 * share:.{1 if share >= 0.01 else 2}f} %" if share else "0 %"


def _row(flow: Flow) -> list[str]:
    """A line of the table below the picture."""
    return [
        f"{_NEIGHBOUR[flow.level]} and {flow.level}",
        flow.kind,
        _number(flow.requests),
        _counted(flow.units, _UNITS[flow.level]),
        _number(flow.bytes),
        _of(flow.share, _percent),
        flow.counted_by or UNKNOWN,
    ]


def _counted(number: int | None, things: str) -> str:
    """Such as "1 sector", "8,192 sectors"."""
    return _of(number, lambda one: f"{one:,} {plural(one, things[:-1], things)}")


def _in_words(flows: Flows) -> str:
    """Every number of the picture, for a reader who cannot see it."""
    told = (
        f"Between {_NEIGHBOUR[level]} and {level}: "
        f"{'; '.join(map(_flow_in_words, flows.of(level))) or 'nothing'}."
        for level in LEVELS
    )
    return f"{' '.join(told)} L1: {_hits(flows)}."


def _flow_in_words(flow: Flow) -> str:
    told = (
        _counted(flow.requests, "requests"),
        _counted(flow.units, _UNITS[flow.level]),
        _counted(flow.bytes, "bytes"),
        _of(flow.share, lambda one: f"{_percent(one)} of peak"),
    )
    return f"{flow.kind} {', '.join(filter(None, told)) or UNKNOWN}"


def _caption(found: XRay, flows: Flows) -> str:
    """Where each number is from."""
    told = [f"What threads ask for was {found.counted}."]
    if flows.profiled:
        told.append(f"Hits and misses in L1, and bytes of DRAM: {flows.profiled}, {flows.caches}.")
    else:
        told.append("No record has this launch, so that what is behind L1 is not known.")
    if flows.time_us and flows.peaks:
        by = "as ncu timed it" if flows.timed_by == "ncu" else "by the benchmark of the record"
        told.append(
            f"Shares are of what all multiprocessors read at most ({flows.peaks}), in "
            f"{time_in_words(flows.time_us)}, {by}; those of L1 and shared memory are of the bytes asked for."
        )
    return " ".join(told)
