"""Files that this package keeps outside of itself: what was built, and a reader's own."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from softmax_lib.cli.answer import Answer, print_table
from softmax_lib.engine.caches import cache_root, clear_cache
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.files import readers_folder


def run(options: argparse.Namespace) -> Answer:
    """Files and bytes in the cache by kind ("emulator", "nvrtc"), removed on request, and where a reader's own are."""
    root = cache_root()
    folders = sorted(root.iterdir()) if root.is_dir() else ()
    kinds = {one.name: _tally(one) for one in folders if one.is_dir()}
    found: dict[str, Any] = {
        "folder": str(root),
        "kinds": kinds,
        "own_files": str(readers_folder()),
    }
    if options.clear:
        try:
            clear_cache()
        except OSError as error:
            raise NotAvailable(f"Cannot remove {root}: {error.strerror}.") from None
    return Answer(found, lambda: _print(**found, cleared=options.clear))


def _tally(folder: Path) -> dict[str, int]:
    """What another process removes meanwhile does not count."""
    sizes = []
    for at, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                sizes.append(Path(at, name).stat().st_size)
    return {"files": len(sizes), "bytes": sum(sizes)}


def _print(folder: str, kinds: dict[str, Any], own_files: str, cleared: bool) -> None:
    """A line per kind, and what was removed or how to."""
    console = Console(markup=False, highlight=False)
    total = f"{sum(of['bytes'] for of in kinds.values()) / 1e6:.1f} MB"
    if kinds and not cleared:
        lines = [(kind, str(of["files"]), f"{of['bytes'] / 1e6:.1f}") for kind, of in kinds.items()]
        headings = ("kind", "files", "MB")
        print_table(console, headings, lines, ("kind",), no_wrap=False, title="built kernels")
    said = f"Removed {total} from" if cleared else f"{total} in"
    console.print(f"{said} {folder}", soft_wrap=True)
    if kinds and not cleared:
        console.print("`softmax-lib cache --clear` removes it.")
    console.print(f"Your records, tables and points are in {own_files}", soft_wrap=True)
