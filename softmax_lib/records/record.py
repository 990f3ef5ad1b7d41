"""A record: all that was measured on one GPU, read from and written to book/measurements/<gpu>.json.

schema      2
gpu         name, compute_capability, multiprocessors, l2_bytes, memory_bytes, driver
date        YYYY-MM-DD
software    version of everything that took part, by name
clocks      as found: what the driver reported before and after
notes       what else was going on: other work on the GPU, a lowered clock
protocol    how it was timed
kernels     digest of each kernel and probe when it was measured, by name
skipped     what was not measured, and why
rows        one timing each: provider, rows, cols, dtype, block_size, l2, data, step, median_us, low_us,
            high_us, copy_us (a copy of the same size in the same run), host_us (one eager call) or null
counters    one ncu profile each: kernel, rows, cols, block_size, and its counters by name
probes      what was found of the GPU itself, one each: name, at (its settings), found (values by unit)
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from softmax_lib.records.measurement import (
    ITEM_BYTES,
    L2,
    Case,
    Measurement,
    Probe,
    Profile,
    versions_of,
)
from softmax_lib.records.reading import read_json
from softmax_lib.records.schema import LONGEST_WORD, SCHEMA, find_fault
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.files import write_json
from softmax_lib.worklog.registry import kernels, with_copy

_CASE_FIELDS = [field.name for field in fields(Case)]
_TIMES = ("median_us", "low_us", "high_us", "copy_us", "host_us")
_PROFILED = {"kernel": "provider", "rows": "rows", "cols": "cols", "block_size": "block_size"}
"""What a row of times has beside its case, and what a row of counters calls the fields of its case."""

Skipped = dict[Case | str, str]
"""Why something was not measured: a case (at any block size, its L2 cold), or a whole peer or tool."""

_SIZE = r"([1-9]\d{0,9})"
_SKIPPED = re.compile(rf"(.+) \({_SIZE}, {_SIZE}\) ({'|'.join(ITEM_BYTES)})")


@dataclass
class Record:
    """All that was measured on one GPU.

    `content` is what the file holds; in `timings`, `profiles`, `probes` and `skipped` it is read.
    """

    content: dict[str, Any]
    timings: dict[Case, Measurement] = field(init=False)
    profiles: list[Profile] = field(init=False)
    probes: list[Probe] = field(init=False)
    skipped: Skipped = field(init=False)

    def __post_init__(self) -> None:
        read = map(self._timing, self.content["rows"])
        self.timings = {timing.case: timing for timing in read}
        self.profiles = [
            Profile(
                Case(**{field: entry[name] for name, field in _PROFILED.items()}),
                {name: count for name, count in entry.items() if name not in _PROFILED},
            )
            for entry in self.content["counters"]
        ]
        self.probes = [Probe(**entry) for entry in self.content["probes"]]
        self.skipped = read_skipped(self.content["skipped"])

    # ---- where it comes from

    @property
    def gpu(self) -> str:
        """The GPU's name: "NVIDIA H200"."""
        return self.content["gpu"]["name"][:LONGEST_WORD]

    @property
    def multiprocessors(self) -> int:
        """How many multiprocessors that GPU has."""
        return self.content["gpu"]["multiprocessors"]

    @property
    def l2_bytes(self) -> int:
        """Bytes of its L2 cache."""
        return self.content["gpu"]["l2_bytes"]

    @property
    def clock_mhz(self) -> float:
        """Clock of its multiprocessors as the driver reported it when all was measured, in MHz.

        Raises `BadInput` where the driver did not say.
        """
        told = self.content["clocks"].get("after", {}).get("clocks.sm", "")
        match = re.fullmatch(r"(\d+) MHz", told)
        if match is None:
            raise BadInput(f"The record of {self.where} does not have the clock of the GPU.")
        return float(match[1])

    @property
    def where(self) -> str:
        """In words, for a caption: "NVIDIA H200, 2026-11-21"."""
        return f"{self.gpu}, {self.content['date'][:LONGEST_WORD]}"

    def versions(self, providers: Iterable[str]) -> str:
        """As `versions_of` tells them."""
        return versions_of(providers, self.content["software"])

    def is_stale(self, provider: str) -> bool:
        """Whether the kernel of this name has changed since it was measured."""
        measured = self.content["kernels"].get(provider)
        return provider in with_copy and measured != with_copy[provider].digest

    def unmeasured(self, names: Iterable[str]) -> list[str]:
        """Those of these kernels that no time in the record is of, and that no suite of their own times."""
        lacking = (name for name in names if name in kernels and name not in self.providers)
        return [name for name in lacking if not kernels[name].suite]

    def waiting(self) -> dict[str, list[str]]:
        """What a GPU has yet to measure, by why: kernels without a time here, and those that have changed since."""
        changed = [name for name in kernels if name in self.providers and self.is_stale(name)]
        told = {
            f"not yet measured on {self.gpu}": self.unmeasured(kernels),
            f"changed since they were measured on {self.gpu}": changed,
        }
        return {what: names for what, names in told.items() if names}

    # ---- what was measured

    @property
    def providers(self) -> set[str]:
        """Names of all kernels and peers in the record."""
        return {case.provider for case in self.timings}

    def add(self, timing: Measurement) -> None:
        """Put in one timing, in place of an older one of the same case."""
        self.timings[timing.case] = timing
        self.__dict__.pop("_best", None)

    @cached_property
    def _best(self) -> dict[Case, Measurement]:
        """The fastest timing of each case, whatever its block size."""
        best: dict[Case, Measurement] = {}
        for case, timing in self.timings.items():
            any_size = replace(case, block_size=None)
            if any_size not in best or timing.median_us < best[any_size].median_us:
                best[any_size] = timing
        return best

    def profiles_on(self, rows: int, cols: int) -> dict[str, Profile]:
        """The hardware counters of each kernel that was profiled on this shape, by name.

        Of several block sizes the one that the kernel chooses itself, which was profiled first.
        Raises `BadInput`, saying what is there, when there are none.
        """
        found: dict[str, Profile] = {}
        for profile in self.profiles:
            if profile.case.shape == (rows, cols):
                found.setdefault(profile.case.provider, profile)
        if not found:
            shapes = sorted({profile.case.shape for profile in self.profiles})
            raise BadInput(
                f"ncu profiled nothing on ({rows}, {cols}) on {self.where}; it did on "
                f"{', '.join(map(str, shapes)) or 'no shape'}."
            )
        return found

    def profile(self, name: str, rows: int, cols: int, block_size: int | None = None) -> Profile:
        """The hardware counters of a kernel on this shape, at its own block size unless told which.

        Raises `BadInput` when there are none.
        """
        for profile in self.profiles:
            case = profile.case
            is_it = (case.provider, case.shape) == (name, (rows, cols))
            if is_it and block_size in (None, case.block_size):
                return profile
        raise BadInput(f"{name} was not profiled on ({rows}, {cols}) on {self.where}.")

    def probed(self, name: str, **at: int) -> list[Probe]:
        """What the probe of this name found where its settings have these values."""
        return [
            probe
            for probe in self.probes
            if probe.name == name and all(probe.at.get(key) == at[key] for key in at)
        ]

    def has(self, case: Case) -> bool:
        """Whether `find` would find it."""
        return case in self.timings or case in self._best

    def find(self, case: Case) -> Measurement:
        """The recorded time, for a kernel without a block size at its best one.

        Raises `BadInput`, saying what is there, for a case never recorded.
        """
        found = self.timings.get(case) or self._best.get(case)
        if found is None:
            raise BadInput(self._missing(case))
        return found

    def select(self, **wanted: Any) -> list[Measurement]:
        """Timings of the cases whose named fields have these values, in the order of recording.

        Unless asked for otherwise they are of normal noise and of whole kernels.
        """
        wanted = {"data": "normal", "step": "", **wanted}
        return [
            timing
            for case, timing in self.timings.items()
            if all(getattr(case, name) == value for name, value in wanted.items())
        ]

    def times(
        self, rows: int, cols: int, dtype: str = "float32", l2: L2 = "cold"
    ) -> dict[str, Measurement]:
        """Who was timed on this shape, by name: kernels at their best block size, then peers."""
        on_shape = self.select(rows=rows, cols=cols, dtype=dtype, l2=l2)
        found = {
            timing.case.provider: self._best[replace(timing.case, block_size=None)]
            for timing in on_shape
        }
        in_order = [name for name in kernels if name in found]
        in_order += [name for name in found if name not in kernels]
        return {name: found[name] for name in in_order}

    # ---- the file

    def save(self, path: Path) -> None:
        """Write the file whole, or leave the old one. Raises `BadInput` when it cannot be written."""
        content = {
            **self.content,
            "skipped": write_skipped(self.skipped),
            "rows": [
                asdict(case) | {name: getattr(timing, name) for name in _TIMES}
                for case, timing in self.timings.items()
            ],
            "counters": [
                {name: getattr(one.case, field) for name, field in _PROFILED.items()} | one.counters
                for one in self.profiles
            ],
            "probes": [asdict(probe) for probe in self.probes],
        }
        write(path, content)

    def _timing(self, row: dict[str, Any]) -> Measurement:
        case = Case(**{name: row[name] for name in _CASE_FIELDS})
        times = {name: row[name] for name in _TIMES}
        stale = self.is_stale(case.provider)
        changed = ", before this kernel changed" if stale else ""
        return Measurement(case, **times, source=f"recorded on {self.where}{changed}", stale=stale)

    def _missing(self, case: Case) -> str:
        if self.unmeasured([case.provider]):
            return (
                f"{case.provider} was not yet measured on {self.where}; "
                "`softmax-lib record` on such a GPU does it."
            )
        there = [timing.case for timing in self.select(provider=case.provider)]
        if not there:
            found = ", ".join(sorted(self.providers)) or "nothing"
            return f"{case} was never recorded; {self.where} has {found}."
        same = [c for c in there if (c.shape, c.dtype, c.l2) == (case.shape, case.dtype, case.l2)]
        if same:
            sizes = ", ".join(str(other.block_size) for other in same)
            return f"{case} was never recorded; at this shape there are block sizes {sizes}."
        shapes = dict.fromkeys(f"{other.shape} {other.dtype} {other.l2}" for other in there)
        return f"{case} was never recorded; there are {', '.join(shapes)}."


def skipped_case(case: Case) -> Case:
    """What `Skipped` has for a case: who gives a reason on a shape gives it at every block size."""
    return Case(case.provider, case.rows, case.cols, case.dtype)


def provider_of(what: Case | str) -> str:
    """The peer, kernel or tool that something left out is about."""
    return what if isinstance(what, str) else what.provider


def read_skipped(content: Mapping[str, str]) -> Skipped:
    """What the file has of it, {"quack (8, 50257) float32": reason, "ncu": reason}, in memory."""
    return {
        Case(match[1], int(match[2]), int(match[3]), match[4])
        if (match := _SKIPPED.fullmatch(key))
        else key: reason
        for key, reason in content.items()
    }


def write_skipped(skipped: Skipped) -> dict[str, str]:
    """The same, as the file has it."""
    return {
        what if isinstance(what, str) else f"{what.provider} {what.shape} {what.dtype}": reason
        for what, reason in skipped.items()
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Write what was measured whole, or leave the old file. Raises `BadInput` when that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, content)
    except OSError as error:
        raise _not_written(path, error) from None


def require_writable(path: Path) -> None:
    """Raise `BadInput` where `write` would: asked before what takes minutes to measure."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise _not_written(path, error) from None


def _not_written(path: Path, error: OSError) -> BadInput:
    return BadInput(f"Cannot write the record {path}: {error.strerror}.")


def load(path: Path) -> Record:
    """Read and validate a record. Raises `BadInput` when it is missing, damaged or of another schema."""
    content = read_json(path, "record")
    found = content.get("schema") if isinstance(content, dict) else None
    if found != SCHEMA:
        raise BadInput(
            f"The record {path} has schema {found!r:.40}; this version reads schema {SCHEMA}."
        )
    fault = find_fault(content)
    if fault:
        raise BadInput(f"The record {path} is damaged: {fault}.")
    return Record(content)
