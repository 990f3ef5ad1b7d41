"""What CUDA has and the emulator has not, named at the reader's own line."""

from __future__ import annotations

import re

from softmax_lib.source import Source

FEATURES = (
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
"""In words, and how it looks in a source."""

_AT = re.compile(r"^([\w.-]+):(\d+):", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def name_missing(source: Source, complaint: str) -> str | None:
    """A sentence, if what the compiler complains about is something that the emulator lacks.

    Of what fails in the assembler no line is told: there any inline PTX of the source is it.
    """
    blamed = {int(line) for file, line in _AT.findall(complaint) if file == source.file_name}
    bare = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source.text)
    for number, line in enumerate(bare.splitlines(), 1):
        for words, pattern in FEATURES:
            is_blamed = number in blamed or (not blamed and words.startswith("inline PTX"))
            if is_blamed and re.search(pattern, line):
                return (
                    f"{source.file_name}:{number} uses {words}, which the emulator does not have; "
                    "run this kernel on a GPU."
                )
    return None
