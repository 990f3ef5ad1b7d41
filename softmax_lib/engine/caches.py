"""What was built and is kept: a damaged file counts as none, and no killed process leaves anything for good.

A file ends in a digest of its name and of what comes before, which loaders of libraries and programs do not read.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO

import platformdirs

from softmax_lib.engine.errors import NotAvailable

try:
    import fcntl
except ImportError:  # Windows, where nothing is built but what takes a moment
    fcntl = None  # type: ignore[assignment]

NAME = "softmax_lib"
"""Of the folder that all is kept in."""

_SEAL_BYTES = hashlib.sha256().digest_size
_PREFIX, _LOCK = "building-", "alive"
_ROOM_BYTES = 1 << 20
"""That a folder has to have room for, or its disk counts as full."""
_ABANDONED_S = 86400.0
"""A folder without a lock is of a process that was killed at once, or that locks none."""

Stamp = tuple[int, int, int]

_whole: dict[Path, Stamp] = {}
"""Files that were read and are whole."""


def stamp(path: Path) -> Stamp | None:
    """What tells a file from whatever is written there later; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_ctime_ns


def is_whole(path: Path) -> bool:
    """Whether there is a file as `keep` wrote it; one that does not change is read once."""
    now = stamp(path)
    if now is None or _whole.get(path) == now:
        return now is not None
    if read(path) is None:
        return False
    _whole[path] = now
    return True


def read(path: Path) -> bytes | None:
    """What is kept at `path`; None where that is nothing, or damaged."""
    try:
        held = path.read_bytes() if path.is_file() else b""
    except OSError:
        return None
    content, seal = held[:-_SEAL_BYTES], held[-_SEAL_BYTES:]
    return content if seal == _seal(path, content) else None


def read_or_make(path: Path, make: Callable[[], bytes]) -> bytes:
    """What is kept at `path`, or what `make` gives, which is then kept there; a full disk keeps nothing."""
    held = read(path)
    if held is not None:
        return held
    made = make()
    with contextlib.suppress(OSError), building_folder(path.parent) as folder:
        unfinished = folder / path.name
        unfinished.write_bytes(made)
        keep(unfinished, path)
    return made


def keep(made: Path, path: Path) -> None:
    """Rename the file `made` to `path`, in place of whatever is there, once it is on the disk. Raises `OSError`."""
    with made.open("r+b") as file:
        file.write(_seal(path, file.read()))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.replace(made, path)
    except IsADirectoryError:
        shutil.rmtree(path, ignore_errors=True)
        os.replace(made, path)


def _seal(path: Path, content: bytes) -> bytes:
    return hashlib.sha256(os.fsencode(path.name) + b"\0" + content).digest()


@contextlib.contextmanager
def building_folder(inside: Path) -> Iterator[Path]:
    """A new folder to build in, removed at the end, or by the next who builds there. Raises `OSError`."""
    inside.mkdir(parents=True, exist_ok=True)
    for left in inside.glob(f"{_PREFIX}*"):
        _remove_abandoned(left)
    folder, lock = _lock_new_folder(inside)
    try:
        yield folder
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def _lock_new_folder(inside: Path) -> tuple[Path, IO[bytes]]:
    """A folder, and the file whose lock says, for as long as it is open, that this process is alive."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=inside, prefix=_PREFIX))
        lock = (folder / _LOCK).open("wb")
        if fcntl:
            with contextlib.suppress(OSError):  # not every file system has locks
                fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _LOCK).exists():
            return folder, lock
        lock.close()  # another process took the folder for an abandoned one


def _remove_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if not (folder / _LOCK).exists():
            if time.time() - folder.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(folder, ignore_errors=True)
        elif fcntl:
            with (folder / _LOCK).open("rb+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


# ---- the folders


def cache_folder(kind: str) -> Path:
    """The folder for built things of one `kind` ("emulator", "nvrtc"), made if it is not there.

    It is inside of `cache_root()`, the user's cache folder, which $XDG_CACHE_HOME moves. Where
    that cannot be written, warns once and gives a temporary folder that is removed when Python ends. Raises
    `NotAvailable` where there is none.
    """
    return _usable_folder(cache_root() / kind)


def cache_root() -> Path:
    """The folder of all that can be built anew: `softmax_lib` inside the user's cache folder."""
    return platformdirs.user_cache_path(NAME, appauthor=False).absolute()


def clear_cache() -> None:
    """Remove all that can be built anew. Raises `OSError`, where something is left."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(cache_root())
    _usable_folder.cache_clear()


@lru_cache
def _usable_folder(wanted: Path) -> Path:
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted) as file:
            file.write(bytes(_ROOM_BYTES))
            return wanted
    except OSError as error:
        _tell_once(wanted.parent, error.strerror)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{NAME}-{wanted.name}-"))
    except OSError as error:
        raise NotAvailable(
            f"Kernels cannot be built: there is no temporary folder ({error.strerror})."
        ) from None
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache
def _tell_once(root: Path, reason: str) -> None:
    """Of all kinds together."""
    warnings.warn(
        f"Built kernels cannot be kept in {root} ({reason}), so they are built anew each "
        "time Python starts; set XDG_CACHE_HOME to a folder that can be written.",
        stacklevel=4,
    )


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` beside `path` and rename it: another process sees the old file or the new one.

    Whatever stops this leaves `path` as it was and nothing beside it. Into a device or a pipe it is written as it
    is, and a link is followed. Raises `OSError`.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    path = Path(os.path.realpath(path))
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
