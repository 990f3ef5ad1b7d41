"""Where files lie: the kernels and records that come along, what was built, and a reader's own."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import platformdirs

NAME = "softmax_lib"

_PACKAGE = Path(__file__).parent


def shipped_folder(installed: str, in_checkout: str) -> Path:
    """A folder of files that come with the package: inside of it when installed, else in the checkout."""
    inside = _PACKAGE / installed
    return inside if inside.is_dir() else _PACKAGE.parent / in_checkout


def cache_folder(kind: str) -> Path:
    """The folder for built things of one `kind` ("emulator", "nvrtc"), made if it is not there.

    It is inside of `cache_root()`, the user's cache folder, which $XDG_CACHE_HOME moves. Where
    that cannot be written, warns once and gives a temporary folder that is removed when Python ends.
    """
    return _usable_folder(cache_root() / kind)


def cache_root() -> Path:
    """The folder of all that can be built anew: `softmax_lib` inside the user's cache folder."""
    return platformdirs.user_cache_path(NAME, appauthor=False).absolute()


def clear_cache() -> None:
    """Remove all that can be built anew. Raises `OSError`, where something is left."""
    with suppress(FileNotFoundError):
        shutil.rmtree(cache_root())
    _usable_folder.cache_clear()


def readers_folder(kind: str = "") -> Path:
    """The folder for one `kind` of a reader's own files ("measurements"), or for all; it need not be there.

    It is `softmax_lib/<kind>` inside the user's data folder, which $XDG_DATA_HOME moves.
    """
    return platformdirs.user_data_path(NAME, appauthor=False) / kind


@lru_cache
def _usable_folder(wanted: Path) -> Path:
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError as error:
        reason = error.strerror
        folder = Path(tempfile.mkdtemp(prefix=f"{NAME}-{wanted.name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    warnings.warn(
        f"Built kernels cannot be kept in {wanted} ({reason}), so they are built anew each "
        "time Python starts; set XDG_CACHE_HOME to a folder that can be written.",
        stacklevel=3,
    )
    return folder


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` beside `path` and rename it: another process sees the old file or the new one.

    Whatever stops this leaves `path` as it was and nothing beside it. Raises `OSError`.
    """
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


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
