"""`softmax()` and the best peer of each matrix, as shares of a copy's speed."""

from __future__ import annotations

from collections import Counter

from softmax_lib.records.measurement import LABELS, versions_of
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites import look
from softmax_lib.suites.peers.record import Contest, contest_runs, contests, mean_gain


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
    told = "; ".join(_in_words(one) for one in found)
    alt = f"softmax() and the best peer, as shares of a copy's speed: {told}"
    return look.finish(figure, alt, _score(found), *_sources(gpu))


def _short(one: Contest) -> str:
    dtype = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}[one.dtype]
    rows, cols = map(look.short if look.is_narrow() else str, (one.rows, one.cols))
    return f"{rows} × {cols} {dtype}{' grad' * (one.direction == 'backward')}"


def _in_words(one: Contest) -> str:
    peer = "" if one.peer is None else f", {LABELS.get(one.peer, one.peer)} {one.peer_share:.2f}"
    return f"{one} {one.shares[0]:.2f}{peer}"


def _score(found: list[Contest]) -> str:
    count = Counter(one.verdict for one in found if one.gains)
    told = ", ".join(f"{how} on {count[how]}" for how in ("ahead", "level", "behind"))
    return f"{told}; in geometric mean {mean_gain(found):.2f} times as fast as the best peer"


def _sources(gpu: str) -> tuple[str, str]:
    runs = contest_runs(gpu)
    first = runs[0]
    dates = ", ".join(dict.fromkeys(run["date"] for run in runs))
    peers = {name for row in first["rows"] for name in row["peers"]}
    many = f"{len(runs)} runs" if len(runs) > 1 else "one run"
    return f"{many} on {first['gpu']['name']}, {dates}", versions_of(peers, first["software"])
