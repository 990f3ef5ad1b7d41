"""What `softmax-lib bench --suite unroll` measured: chapter 09's kernel at every setting of its macros and block size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmax_lib.records.reading import read_fields
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, matching


@dataclass(frozen=True)
class UnrollTime:
    """A kernel at one setting on one matrix, in microseconds; a copy, and others by name, in the same run.

    `registers`, and `spill_bytes` of memory in place of registers, are a thread's; `asked_bytes` is what it
    asks for before it waits, on average over the loops that read; `blocks` fit a multiprocessor at once.
    """

    kernel: str
    block_size: int
    unroll: int
    in_flight: int
    rows: int
    cols: int
    us: float
    copy_us: float
    others: dict[str, float]
    registers: int
    spill_bytes: int
    asked_bytes: float
    instructions: float
    blocks: int


_SETTING = ("kernel", "block_size", "unroll", "in_flight")


def times_of(run: dict[str, Any]) -> list[UnrollTime]:
    """Every time of a run, with the machine code that it belongs to."""
    codes = {tuple(code[name] for name in _SETTING): code for code in run["codes"]}
    return [
        read_fields(UnrollTime, {**row, **codes[tuple(line[name] for name in _SETTING)], **line})
        for row in run["rows"]
        for line in row["times"]
    ]


_runs = Runs("unroll", times_of, of_gpu={"multiprocessors": int})
unroll_run = _runs.newest


def unroll_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[UnrollTime]:
    """All times of that run whose fields are as `wanted`, the fastest first: `unroll_times(rows=128, unroll=1)`.

    Raises `BadInput` where no such run was kept.
    """
    return sorted(matching(_runs.found(gpu), **wanted), key=lambda one: one.us)
