"""The launch facts of other people's kernels, read from the .toml files beside this one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """One kernel and its launch.

    `checkout` is the repository's folder among the checkouts, `path` a file of it. `args` and `symbols`
    are in the words of `softmax-lib run-kernel`, but that "eps=1e-8" is the number that the reference
    knows as `eps`. `prepare` and `reference` are names of functions in `fills` and in the modules of
    references. `tolerance` bounds an array's greatest error over its greatest element, and `because`
    says why that much; `shapes` says how the launch differs from the file's own.
    """

    name: str
    subject: str
    repository: str
    checkout: str
    path: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[str, ...]
    tolerance: float
    because: str
    shapes: str
    reference: str
    prepare: str | None = None
    symbols: tuple[str, ...] = ()
    shared_bytes: int = 0
    cooperative: bool = False


def read_table() -> dict[str, Entry]:
    """All entries by name, repository after repository."""
    return {entry.name: entry for path in sorted(FOLDER.glob("*.toml")) for entry in _read(path)}


def _read(path: Path) -> Iterator[Entry]:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    kernels = content.pop("kernel")
    for facts in kernels:
        lists = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in {**content, "reference": facts["name"], **facts}.items()
        }
        yield Entry(**lists)
