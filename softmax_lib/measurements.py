"""Measured numbers: `measure` takes them live on a GPU, and elsewhere replays what was recorded.

A record is book/measurements/<gpu>.json, written by `softmax-lib record`:

    schema      1
    gpu         name, driver, compute_capability, multiprocessors, l2_bytes
    date        YYYY-MM-DD
    software    version of everything that took part, by name
    clocks      as found: what the driver reported before and after
    protocol    how it was timed
    kernels     digest of each kernel when it was measured, by name
    skipped     peers that were not measured, and why
    rows        one timing each: provider, rows, cols, dtype, block_size, l2, median_us, low_us, high_us,
                copy_us (a copy of the same size in the same run), host_us (one eager call) or null
    counters    one ncu profile each: kernel, rows, cols, block_size, and its counters by name
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

from softmax_lib.benchmark import L2, gb_per_s
from softmax_lib.errors import BadInput
from softmax_lib.registry import COPY, kernels

SCHEMA = 1
DEFAULT_GPU = "nvidia-h200"

_HERE = Path(__file__).parent
FOLDER = (
    _HERE / "_measurements"
    if (_HERE / "_measurements").is_dir()
    else _HERE.parent / "book" / "measurements"
)
"""The records: `softmax_lib/_measurements` when installed, `book/measurements` in a checkout."""

_FIELDS = {
    "schema": int, "gpu": dict, "date": str, "software": dict, "clocks": dict, "protocol": dict,
    "kernels": dict, "skipped": dict, "rows": list, "counters": list,
}  # fmt: skip


@dataclass(frozen=True)
class Measurement:
    """Time of one provider (a kernel or a peer) on one (rows, cols) matrix, and where it comes from."""

    provider: str
    rows: int
    cols: int
    dtype: str
    block_size: int | None
    l2: L2
    median_us: float
    low_us: float
    high_us: float
    copy_us: float
    host_us: float | None = None
    source: str = "live"
    stale: bool = False

    @property
    def key(self) -> tuple:
        """What distinguishes this row in a record."""
        return self.provider, self.rows, self.cols, self.dtype, self.block_size, self.l2

    @property
    def gb_per_s(self) -> float:
        """Bandwidth that one read and one write of the matrix make, in 10^9 bytes a second."""
        return gb_per_s(self.rows, self.cols, getattr(torch, self.dtype).itemsize, self.median_us)

    @property
    def copy_share(self) -> float:
        """Speed as a share of a copy of the same size in the same run: 1.0 is the speed of light."""
        return self.copy_us / self.median_us


_ROW_FIELDS = [name for name in Measurement.__dataclass_fields__ if name not in ("source", "stale")]


@dataclass
class Record:
    """All that was measured on one GPU."""

    content: dict[str, Any]
    table: dict[tuple, Measurement] = field(init=False)

    def __post_init__(self) -> None:
        self.table = {row.key: row for row in map(self._measurement, self.content["rows"])}

    @property
    def where(self) -> str:
        """In words, for a caption: "NVIDIA H200, 2026-11-21"."""
        return f"{self.content['gpu']['name']}, {self.content['date']}"

    def is_stale(self, provider: str) -> bool:
        """Whether the kernel of this name has changed since it was measured."""
        known = {**kernels, COPY.name: COPY}
        measured = self.content["kernels"].get(provider)
        return provider in known and measured != known[provider].digest

    def add(self, row: Measurement) -> None:
        """Put in one row, in place of an older one with the same key."""
        self.table[row.key] = row

    def find(
        self, provider: str, rows: int, cols: int, dtype: str, block_size: int | None, l2: L2
    ) -> Measurement:
        """The recorded row. Raises `BadInput`, saying what is there, for a key never recorded."""
        found = self.table.get((provider, rows, cols, dtype, block_size, l2))
        if found is None:
            raise BadInput(self._missing(provider, rows, cols, dtype, block_size, l2))
        return found

    def select(self, **wanted: Any) -> list[Measurement]:
        """Rows whose named fields have these values, in the order they were recorded."""
        return [
            row
            for row in self.table.values()
            if all(getattr(row, name) == value for name, value in wanted.items())
        ]

    def save(self, path: Path) -> None:
        """Write to a temporary file first, so that a failure leaves the old record whole."""
        rows = [{name: asdict(row)[name] for name in _ROW_FIELDS} for row in self.table.values()]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=path.name)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(_dump({**self.content, "rows": rows}))
            os.chmod(unfinished, 0o644)
            os.replace(unfinished, path)
        except OSError as error:
            raise BadInput(f"Cannot write the record {path}: {error.strerror}.") from None

    def _measurement(self, row: dict[str, Any]) -> Measurement:
        return Measurement(
            **row, source=f"recorded on {self.where}", stale=self.is_stale(row["provider"])
        )

    def _missing(
        self, provider: str, rows: int, cols: int, dtype: str, block_size: int | None, l2: L2
    ) -> str:
        threads = "" if block_size is None else f" at {block_size} threads a block"
        asked = f"{provider} on ({rows}, {cols}) {dtype}{threads}, {l2} L2"
        same = {(row.rows, row.cols, row.dtype) for row in self.select(provider=provider)}
        if not same:
            return (
                f"{asked} was never recorded; {self.where} has {', '.join(sorted(self.providers))}."
            )
        if (rows, cols, dtype) in same:
            sizes = {row.block_size for row in self.select(provider=provider, rows=rows, cols=cols)}
            return f"{asked} was never recorded; at this shape there are block sizes {sorted(sizes, key=str)}."
        shapes = ", ".join(f"({r}, {c}) {d}" for r, c, d in sorted(same))
        return f"{asked} was never recorded; there are {shapes}."

    @property
    def providers(self) -> set[str]:
        """Names of all kernels and peers in the record."""
        return {row.provider for row in self.table.values()}


def _dump(content: dict[str, Any]) -> str:
    """JSON with one line a row, so that a diff of two records can be read."""
    lines = []
    for name, value in content.items():
        if isinstance(value, list):
            rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
            lines.append(f'"{name}": [\n{rows}\n]' if value else f'"{name}": []')
        else:
            lines.append(f'"{name}": {json.dumps(value, indent=1)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def load(path: Path) -> Record:
    """Read and validate a record. Raises `BadInput` when it is missing, damaged or of another schema."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"Cannot read the record {path}: {error.strerror}.") from None
    except ValueError as error:
        raise BadInput(f"The record {path} is damaged: {error}.") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        found = content.get("schema") if isinstance(content, dict) else None
        raise BadInput(f"The record {path} has schema {found}; this version reads schema {SCHEMA}.")
    wrong = [name for name, kind in _FIELDS.items() if not isinstance(content.get(name), kind)]
    if wrong:
        raise BadInput(
            f"The record {path} is damaged: {', '.join(wrong)} missing or of the wrong type."
        )
    try:
        return Record(content)
    except (TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"The record {path} is damaged: {error}.") from None


@cache
def recorded(gpu: str = DEFAULT_GPU) -> Record:
    """The record of one GPU, by its file's name: "nvidia-h200"."""
    return load(FOLDER / f"{gpu}.json")


def available() -> tuple[str, ...]:
    """Names of the GPUs that there are records of."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def file_stem(gpu_name: str) -> str:
    """The record's file name for a GPU: nvidia-h200 for "NVIDIA H200"."""
    return "-".join(gpu_name.lower().split())


def measure(
    kernel_or_peer: str,
    rows: int,
    cols: int,
    *,
    dtype: str = "float32",
    block_size: int | None = None,
    l2: L2 = "cold",
) -> Measurement:
    """Time of a kernel or peer on a (rows, cols) matrix: live on a GPU, else as recorded.

    `block_size` defaults to the kernel's own choice; peers have none. The result's `source` says
    which of the two it is. Raises `BadInput` for a key that was never recorded, and what `run`
    raises for a launch that the kernel does not take.
    """
    if kernel_or_peer in kernels:
        block_size = kernels[kernel_or_peer].settle_block_size(block_size, cols)
    if not torch.cuda.is_available():
        return recorded().find(kernel_or_peer, rows, cols, dtype, block_size, l2)
    from softmax_lib.recording import time_shape

    (row,) = time_shape([(kernel_or_peer, block_size)], rows, cols, dtype=dtype, l2=l2)
    return row
