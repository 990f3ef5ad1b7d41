"""Where in a function a thread is, marked in a source: of one that has exited an emulator knows by that whether it left
before a call of its warp, or came past it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate

from softmax_lib.engine.declarations import closing, readable

_MOST_STEPS = 64
"""Of a function (cpp/block.h)."""

_FUNCTION = re.compile(r"[^;{}]*\bvoid\s+\w[^;{}]*\)\s*(?:const\s*)?\{")
_RETURN = re.compile(r"\breturn\s*;")
_STEP = re.compile(r"(?<=[;}])(?=\s*(?:if|for|switch|return)\b)")
_END = re.compile(r"(?:(?<=[;}])\s*\breturn\s*;)?\s*$")
_WARP_CALL = re.compile(r"_sync\s*\(|\b__syncwarp\b|\bcooperative_groups\b")


def have_warp_calls(texts: Iterable[str]) -> bool:
    """Whether a warp's lanes may wait for one another in one of them."""
    return any(_WARP_CALL.search(text) for text in texts)


def mark_steps(text: str) -> str:
    """The same, each line where it was, with `emulator_step(number);` where a function begins, before each statement of its
    body that may return, and at its end.

    In functions from which a thread can return early; where there are none but kernels, in all of these.
    """
    code = readable(text)
    heads = [match for match in _FUNCTION.finditer(code) if "constexpr" not in match[0]]
    found = [(match, closing(code, match.end() - 1) - 1) for match in heads]
    kernels = ["__global__" in match[0] for match, _ in found]
    early = [bool(_RETURN.search(code, match.end(), end)) for match, end in found]
    is_alone = all(kernel for kernel, returns in zip(kernels, early, strict=True) if returns)
    marks = [
        (at, number * _MOST_STEPS + min(step, _MOST_STEPS - 1))
        for number, (match, end) in enumerate(found, 1)
        if early[number - 1] or (kernels[number - 1] and is_alone)
        for step, at in enumerate(_steps(code, match.end(), end))
    ]
    for at, number in sorted(marks, reverse=True):
        text = f"{text[:at]} emulator_step({number});{text[at:]}"
    return text


def _steps(code: str, start: int, end: int) -> list[int]:
    """Where the steps of a body begin, and its end; a `return` there leads no other way."""
    body = code[start:end]
    depths = accumulate((c in "([{") - (c in ")]}") for c in body)
    flat = "".join(" " if depth else c for c, depth in zip(body, depths, strict=True))
    places = [0, *(match.start() for match in _STEP.finditer(flat))]
    last = _END.search(flat)
    return [start + at for at in (*places, last.start() if last else len(flat))]
