"""Suites of `softmax-lib bench` that are a picture each: peers, who answers as torch does, a model, Triton's kernels, RMSNorm, reads and writes in time."""

from __future__ import annotations

from collections import Counter
from itertools import product
from statistics import mean
from typing import Any

from matplotlib.axes import Axes

from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.records.measurement import ITEM_BYTES, LABELS, gb_per_s, versions_of
from softmax_lib.records.shelf import DEFAULT_GPU, file_stem
from softmax_lib.show.figures import look
from softmax_lib.suites.conform.record import VERDICTS, conform_rows, conform_source, tally
from softmax_lib.suites.kept import required, source_of
from softmax_lib.suites.model.record import COMPILED, ONE_PASS, OURS, THEIRS, Text, model_run, texts
from softmax_lib.suites.peers.record import (
    Contest,
    contest_runs,
    contests,
    mean_gain,
    where_it_is_hard,
)
from softmax_lib.suites.phases.record import Phases, phases
from softmax_lib.suites.rmsnorm.record import rmsnorm_times
from softmax_lib.suites.times import TileTime, tile_source, tile_times
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.tiles import seeds_warps


@look.drawn
def beside_peers(*, gpu: str = DEFAULT_GPU) -> look.Figure:
    """A line for each matrix of `softmax-lib bench`: `softmax()`, the best peer, and a copy on the right.

    A note counts where `softmax()` is ahead by more than one per cent in every run, behind by more, or
    level. Raises `BadInput` where that was never run on this GPU.
    """
    found = contests(gpu)
    figure, axes = look.start("softmax() and the best peer of each matrix", 1.2 + 0.2 * len(found))
    looks = (("softmax()", look.BLUE, False), ("softmax(), behind", look.VERMILION, True))
    for label, color, behind in looks:
        some = {at: one for at, one in enumerate(found) if (one.verdict == "behind") == behind}
        if some:
            ours = [one.shares[0] for one in some.values()]
            axes.plot(ours, list(some), "D", color=color, label=label)
    raced = {at: one for at, one in enumerate(found) if one.peer_share is not None}
    peers = [one.peer_share or 0 for one in raced.values()]
    # a ring around our mark where both are at one place
    ring = {"color": look.GREY, "markerfacecolor": "none", "markersize": 9, "zorder": 3}
    axes.plot(peers, list(raced), "o", **ring, label="the best peer")
    axes.hlines(list(raced), peers, [one.shares[0] for one in raced.values()], look.GREY, alpha=0.5)
    axes.axvline(1, color=look.GREY, linestyle=":", label="a copy")
    look.list_on_y(axes, [_short(one) for one in found], 0.4, fontsize=9.5)
    axes.set(xlabel="share of a copy's speed", xlim=(0, 1.12))
    told = "; ".join(_race_in_words(one) for one in found)
    alt = f"softmax() and the best peer, as shares of a copy's speed: {told}"
    return look.finish(figure, alt, _score(found), *_sources(gpu))


def _short(one: Contest) -> str:
    dtype = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}[one.dtype]
    size = one.size(look.short if look.is_narrow() else str)
    size = size.replace(" × ", "×") if len(one.shape) > 2 else size
    return f"{size} {dtype}{' grad' * (one.direction == 'backward')}"


def _race_in_words(one: Contest) -> str:
    peer = "" if one.peer is None else f", {LABELS.get(one.peer, one.peer)} {one.peer_share:.2f}"
    return f"{one} {one.shares[0]:.2f}{peer}"


def _score(found: list[Contest]) -> str:
    count = Counter(one.verdict for one in found if one.gains)
    told = ", ".join(f"{how} on {count[how]}" for how in ("ahead", "level", "behind"))
    mean = f"{mean_gain(found):.2f} times as fast as the best peer{where_it_is_hard(found)}"
    return f"{told}; in geometric mean {mean}"


def _sources(gpu: str) -> tuple[str, str]:
    runs = contest_runs(gpu)
    first = runs[0]
    dates = ", ".join(dict.fromkeys(run["date"] for run in runs))
    peers = {name for row in first["rows"] for name in row["peers"]}
    many = f"{len(runs)} runs" if len(runs) > 1 else "one run"
    return f"{many} on {first['gpu']['name']}, {dates}", versions_of(peers, first["software"])


_MODELS: dict[str, dict[str, Any]] = {
    OURS: {"label": "with patch_torch()", "marker": "D", "color": look.BLUE},
    ONE_PASS: {"label": "and scores in one pass", "marker": "s", "color": look.GREEN},
    COMPILED: {"label": "torch.compile", "marker": "o", "color": look.GREY, "markerfacecolor": "white"},
}  # fmt: skip


@look.drawn
def in_a_model(*, gpu: str = DEFAULT_GPU) -> look.Figure:
    """A line for each text that `softmax-lib bench --suite model` reads: its tokens per second over torch's.

    Raises `BadInput` where that was never run on this GPU.
    """
    found, run = texts(gpu), model_run(gpu)
    model = run["model"]
    title = f"A transformer of {model['layers']} layers and {model['vocabulary']} words"
    figure, axes = look.start(title, 1.6 + 0.5 * len(found))
    for name, style in _MODELS.items():
        at = [i for i, text in enumerate(found) if name in text.gain]
        axes.plot([found[i].gain[name] for i in at], at, linestyle="", **style)
    axes.axvline(1, color=look.GREY, linestyle=":", label="torch as it is")
    look.list_on_y(axes, [f"{text}\n{text.tokens_per_s[THEIRS]:,} / s" for text in found])
    axes.set(xlabel="tokens per second, times torch's")
    axes.set_xlim(left=0)
    told = "; ".join(_text_in_words(text) for text in found)
    alt = f"{title}, tokens per second over torch's: {told}"
    return look.finish(figure, alt, source_of(run), versions_of({THEIRS}, run["software"]))


def _text_in_words(text: Text) -> str:
    gains = ", ".join(f"{_MODELS[name]['label']} {gain:.2f}" for name, gain in text.gain.items())
    return f"{text} {gains}"


_TICKS = tuple(2**power for power in range(8, 16))
_TILE_LOOKS: dict[str, dict[str, Any]] = {
    "a copy": {"color": look.GREY, "linestyle": ":"},
    "simple": {"color": look.BLUE, "marker": "v"},
    "persistent": {"color": look.GREEN, "marker": "s"},
    "torch": {
        "color": look.VERMILION, "marker": "o", "markerfacecolor": "white", "linestyle": "--",
    },
    "fusion": {"color": look.ORANGE, "marker": "^"},
    "softmax()": {"color": look.INK, "marker": "D"},
}  # fmt: skip


def _by_the_source(found: list[TileTime]) -> list[TileTime]:
    """Of several settings of `simple` on a matrix the one by the source's rule; of the others' the fastest."""
    kept: dict[tuple[str, int], TileTime] = {}
    for one in sorted(found, key=lambda one: one.us):
        if one.who != "simple" or one.num_warps == seeds_warps(one.tile):
            kept.setdefault((one.who, one.cols), one)
    return list(kept.values())


@look.drawn
def tiles_by_cols(*, gpu: str = DEFAULT_GPU) -> look.Figure:
    """GB/s against the length of rows: `simple` by the source's rule, `persistent` at its better number of stages.

    Beside them torch, `fusion`, `softmax()` and a copy. Raises `BadInput` for what was never measured.
    """
    missing = "The kernels of chapter 12 were not timed by the length of rows."
    found = required(tile_times(gpu, part="lengths"), missing)
    rows = found[0].rows
    title = f"GB/s by columns, {rows} rows"
    figure, axes = look.start(title, 4.2)
    copies = {one.cols: one.copy_us for one in found}
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in _TILE_LOOKS}
    for cols, us in sorted(copies.items()):
        lines["a copy"].append((cols, gb_per_s(rows * cols * ITEM_BYTES["float32"], us)))
    for one in sorted(_by_the_source(found), key=lambda one: one.cols):
        if one.who in lines:
            lines[one.who].append((one.cols, one.gb_per_s))
    told = look.plot(axes, lines, _TILE_LOOKS, "{}: {:.0f}")
    look.powers_of_two(axes, [tick for tick in _TICKS if min(copies) <= tick <= max(copies)])
    axes.set(xlabel="columns", ylabel="GB/s", ylim=(0, None))
    return look.finish(figure, f"{title}: {told}", tile_source(gpu))


_VERDICTS = {
    "holds": (look.GREEN, "✓"), "refused": (look.SKY, "r"), "wrong": (look.VERMILION, "w"), "raised": (look.ORANGE, "e"),
    "killed": (look.PURPLE, "k"),
}  # fmt: skip


@look.drawn
def conform(*, gpu: str = DEFAULT_GPU) -> look.Figure:
    """A field for each kind of ask and each softmax: how many of `softmax-lib conform`'s asks don't hold, and the worst of them.

    Raises `BadInput` where that was never run on this GPU.
    """
    found, is_narrow = tally(conform_rows(gpu)), look.is_narrow()
    names, kinds = [*found], [*dict.fromkeys(kind for of in found.values() for kind in of)]
    across, down = (kinds, names) if is_narrow else (names, kinds)
    figure, axes = look.start("Who answers as torch's softmax does", 2.4 + 0.32 * len(down))
    for name, kind in product(names, kinds):
        if of := found[name].get(kind):
            x, y = (one.index(name if name in one else kind) for one in (across, down))
            color, sign = [_VERDICTS[verdict] for verdict in VERDICTS if of[verdict]][-1]
            others = "" if is_narrow else of.total() - of["holds"] or ""
            axes.text(x, y, f"{others}{sign}", ha="center", va="center", fontsize=9.5)
            look.fields(axes, [(x, y)], color, 0.4)
    axes.grid(visible=False)
    axes.xaxis.tick_top()
    axes.set_xlim(-0.5, len(across) - 0.5)
    labels = [LABELS.get(one, one) for one in across]
    axes.set_xticks(range(len(across)), labels, rotation=90, fontsize=9.5)
    look.list_on_y(axes, [LABELS.get(one, one) for one in down], fontsize=9.5)
    told = "; ".join(
        f"{LABELS.get(name, name)}: "
        + ", ".join(f"{kind} {one['holds']} of {one.total()}" for kind, one in of.items())
        for name, of in found.items()
    )
    how = (
        f"✓ where all hold; else {'' if is_narrow else 'how many do not, and '}the worst of them: r refused in words, "
        "w wrong, e raised something else, k killed its process"
    )
    return look.finish(figure, f"Asks that hold: {told}", how, conform_source(gpu))


FLOP = 4
"""Of an element: a square, a sum, and two products."""

_OURS = {
    "naive": (look.VERMILION, "o"), "shuffle": (look.ORANGE, "s"), "float4": (look.SKY, "^"), "fused": (look.BLUE, "D"),
    "fused_bf16": (look.BLUE, "D"),
}  # fmt: skip
_OTHERS = {
    "torch": (look.INK, "v"),
    "torch.compile": (look.GREY, "P"),
    "Liger": (look.GREEN, "X"),
    "QuACK": (look.PURPLE, "p"),
}
"""Colour and marker; those of others are hollow."""


@look.drawn
def rmsnorm_roof(
    cols: int = 4096, dtype: str = "float32", *, gpu: str = DEFAULT_GPU
) -> look.Figure:
    """Every kernel and peer of the RMSNorm page on rows of `cols`: its FLOP a second, over the FLOP per byte of the operator.

    Raises `BadInput` where nothing was measured, and for a GPU whose peak nobody has stated here.
    """
    missing = f"RMSNorm was not measured on {gpu} on rows of {cols}, {dtype}."
    found = required(rmsnorm_times(gpu, cols=cols, dtype=dtype), missing)
    if file_stem(gpu) not in FLOAT32_PEAKS:
        raise BadInput(f"No peak of float32 is known of {gpu}; `FLOAT32_PEAKS` has those that are.")
    first = found[0]
    figure, axes = look.start("RMSNorm below its roof", 3.4)
    bytes_per_s, flops = first.bytes / first.copy_us * 1e6, FLOAT32_PEAKS[file_stem(gpu)]
    corner = flops / bytes_per_s
    roof = [(x, min(x * bytes_per_s, flops) / 1e12) for x in (0.1, corner, 10 * corner)]
    axes.plot(*zip(*roof, strict=True), color=look.INK, label="_roof")
    points, looks = {}, {}
    for one in found:
        flop = FLOP * one.rows * one.cols
        points[one.name] = [(flop / one.bytes, flop / one.us / 1e6)]
        color, marker = {**_OURS, **_OTHERS}[one.name]
        looks[one.name] = {"color": color, "marker": marker, "linestyle": ""}
        looks[one.name]["markerfacecolor"] = color if one.name in _OURS else "white"
    told = look.plot(axes, points, looks, "{1:.2f} TFLOP/s")
    look.logarithmic(axes, "x")
    look.logarithmic(axes, "y")
    axes.set(xlabel="FLOP per byte", ylabel="TFLOP/s")
    shape = f"{first.rows:,} × {cols:,}, {dtype}"
    return look.finish(
        figure, f"{shape}: {told}", f"the roof is a copy's speed; {shape}", first.source
    )


_TITLES = {"fusion": "fusion", "copy": "a copy"}


@look.drawn
def reads_and_writes(gpu: str = DEFAULT_GPU) -> look.Figure:
    """TB/s that `fusion` and a copy read and write in each microsecond of a launch, as their warps noted it.

    Raises `BadInput` where that was not measured.
    """
    found = phases(gpu)
    title = "What is read and written, microsecond by microsecond"
    figure, panels = look.start(title, 4.4, len(_TITLES), sharey=True)
    for axes, (name, words) in zip(panels, _TITLES.items(), strict=True):
        _draw_phases(axes, found[name])
        axes.set(ylabel="TB/s")
        axes.annotate(words, (0.99, 0.92), xycoords="axes fraction", ha="right", fontweight="bold")
    panels[-1].set(xlabel="µs since the first block began")
    told = "; ".join(f"{_TITLES[name]}: {_phases_in_words(found[name])}" for name in _TITLES)
    costs = ", ".join(
        f"{one.noted_us / one.plain_us - 1:.0%} of {name}" for name, one in found.items()
    )
    how = f"bytes count once a warp has all of them; to note the time took {costs} more"
    return look.finish(figure, told, found["fusion"].source, how)


def _draw_phases(axes: Axes, one: Phases) -> None:
    at = range(len(one.read_bytes) + 1)
    parts = (
        ("read", one.read_bytes, look.BLUE, "-"),
        ("written", one.written_bytes, look.VERMILION, "--"),
    )
    for label, moved, color, dashes in parts:
        values = [count / 1e6 for count in moved]
        style: dict[str, Any] = {"edgecolor": color, "linestyle": dashes, "linewidth": 1.6}
        axes.stairs(values, at, fill=True, facecolor=(color, 0.15), label=label, **style)


def _phases_in_words(one: Phases) -> str:
    """Means of five microseconds each."""
    read, written = (
        [mean(moved[i : i + 5]) / 1e6 for i in range(0, len(moved), 5)]
        for moved in (one.read_bytes, one.written_bytes)
    )
    told = ", ".join(f"{into:.1f} and {out:.1f}" for into, out in zip(read, written, strict=True))
    return f"in each 5 µs, TB/s read and written {told}"
