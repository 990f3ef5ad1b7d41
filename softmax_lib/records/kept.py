"""Runs of `softmax-lib bench` that were kept, each as it was written: a file <suite>/<gpu>-<number>.json
beside the records.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, TypeVar

from softmax_lib.errors import BadInput
from softmax_lib.records.shelf import file_stem, folders

One = TypeVar("One")
Suite = Literal["peers", "model", "topk", "unroll", "warp", "triton"]

_MEASURED = {
    "peers": "softmax() was not measured beside its peers",
    "model": "softmax() was not measured in a whole model",
    "topk": "softmax_topk() was not measured beside its peers",
    "unroll": "the kernel of chapter 9 was not measured at all of its settings",
    "warp": "the kernel of chapter 10 was not measured on short rows",
    "triton": "the kernels of chapter 12 were not measured",
}


def kept_runs(
    suite: Suite, gpu: str, check: Callable[[dict[str, Any]], object]
) -> list[dict[str, Any]]:
    """Every run of a suite on a GPU, by its record's name or its own, the first one first.

    `check` raises for a run that lacks something. Raises `BadInput` where one does, and where there is none.
    """
    for folder in folders():
        if numbers := _numbers(folder, suite, gpu):
            return [_read(_path(folder, suite, gpu, number), check) for number in numbers]
    raise BadInput(
        f"{_MEASURED[suite]} on a GPU called {gpu}; on such a GPU, "
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


def gpus_with_runs(suite: Suite) -> list[str]:
    """Names of the GPUs on which a suite's runs were kept, but of runs that cannot be read."""
    stems = {stem for folder in folders() for stem, _ in _kept(folder, suite)}
    found = []
    for stem in sorted(stems):
        with contextlib.suppress(BadInput):
            found.append(kept_runs(suite, stem, lambda run: run["gpu"]["name"])[-1]["gpu"]["name"])
    return found


def next_run(suite: Suite, gpu: str) -> Path:
    """Where the next run on a GPU is to be kept, so that `kept_runs` finds it."""
    folder = folders()[0]
    return _path(folder, suite, gpu, max(_numbers(folder, suite, gpu), default=0) + 1)


def _numbers(folder: Path, suite: Suite, gpu: str) -> list[int]:
    wanted = file_stem(gpu)
    return sorted(number for stem, number in _kept(folder, suite) if stem == wanted)


def _kept(folder: Path, suite: Suite) -> list[tuple[str, int]]:
    """Stem of the GPU's name and number of each run in a folder."""
    names = (path.stem.rpartition("-") for path in (folder / suite).glob("*.json"))
    return [(stem, int(number)) for stem, _, number in names if number.isdecimal()]


def _path(folder: Path, suite: Suite, gpu: str, number: int) -> Path:
    return folder / suite / f"{file_stem(gpu)}-{number}.json"


def _read(path: Path, check: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        check(content)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(f"{path.name} is damaged: {error!r}") from error
    return content
