"""Measured numbers: `measure` takes them live on a GPU, and elsewhere replays what was recorded.

Records come with the book, one a GPU, and a reader's own lie beside them (see `folders`).
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import torch

from softmax_lib.bench.timing import L2
from softmax_lib.errors import BadInput, NotAvailable
from softmax_lib.records.record import Measurement, Record, load
from softmax_lib.registry import kernels

DEFAULT_GPU = "nvidia-h200"

_HERE = Path(__file__).parent
IS_INSTALLED = (_HERE / "_measurements").is_dir()
FOLDER = _HERE / "_measurements" if IS_INSTALLED else _HERE.parent / "book" / "measurements"
"""The book's records: `softmax_lib/_measurements` when installed, `book/measurements` in a checkout."""


def readers_folder() -> Path:
    """Where a reader's records go who has no checkout to write to, as in Colab.

    It is `softmax_lib/measurements` inside $XDG_DATA_HOME, else inside `~/.local/share`.
    """
    given = os.environ.get("XDG_DATA_HOME", "")
    home = Path(os.path.expanduser("~"))
    data = Path(given) if os.path.isabs(given) else home / ".local" / "share"
    return data / "softmax_lib" / "measurements"


def folders() -> tuple[Path, ...]:
    """Where records are looked for, in this order; `softmax-lib record` writes into the first."""
    if not IS_INSTALLED and os.access(FOLDER, os.W_OK):
        return FOLDER, readers_folder()
    return readers_folder(), FOLDER


def recorded(gpu: str = DEFAULT_GPU) -> Record:
    """The record of one GPU, by its file's name, "nvidia-h200", or its own, "NVIDIA H200".

    Raises `BadInput`, naming the ones that there are, when there is none, or when it is damaged.
    """
    for folder in folders():
        path = folder / f"{file_stem(gpu)}.json"
        if path.is_file():
            return _load_once(path, path.stat().st_mtime_ns)
    there = ", ".join(available()) or "none"
    raise BadInput(
        f"There is no record of a GPU called {gpu}; there are {there}. On such a GPU, "
        "`softmax-lib record` makes one."
    )


@lru_cache(maxsize=8)
def _load_once(path: Path, changed_ns: int) -> Record:
    return load(path)


def available() -> tuple[str, ...]:
    """Names of the GPUs that there are records of."""
    return tuple(sorted({path.stem for folder in folders() for path in folder.glob("*.json")}))


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
    gpu: str | None = None,
) -> Measurement:
    """Time of a kernel or peer on a (rows, cols) matrix: live on a GPU, else as recorded.

    `block_size` defaults to the kernel's own choice; peers have none. `gpu` asks for what was
    recorded on that one. The result's `source` says where it comes from. Raises `BadInput` for a
    key that was never recorded, `NotAvailable` when a peer is missing or the matrix does not fit,
    and what `run` raises for a launch that the kernel does not take.
    """
    if kernel_or_peer in kernels:
        block_size = kernels[kernel_or_peer].settle_block_size(block_size, cols)
    if gpu is not None or not torch.cuda.is_available():
        return recorded(gpu or DEFAULT_GPU).find(kernel_or_peer, rows, cols, dtype, block_size, l2)
    return _live(kernel_or_peer, rows, cols, dtype, block_size, l2)


def _live(
    kernel_or_peer: str, rows: int, cols: int, dtype: str, block_size: int | None, l2: L2
) -> Measurement:
    from softmax_lib.bench.contest import time_shape

    reasons: list[str] = []
    rows_found = time_shape(
        [(kernel_or_peer, block_size)], rows, cols, dtype=dtype, l2=l2,
        skipped=lambda _, reason: reasons.append(reason),
    )  # fmt: skip
    if not rows_found:
        raise NotAvailable(reasons[0])
    return rows_found[0]
