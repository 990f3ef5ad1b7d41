"""Figures of what was measured, drawn by matplotlib; each says where its numbers come from.

Every function here but `over_records`, which shows what they draw for every GPU with a record,
returns a `Figure`: a matplotlib figure with a text alternative in `.alt`, which shows itself in a
notebook and is drawn the same, byte for byte, each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from softmax_lib.records.shelf import readable
from softmax_lib.show.figures.clusters import time_by_cluster
from softmax_lib.show.figures.lies import lie
from softmax_lib.show.figures.look import Figure
from softmax_lib.show.figures.sharded import sharded_by_ranks
from softmax_lib.show.figures.suites import (
    beside_peers,
    conform,
    in_a_model,
    reads_and_writes,
    rmsnorm_roof,
    tiles_by_cols,
)
from softmax_lib.show.figures.times import bandwidth_by_cols, gains, ladder, time_by_rows
from softmax_lib.show.figures.topk import fused_topk, topk_by_k
from softmax_lib.show.figures.traffic import bytes_in_flight, traffic_ledger
from softmax_lib.show.figures.unroll import time_by_bytes_asked, unroll_map
from softmax_lib.show.figures.warps import lanes_map, plane_of_kernels, time_by_blocks
from softmax_lib.suites.kept import gpus_with_runs
from softmax_lib.widgets.views import View, view
from softmax_lib.worklog.errors import SoftmaxLibError

if TYPE_CHECKING:
    from softmax_lib.widgets.explorers import Explorer

__all__ = [
    "Figure", "bandwidth_by_cols", "beside_peers", "bytes_in_flight", "conform", "fused_topk", "gains", "in_a_model", "ladder",
    "lanes_map", "lie", "over_records", "plane_of_kernels", "reads_and_writes", "rmsnorm_roof", "sharded_by_ranks", "tiles_by_cols",
    "time_by_blocks", "time_by_bytes_asked", "time_by_cluster", "time_by_rows", "topk_by_k", "traffic_ledger", "unroll_map",
]  # fmt: skip


def over_records(
    draw: Callable[..., Any],
    *,
    axes: Mapping[str, Sequence[Any]] = MappingProxyType({}),
    start: Sequence[Any] | None = None,
    runs: str | None = None,
    **wanted: Any,
) -> View | Explorer:
    """`draw(gpu=..., **wanted)` for each GPU with a record, and a slider over them where there are several.

    `draw` gives what `views.view` takes: `over_records(gains, names={"naive": "", "online": ""})`. Each of `axes`,
    {argument of `draw`: options}, is a slider more, at first at the option in `start`. With `runs` the
    GPUs on which that suite of `softmax-lib bench` was kept are there too. Where `draw` raises one of
    this package's errors, its sentence stands alone: a view of another GPU would mislead.
    Raises `BadInput` when the book's own record cannot be read, for an axis without options, and for
    a `start` that is none of them.
    """
    books, *others = readable()
    timed = gpus_with_runs(runs) if runs else []
    gpus = [books, *sorted({*others, *timed} - {books})]

    def show(gpu: str, *options: Any) -> Any:
        try:
            return draw(gpu=gpu, **dict(zip(axes, options, strict=True)), **wanted)
        except SoftmaxLibError as error:
            return View("", "").with_note(str(error))

    if len(gpus) == 1 and not axes:
        return view(show(gpus[0]))
    # loads ipywidgets, which a view alone can do without
    from softmax_lib.widgets.explorers import explorer

    first = [options[0] for options in axes.values() if options] if start is None else start
    return explorer({"GPU": gpus, **axes}, show, start=[gpus[0], *first])
