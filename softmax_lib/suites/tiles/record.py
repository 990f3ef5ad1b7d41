"""What `softmax-lib bench --suite triton` measured: chapter 12's Triton kernels, and others beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from softmax_lib.records.measurement import BesideCopy
from softmax_lib.records.reading import read_fields
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, matching

Part = Literal["settings", "lengths", "sixteen"]
"""What a matrix was measured for: every number of warps and stages; the length of rows; lengths around 1024."""


@dataclass(frozen=True)
class TileTime(BesideCopy):
    """A Triton kernel at one setting, or another softmax, on one float32 matrix, in microseconds.

    `copy_us` is a copy in the same run. `registers`, and `spill_bytes` of memory in place of registers, are a
    thread's, `shared_bytes` a program's, and `programs` fit a multiprocessor at once; these and the setting
    are 0 of others than Triton's kernels.
    """

    part: Part
    rows: int
    cols: int
    who: str
    tile: int
    num_warps: int
    num_stages: int
    us: float
    copy_us: float
    registers: int
    spill_bytes: int
    shared_bytes: int
    programs: int


_SETTING = ("who", "cols", "tile", "num_warps", "num_stages")
_NO_CODE = {"registers": 0, "spill_bytes": 0, "shared_bytes": 0, "programs": 0}


def times_of(run: dict[str, Any]) -> list[TileTime]:
    """Every time of a run, with the machine code that it belongs to."""
    codes = {tuple(code[name] for name in _SETTING): code for code in run["codes"]}

    def code_of(line: dict[str, Any]) -> dict[str, Any]:
        return codes[tuple(line[name] for name in _SETTING)] if line["tile"] else _NO_CODE

    lines = [{**row, **line} for row in run["rows"] for line in row["times"]]
    return [read_fields(TileTime, {**code_of(line), **line}) for line in lines]


_runs = Runs("triton", times_of)


def tile_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[TileTime]:
    """All times of that run whose fields are as `wanted`, the fastest first: `tile_times(cols=1024, who="simple")`.

    Raises `BadInput` where no such run was kept.
    """
    return sorted(matching(_runs.found(gpu), **wanted), key=lambda one: one.us)


def tile_source(gpu: str = DEFAULT_GPU) -> str:
    """Where, when and with what: "one run on NVIDIA H200, 2026-11-24, triton 3.6.0". Raises `BadInput`."""
    software = _runs.newest(gpu)["software"]
    used = [f"{name} {software[name]}" for name in ("torch", "triton") if name in software]
    return ", ".join([_runs.source(gpu), *used])
