"""Where built things are kept between runs: one folder a kind, inside the user's cache folder."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path


def cache_folder(kind: str) -> Path:
    """The folder for built things of one `kind` ("emulator", "cuda"), made if it is not there.

    It is `softmax_lib/<kind>` inside $XDG_CACHE_HOME, else inside `~/Library/Caches` (macOS) or
    `~/.cache`. Where that cannot be written, warns once and gives a temporary folder that is
    removed when Python ends.
    """
    return _usable_folder(_user_cache() / "softmax_lib" / kind)


def _user_cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):  # the XDG specification says to ignore a relative one
        return Path(given)
    home = Path(os.path.expanduser("~"))
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


@lru_cache
def _usable_folder(wanted: Path) -> Path:
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError as error:
        reason = error.strerror
        folder = Path(tempfile.mkdtemp(prefix=f"softmax_lib-{wanted.name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    warnings.warn(
        f"Built kernels cannot be kept in {wanted} ({reason}), so they are built anew each "
        "time Python starts; set XDG_CACHE_HOME to a folder that can be written.",
        stacklevel=3,
    )
    return folder
