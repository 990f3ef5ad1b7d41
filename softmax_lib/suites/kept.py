"""Runs of `softmax-lib bench` that were kept, each as it was written: a file <suite>/<gpu>-<number>.json
beside the records.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from softmax_lib.engine.caches import Stamp, stamp
from softmax_lib.records.reading import read_json, require_types
from softmax_lib.records.shelf import DEFAULT_GPU, file_stem, folders, left_out
from softmax_lib.suites.table import SUITES
from softmax_lib.worklog.errors import BadInput

One = TypeVar("One")
Read = TypeVar("Read")
Check = Callable[[dict[str, Any]], object]
"""Raises for a run that lacks something, or has something else."""


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
        return kept_runs(self.suite, gpu, self._check)

    def newest(self, gpu: str = DEFAULT_GPU) -> dict[str, Any]:
        """The last of them, as the suite returned it."""
        return self.every(gpu)[-1]

    def source(self, gpu: str = DEFAULT_GPU) -> str:
        """Where and when that was: "one run on NVIDIA H200, 2026-11-23"."""
        return source_of(self.newest(gpu))

    def found(self, gpu: str = DEFAULT_GPU) -> Read:
        """What is read of it."""
        return self.read(self.newest(gpu))

    def _check(self, run: dict[str, Any]) -> None:
        require_types(run, self.types)
        require_types(run["gpu"], self.of_gpu)
        self.read(run)


def kept_runs(suite: str, gpu: str, check: Check) -> list[dict[str, Any]]:
    """Every run of a suite on a GPU, by its record's name or its own, the first one first.

    Raises `BadInput` where `check` raises, and where there is none.
    """
    for folder in folders():
        if kept := _kept_on(folder, suite, gpu):
            return [_read(path, stamp(path), check) for path in kept.values()]
    raise BadInput(
        f"{SUITES[suite].missing} on a GPU called {gpu}; on such a GPU, "
        f"`softmax-lib bench --suite {suite} --keep` does it."
    )


def source_of(run: dict[str, Any]) -> str:
    """Where and when one was measured: "one run on NVIDIA H200, 2026-11-23"."""
    return f"one run on {run['gpu']['name']}, {run['date']}"


def matching(found: Iterable[One], **wanted: Any) -> list[One]:
    """Those of `found` whose fields are as `wanted`."""
    return [
        one for one in found if all(getattr(one, name) == value for name, value in wanted.items())
    ]


def gpus_with_runs(suite: str) -> list[str]:
    """Names of the GPUs on which a suite's runs were kept, but of runs that cannot be read."""
    stems = {stem for folder in folders() for stem, _, _ in _kept(folder, suite)}
    found = []
    for stem in sorted(stems):
        try:
            found.append(kept_runs(suite, stem, _take_as_it_is)[-1]["gpu"]["name"])
        except BadInput as error:
            warnings.warn(left_out(error), stacklevel=2)
    return found


def _take_as_it_is(run: dict[str, Any]) -> None:
    """Who asks for its GPU alone does not look into its rows."""


def next_run(suite: str, gpu: str) -> Path:
    """Where the next run on a GPU is to be kept, so that `kept_runs` finds it."""
    folder = folders()[0]
    number = max(_kept_on(folder, suite, gpu), default=0) + 1
    return folder / suite / f"{file_stem(gpu)}-{number}.json"


def _kept_on(folder: Path, suite: str, gpu: str) -> dict[int, Path]:
    """The runs of a GPU in a folder by their numbers, in order."""
    wanted = file_stem(gpu)
    return {number: path for stem, number, path in _kept(folder, suite) if stem == wanted}


def _kept(folder: Path, suite: str) -> list[tuple[str, int, Path]]:
    """Stem of the GPU's name, number and path of each run in a folder, in the order of numbers."""
    found = []
    for path in sorted((folder / suite).glob("*.json")):
        stem, _, number = path.stem.rpartition("-")
        if number.isdecimal():
            found.append((file_stem(stem), int(number), path))
    return sorted(found, key=lambda one: one[1])


@lru_cache(maxsize=64)
def _read(path: Path, _: Stamp | None, check: Check) -> dict[str, Any]:
    """A run that has not changed is read and checked once; nobody changes what is given."""
    content = read_json(path, "run")
    try:
        require_types(content, {"gpu": dict, "date": str, "software": dict[str, str], "rows": list})
        require_types(content["gpu"], {"name": str})
        if not content["rows"]:
            raise BadInput("it has no rows")
        check(content)
    except LookupError as error:
        raise BadInput(f"The run {path} is damaged: it lacks {error}.") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInput(f"The run {path} is damaged: {error}.") from error
    return cast(dict[str, Any], content)
