"""Runs of `softmax-lib bench` that were kept, each as it was written: a file <suite>/<gpu>-<number>.json
beside the records.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from softmax_lib.engine.caches import Stamp, stamp
from softmax_lib.records.reading import read_fields, read_json, require_types
from softmax_lib.records.shelf import DEFAULT_GPU, file_stem, folders, left_out
from softmax_lib.suites.table import SUITES
from softmax_lib.worklog.errors import BadInput

One = TypeVar("One")
Read = TypeVar("Read")
Check = Callable[[dict[str, Any]], object]
"""What is read of a run. Raises where it lacks something, or has something else."""


@dataclass(frozen=True, eq=False)
class Runs(Generic[Read]):
    """What was kept of a suite, by the name that `--suite` has: `read` makes of a run what is asked of it.

    `types` are those of what a run has beside its rows, and `of_gpu` of what it has to say of its GPU; a run that lacks
    some, or that `read` raises for, is damaged. Everything here takes a GPU by its record's name or its own, and raises
    `BadInput` where a run is damaged, and where there is none.
    """

    suite: str
    read: Callable[[dict[str, Any]], Read]
    types: Mapping[str, Any] = field(default_factory=lambda: {"digests": dict[str, str]})
    of_gpu: Mapping[str, Any] = field(default_factory=dict)

    def every(self, gpu: str = DEFAULT_GPU) -> list[dict[str, Any]]:
        """The runs on a GPU, each as it was written, the first one first."""
        return [run for run, _ in self._every(gpu)]

    def newest(self, gpu: str = DEFAULT_GPU) -> dict[str, Any]:
        """The last of them, as the suite returned it."""
        return self.every(gpu)[-1]

    def source(self, gpu: str = DEFAULT_GPU) -> str:
        """Where and when that was: "one run on NVIDIA H200, 2026-11-23"."""
        return source_of(self.newest(gpu))

    def found(self, gpu: str = DEFAULT_GPU) -> Read:
        """What is read of it, which nobody changes."""
        return cast(Read, self._every(gpu)[-1][1])

    def _every(self, gpu: str) -> list[tuple[dict[str, Any], Any]]:
        """Each run with what is read of it."""
        for folder in folders():
            kept = _kept(folder, self.suite).items()
            if paths := [path for (stem, _), path in kept if stem == file_stem(gpu)]:
                return [_read(path, stamp(path), self._check) for path in paths]
        raise BadInput(
            f"{SUITES[self.suite].missing} on a GPU called {gpu}; on such a GPU, "
            f"`softmax-lib bench --suite {self.suite} --keep` does it."
        )

    def _check(self, run: dict[str, Any]) -> Read:
        require_types(run, self.types)
        require_types(run["gpu"], self.of_gpu)
        return self.read(run)


def source_of(run: dict[str, Any]) -> str:
    """Where and when one was measured: "one run on NVIDIA H200, 2026-11-23"."""
    return f"one run on {run['gpu']['name']}, {run['date']}"


def rows_of(kind: type[One], run: dict[str, Any]) -> list[One]:
    """One of this dataclass from each row of a run; its `source` is the run's."""
    return [read_fields(kind, {**row, "source": source_of(run)}) for row in run["rows"]]


def matching(found: Iterable[One], **wanted: Any) -> list[One]:
    """Those of `found` whose fields are as `wanted`."""
    return [
        one for one in found if all(getattr(one, name) == value for name, value in wanted.items())
    ]


def required(found: list[One], missing: str) -> list[One]:
    """`found`. Raises `BadInput` with the sentence `missing` where that is empty."""
    if not found:
        raise BadInput(missing)
    return found


def gpus_with_runs(suite: str) -> list[str]:
    """Names of the GPUs on which a suite's runs were kept, but of runs that cannot be read."""
    stems = {stem for folder in folders() for stem, _ in _kept(folder, suite)}
    found = []
    for stem in sorted(stems):
        try:
            found.append(_whatever(suite).newest(stem)["gpu"]["name"])
        except BadInput as error:
            warnings.warn(left_out(error), stacklevel=2)
    return found


@cache
def _whatever(suite: str) -> Runs[object]:
    """Its runs for who asks for their GPUs alone, whatever their rows are."""
    return Runs(suite, lambda run: run, {})


def next_run(suite: str, gpu: str) -> Path:
    """Where the next run on a GPU is to be kept, so that `Runs` find it."""
    folder, wanted = folders()[0], file_stem(gpu)
    number = max((number for stem, number in _kept(folder, suite) if stem == wanted), default=0)
    return folder / suite / f"{wanted}-{number + 1}.json"


def _kept(folder: Path, suite: str) -> dict[tuple[str, int], Path]:
    """The runs of a suite in a folder by the stem of their GPU's name and their number, in order."""
    found = {}
    for path in sorted((folder / suite).glob("*.json")):
        stem, _, number = path.stem.rpartition("-")
        if number.isdecimal():
            found[file_stem(stem), int(number)] = path
    return dict(sorted(found.items()))


@lru_cache(maxsize=64)
def _read(path: Path, _: Stamp | None, check: Check) -> tuple[dict[str, Any], Any]:
    """A run and what `check` makes of it; one that has not changed is read once, and nobody changes what is given."""
    content = read_json(path, "run")
    try:
        require_types(content, {"gpu": dict, "date": str, "software": dict[str, str], "rows": list})
        require_types(content["gpu"], {"name": str})
        if not content["rows"]:
            raise BadInput("it has no rows")
        found = check(content)
    except LookupError as error:
        raise BadInput(f"The run {path} is damaged: it lacks {error}.") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInput(f"The run {path} is damaged: {error}.") from error
    return content, found
