"""What the site shows a reader's record beside: the book's times, and the rules by which a record is read."""

from __future__ import annotations

from typing import Any

from softmax_lib.records.measurement import LABELS, PEERS, TIE, Measurement
from softmax_lib.records.record import Record
from softmax_lib.records.schema import rules
from softmax_lib.worklog.registry import rungs

FIELDS = ("provider", "rows", "cols", "block_size", "median_us", "copy_us")
_AS_RECORDED = ("gpu", "software", "protocol", "date", "kernels")


def page_data(record: Record) -> dict[str, Any]:
    """Times of whole kernels on float32 noise, L2 cold, as columns of `fields`, and what reading another record needs.

    Beside the times stand the rungs' hardware counters and what tells how the GPU was recorded.
    """
    content = record.content
    names = [kernel.name for kernel in rungs()]
    return {
        "rules": rules(),
        "rungs": names,
        "tie": TIE,
        "peers": {name: LABELS.get(name, name) for name in PEERS},
        "book": {
            **{name: content[name] for name in _AS_RECORDED},
            "counters": [entry for entry in content["counters"] if entry["kernel"] in names],
            "fields": FIELDS,
            "rows": [_columns(timing) for timing in record.select(dtype="float32", l2="cold")],
        },
    }


def _columns(timing: Measurement) -> list[Any]:
    case, times_us = timing.case, (timing.median_us, timing.copy_us)
    facts = [case.provider, case.rows, case.cols, case.block_size]
    return facts + [float(f"{time_us:.5g}") for time_us in times_us]  # more than a picture shows
