"""A compiler's messages as the reader of a .cu file should see them, and what CUDA has that the emulator has not."""

from __future__ import annotations

import re
from pathlib import Path

from softmax_lib.source import Source, blank_comments

_MOST_LINES = 40

LACKING = (
    ("inline PTX (asm)", r"\basm\b|\b__asm__\b"),
    ("tensor cores", r"<mma\.h>|\bwmma\b|\bmma_sync\b|cute/|cutlass/"),
    (
        "cooperative groups and clusters",
        r"cooperative_groups|\bcg::|__cluster_dims__|\bcluster_\w+",
    ),
    (
        "asynchronous and bulk copies",
        r"cuda/(barrier|pipeline|ptx|std)|cuda_pipeline|__pipeline_|\bmemcpy_async\b|cp_async",
    ),
    ("16-bit and 8-bit floats", r"cuda_(fp16|bf16|fp8)|__half2?\b|\bhalf2?\b|__nv_(bfloat16|fp8)"),
    ("CUB and Thrust", r"<(cub|thrust)/"),
    ("textures and surfaces", r"\bcudaTextureObject_t\b|\btex[123]D|\bcudaSurfaceObject_t\b"),
    ("launches from code (<<<...>>>)", r"<<<"),
)
"""What the emulator lacks, in words, and how it looks in a source."""

_NOISE = re.compile(r"(In file included from|\s+from) (<command-line>|<built-in>|cuda_shim\.h)")
_AT = re.compile(r"^([\w.-]+):(\d+):", re.MULTILINE)


def readable(message: str, folder: Path, shim_folder: Path) -> str:
    """The compiler's `message` without the paths of build folders and of the shim."""
    for path in (folder, shim_folder):
        message = message.replace(f"{path}/", "")
    lines = [line for line in message.splitlines() if not _NOISE.match(line)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "..."]
    return "\n".join(lines) or "The compiler failed without a message."


def first_error(message: str) -> str:
    """The first line of `message` that reports an error, else its first line."""
    lines = message.strip().splitlines() or ["no message."]
    return next((line for line in lines if "error" in line), lines[0])


def name_lacking(source: Source, complaint: str) -> str | None:
    """A sentence, if what the compiler complains about is something that the emulator lacks.

    Of what fails in the assembler no line is told: there any inline PTX of the source is it.
    """
    blamed = {int(line) for file, line in _AT.findall(complaint) if file == source.file_name}
    for number, line in enumerate(blank_comments(source.text).splitlines(), 1):
        for words, pattern in LACKING:
            is_blamed = number in blamed or (not blamed and words.startswith("inline PTX"))
            if is_blamed and re.search(pattern, line):
                return (
                    f"{source.file_name}:{number} uses {words}, which the emulator does not have; "
                    "run this kernel on a GPU."
                )
    return None
