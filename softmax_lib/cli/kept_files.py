"""Files that this package keeps outside of itself: what was built, and a reader's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from softmax_lib.engine.caches import cache_root
from softmax_lib.worklog.files import readers_folder


@dataclass(frozen=True)
class Kept:
    """Files and bytes in the cache's `folder` by kind ("emulator", "nvrtc"), and where a reader's own files are."""

    folder: str
    kinds: Mapping[str, Mapping[str, int]]
    own_files: str

    @property
    def size(self) -> int:
        """Bytes in the cache."""
        return sum(kind["bytes"] for kind in self.kinds.values())

    def as_json(self) -> dict:
        """Plain lists and dictionaries."""
        return asdict(self)


def gather() -> Kept:
    """What the cache holds now."""
    root = cache_root()
    folders = sorted(root.iterdir()) if root.is_dir() else ()
    return Kept(
        str(root), {one.name: _tally(one) for one in folders if one.is_dir()}, str(readers_folder())
    )


def _tally(folder: Path) -> dict[str, int]:
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return {"files": len(sizes), "bytes": sum(sizes)}


def print_kept(kept: Kept, *, cleared: bool) -> None:
    """A line per kind, and what was removed or how to."""
    console = Console(markup=False, highlight=False)
    total = f"{kept.size / 1e6:.1f} MB"
    if kept.kinds and not cleared:
        table = Table("kind", "files", "MB", title="built kernels")
        for column in table.columns[1:]:
            column.justify = "right"
        for kind, of in kept.kinds.items():
            table.add_row(kind, str(of["files"]), f"{of['bytes'] / 1e6:.1f}")
        console.print(table)
    said = f"Removed {total} from" if cleared else f"{total} in"
    console.print(f"{said} {kept.folder}", soft_wrap=True)
    if kept.kinds and not cleared:
        console.print("`softmax-lib cache --clear` removes it.")
    console.print(f"Your records, tables and points are in {kept.own_files}", soft_wrap=True)
