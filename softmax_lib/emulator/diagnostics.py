"""A compiler's messages as the reader of a .cu file should see them."""

from __future__ import annotations

import re
from pathlib import Path

_MOST_LINES = 40


def readable(message: str, folder: Path, shim_folder: Path) -> str:
    """The compiler's `message` without the paths of build folders and of the shim."""
    for path in (folder, shim_folder):
        message = message.replace(f"{path}/", "")
    lines = [line for line in message.splitlines() if not _is_noise(line)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "..."]
    return "\n".join(lines) or "The compiler failed without a message."


def _is_noise(line: str) -> bool:
    return (
        re.match(r"(In file included from|\s+from) (<command-line>|<built-in>|cuda_shim\.h)", line)
        is not None
    )


def first_error(message: str) -> str:
    """The first line of `message` that reports an error, else its first line."""
    lines = message.strip().splitlines() or ["no message."]
    return next((line for line in lines if "error" in line), lines[0])
