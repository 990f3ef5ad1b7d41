"""Where files lie: the kernels and records that come along, and a reader's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import platformdirs

from softmax_lib.engine.caches import NAME, replace_file

_PACKAGE = Path(__file__).parents[1]


def shipped_folder(installed: str, in_checkout: str) -> Path:
    """A folder of files that come with the package: inside of it when installed, else in the checkout."""
    inside = _PACKAGE / installed
    return inside if inside.is_dir() else _PACKAGE.parent / in_checkout


KERNEL_FOLDER = shipped_folder("_cuda", "kernels")
"""The .cu files: `softmax_lib/_cuda` when installed, `kernels` in a checkout."""

EXERCISE_FOLDER = shipped_folder("_exercises", "book/exercises")
"""A file for each exercise, and what graders say of the answers that pages offer."""


def readers_folder(kind: str = "") -> Path:
    """The folder for one `kind` of a reader's own files ("measurements"), or for all; it need not be there.

    It is `softmax_lib/<kind>` inside the user's data folder, which $XDG_DATA_HOME moves.
    """
    return platformdirs.user_data_path(NAME, appauthor=False) / kind


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` with a line for each entry, and for each entry of those that hold lists or dicts.

    That is short, and a diff of two can be read. Raises `OSError`.
    """
    replace_file(path, f"{_by_line(content, 2)}\n".encode())


def _by_line(held: Any, levels: int) -> str:
    inside = list(held.values()) if isinstance(held, dict) else held
    deep = isinstance(held, dict | list) and any(isinstance(x, dict | list | tuple) for x in inside)
    if not (deep and levels):
        return json.dumps(held)
    lines = [_by_line(one, levels - 1) for one in inside]
    if isinstance(held, dict):
        lines = [f"{json.dumps(str(name))}: {line}" for name, line in zip(held, lines, strict=True)]
    opens, closes = "{}" if isinstance(held, dict) else "[]"
    indent = "  " * (2 - levels)
    return f"{opens}\n" + ",\n".join(indent + line for line in lines) + f"\n{closes}"
