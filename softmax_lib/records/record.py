"""A record: all that was measured on one GPU, read from and written to book/measurements/<gpu>.json.

schema      1
gpu         name, compute_capability, multiprocessors, l2_bytes, driver
date        YYYY-MM-DD
software    version of everything that took part, by name
clocks      as found: what the driver reported before and after
protocol    how it was timed
kernels     digest of each kernel when it was measured, by name
skipped     what was not measured, and why
rows        one timing each: provider, rows, cols, dtype, block_size, l2, median_us, low_us, high_us,
            copy_us (a copy of the same size in the same run), host_us (one eager call) or null
counters    one ncu profile each: kernel, rows, cols, block_size, and its counters by name
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from softmax_lib.bench.timing import L2, gb_per_s
from softmax_lib.errors import BadInput
from softmax_lib.records.schema import SCHEMA, find_fault
from softmax_lib.registry import COPY, Kernel, kernels


@dataclass(frozen=True)
class Measurement:
    """Time of one provider (a kernel or a peer) on one (rows, cols) matrix, and where it comes from.

    `source` says in words whether it is live or recorded, on which GPU and when; `stale` that the
    kernel has changed since.
    """

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
    def is_live(self) -> bool:
        """Whether it was taken here and now."""
        return self.source.startswith("live")

    @property
    def gb_per_s(self) -> float:
        """Bandwidth that one read and one write of the matrix make, in 10^9 bytes a second."""
        return gb_per_s(self.rows, self.cols, getattr(torch, self.dtype).itemsize, self.median_us)

    @property
    def copy_share(self) -> float:
        """Speed as a share of a copy of the same size in the same run: 1.0 is the speed of light."""
        return self.copy_us / self.median_us

    @property
    def copy_gb_per_s(self) -> float:
        """Bandwidth of that copy, in 10^9 bytes a second."""
        return self.gb_per_s / self.copy_share


_ROW_FIELDS = [name for name in Measurement.__dataclass_fields__ if name not in ("source", "stale")]


@dataclass
class Record:
    """All that was measured on one GPU."""

    content: dict[str, Any]
    table: dict[tuple, Measurement] = field(init=False)

    def __post_init__(self) -> None:
        self.table = {row.key: row for row in map(self._measurement, self.content["rows"])}

    @property
    def gpu(self) -> str:
        """The GPU's name: "NVIDIA H200"."""
        return self.content["gpu"]["name"]

    @property
    def where(self) -> str:
        """In words, for a caption: "NVIDIA H200, 2026-11-21"."""
        return f"{self.gpu}, {self.content['date']}"

    @property
    def providers(self) -> set[str]:
        """Names of all kernels and peers in the record."""
        return {row.provider for row in self.table.values()}

    @property
    def counters(self) -> list[dict[str, Any]]:
        """The ncu profiles: kernel, rows, cols, block_size and a number for each counter."""
        return self.content["counters"]

    def is_stale(self, provider: str) -> bool:
        """Whether the kernel of this name has changed since it was measured."""
        known: dict[str, Kernel] = {**kernels, COPY.name: COPY}
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

    def times(
        self, rows: int, cols: int, dtype: str = "float32", l2: L2 = "cold"
    ) -> dict[str, Measurement]:
        """Who was timed on this shape, by name: kernels at the block size they choose, then peers."""
        found = {
            row.provider: row
            for row in self.select(rows=rows, cols=cols, dtype=dtype, l2=l2)
            if row.block_size is None
            or row.block_size == kernels[row.provider].choose_block_size(cols)
        }
        in_order = [name for name in kernels if name in found]
        in_order += [name for name in found if name not in kernels]
        return {name: found[name] for name in in_order}

    def save(self, path: Path) -> None:
        """Write to a temporary file first, so that a failure leaves the old record whole.

        Raises `BadInput` when it cannot be written.
        """
        rows = [{name: getattr(row, name) for name in _ROW_FIELDS} for row in self.table.values()]
        text = _dump({**self.content, "rows": rows})
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, text)
        except OSError as error:
            raise BadInput(f"Cannot write the record {path}: {error.strerror}.") from None

    def _measurement(self, row: dict[str, Any]) -> Measurement:
        stale = self.is_stale(row["provider"])
        changed = ", before this kernel changed" if stale else ""
        return Measurement(**row, source=f"recorded on {self.where}{changed}", stale=stale)

    def _missing(
        self, provider: str, rows: int, cols: int, dtype: str, block_size: int | None, l2: L2
    ) -> str:
        threads = "" if block_size is None else f" at {block_size} threads a block"
        asked = f"{provider} on ({rows}, {cols}) {dtype}{threads}, {l2} L2"
        there = self.select(provider=provider)
        if not there:
            found = ", ".join(sorted(self.providers)) or "nothing"
            return f"{asked} was never recorded; {self.where} has {found}."
        same = [r for r in there if (r.rows, r.cols, r.dtype, r.l2) == (rows, cols, dtype, l2)]
        if same:
            sizes = ", ".join(str(row.block_size) for row in same)
            return f"{asked} was never recorded; at this shape there are block sizes {sizes}."
        shapes = dict.fromkeys(f"({r.rows}, {r.cols}) {r.dtype} {r.l2}" for r in there)
        return f"{asked} was never recorded; there are {', '.join(shapes)}."


def _replace(path: Path, text: str) -> None:
    """Write `text` beside `path` and rename it; whatever stops this leaves only `path` behind."""
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


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
    found = content.get("schema") if isinstance(content, dict) else None
    if found != SCHEMA:
        raise BadInput(
            f"The record {path} has schema {found!r}; this version reads schema {SCHEMA}."
        )
    fault = find_fault(content)
    if fault:
        raise BadInput(f"The record {path} is damaged: {fault}.")
    return Record(content)
