"""Where records are kept and found: the book's, one per GPU, and a reader's own beside them."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

from softmax_lib.engine.caches import Stamp, stamp
from softmax_lib.records.cited import ORIGINAL_WORKLOG, CitedTimes
from softmax_lib.records.record import Record, load
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.files import readers_folder, shipped_folder

DEFAULT_GPU = "nvidia-h200"

FOLDER = shipped_folder("_measurements", "book/measurements")
"""The book's records: `softmax_lib/_measurements` when installed, `book/measurements` in a checkout."""


def folders() -> tuple[Path, ...]:
    """Where records are looked for, in this order; `softmax-lib record` writes into the first.

    That is the checkout's, if it can be written, else the reader's own (see `readers_folder`).
    """
    own = readers_folder("measurements")
    if FOLDER.name != "_measurements" and os.access(FOLDER, os.W_OK):
        return FOLDER, own
    return own, FOLDER


class Shelf:
    """All records. Called with a GPU's name it gives that one; its attributes are the book's own's."""

    def __call__(self, gpu: str = DEFAULT_GPU) -> Record:
        """The record of one GPU, by its file's name, "nvidia-h200", or its own, "NVIDIA H200".

        Raises `BadInput`, naming the ones that there are, when there is none, or when it is damaged
        and no other folder has one.
        """
        wanted = file_stem(gpu)
        found = [path for path in _paths() if file_stem(path.stem) == wanted]
        for path in found:
            try:
                return _load_once(path, stamp(path))
            except BadInput as error:
                if path == found[-1]:
                    raise
                warnings.warn(left_out(error), stacklevel=2)
        there = ", ".join(available()) or "none"
        raise BadInput(
            f"There is no record of a GPU called {gpu}; there are {there}. On such a GPU, "
            "`softmax-lib record` makes one."
        )

    @property
    def cited(self) -> CitedTimes:
        """What the worklog that this book grew from published."""
        return ORIGINAL_WORKLOG

    def __getattr__(self, name: str) -> Any:
        return getattr(self(), name)


recorded = Shelf()
"""`recorded.where`, `recorded("Tesla T4").where`: what was measured, in the book's record or another."""


@lru_cache(maxsize=8)
def _load_once(path: Path, _: Stamp | None) -> Record:
    """A record that has not changed is read once."""
    return load(path)


def _paths() -> list[Path]:
    """The files of all records, those that are looked at first in front."""
    return [path for folder in folders() for path in sorted(folder.glob("*.json"))]


def available() -> tuple[str, ...]:
    """Names of the GPUs that there are records of, as `file_stem` gives them."""
    return tuple(sorted({file_stem(path.stem) for path in _paths()}))


def readable() -> dict[str, Record]:
    """The book's own record first, then all others that this version can read; a warning names each of the rest.

    Each stands under a name that `recorded` takes: its GPU's, or that of a file that is called
    otherwise. Raises `BadInput` when the book's own cannot be read.
    """
    found = {DEFAULT_GPU: recorded()}
    for stem in available():
        try:
            found[stem] = recorded(stem)
        except BadInput as error:
            warnings.warn(left_out(error), stacklevel=2)
    return {
        record.gpu if file_stem(record.gpu) == stem else stem: record
        for stem, record in found.items()
    }


def left_out(error: BadInput) -> str:
    """What a warning says of a file that cannot be read, where others can."""
    return f"{str(error).rstrip('.')}; it is left out."


def file_stem(gpu_name: str) -> str:
    """The record's file name for a GPU: nvidia-h200 for "NVIDIA H200"."""
    return "-".join(gpu_name.lower().split())
