"""Rungs that somebody has broken: the sources of the registry with a few words changed, by a seed."""

import random
import re
from collections.abc import Iterator

from softmax_lib.engine.source import blank_comments
from softmax_lib.worklog.registry import kernels

EDITS = {
    r"(?<![<>=!-])(<=?|>=?)(?![<>=])": ("<", "<=", ">", ">=", "!="),
    r"(?<!\+)\+(?![+=])|(?<!-)-(?![-=>])|(?<!/)\*(?=\s)": (" + ", " - ", " * ", " << "),
    r"[-+*]=": ("+=", "-=", "*=", "="),
    r"\bcols\b": ("rows", "(cols + 1)", "(cols - 1)", "-cols", "(cols * 4)"),
    r"\bthreadIdx\.x\b": ("blockIdx.x", "(threadIdx.x + 1)", "(threadIdx.x * 2)", "0"),
    r"\bblockIdx\.x\b": ("threadIdx.x", "(blockIdx.x + 1)", "0"),
    r"\b(blockDim\.x|BLOCK|WARPS?)\b": ("1", "0", "(BLOCK / 2)", "(BLOCK + 1)"),
    r"__sync(threads|warp)\(\);": ("", "if (threadIdx.x) __syncthreads();", "__syncwarp();"),
    r"\bfloat\b": ("double", "int", "char", "float*"),
    r"\bint\b": ("short", "unsigned", "float", "char", "long long"),
    r"(?<![\w.])\d+(?![\w.])": ("0", "1", "63", "1000000", "(-1)"),
    r"(?<![\w.])[xy](?=\[| \+)": ("x", "y", "(x + 4096)", "(y - 1)", "((float*)0)"),
    r"\bfor \(": ("while (", "if (int once = 1) for ("),
    r";\n": ("; return;\n", "; break;\n", "; continue;\n", "\n"),
    r"0xffffffff": ("0xffff", "0", "1"),
}
"""What is changed, and into which of these."""


def mutants(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """`count` sources by name, each of a rung with one to three changes; the same for the same seed."""
    chance = random.Random(seed)
    sources = {
        kernel.name: blank_comments(kernel.source.text)
        for kernel in kernels.values()
        if not kernel.foil
    }
    for number in range(count):
        name = chance.choice(sorted(sources))
        text = sources[name]
        for _ in range(chance.randint(1, 3)):
            text = _change(text, chance)
        yield f"{name}, mutant {number} of seed {seed}", text


def _change(text: str, chance: random.Random) -> str:
    body = text.index("__global__")
    while True:
        pattern = chance.choice(sorted(EDITS))
        places = list(re.compile(pattern).finditer(text, body))
        if places:
            at = chance.choice(places)
            return text[: at.start()] + chance.choice(EDITS[pattern]) + text[at.end() :]
