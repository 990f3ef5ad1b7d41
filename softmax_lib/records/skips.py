"""What a record lacks, and why: in memory by what was left out, in the file by a key in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from softmax_lib.engine.words import without_colours
from softmax_lib.records.measurement import ITEM_BYTES, PEERS, Case

Skipped = dict[Case | str, str]
"""Why something was not measured: a case (at any block size, its L2 cold), or a whole peer or tool."""

_SIZE = r"([1-9]\d{0,9})"
_KEY = re.compile(rf"(.+) \({_SIZE}, {_SIZE}\) ({'|'.join(ITEM_BYTES)})")


def skipped_case(case: Case) -> Case:
    """What `Skipped` has for a case: who gives a reason on a shape gives it at every block size."""
    return Case(case.provider, case.rows, case.cols, case.dtype)


def provider_of(what: Case | str) -> str:
    """The peer, kernel or tool that something left out is about."""
    return what if isinstance(what, str) else what.provider


def read(content: Mapping[str, str]) -> Skipped:
    """The file's part, {"quack (8, 50257) float32": reason, "ncu": reason}, in memory."""
    return {_read_key(key): reason for key, reason in content.items()}


def write(skipped: Skipped) -> dict[str, str]:
    """The same, as the file has it."""
    return {_key(what): reason for what, reason in skipped.items()}


def _read_key(key: str) -> Case | str:
    match = _KEY.fullmatch(key)
    return Case(match[1], int(match[2]), int(match[3]), match[4]) if match else key


def _key(what: Case | str) -> str:
    return what if isinstance(what, str) else f"{what.provider} {what.shape} {what.dtype}"


@dataclass(frozen=True)
class Refusal:
    """One reason for which a provider was not measured, and on which shapes; on none: not at all."""

    provider: str
    reason: str
    shapes: tuple[tuple[int, int], ...]


def refusals(skipped: Skipped) -> list[Refusal]:
    """Reasons that differ in numbers alone are one, in the words of the first."""
    reasons: dict[tuple[str, str], str] = {}
    shapes: dict[tuple[str, str], dict[tuple[int, int], None]] = {}
    for what, said in skipped.items():
        reason = _bare(said, what)
        kind = provider_of(what), re.sub(r"\d+", "", reason)
        reasons.setdefault(kind, reason)
        on = shapes.setdefault(kind, {})
        if isinstance(what, Case):
            on[what.shape] = None
    return [Refusal(kind[0], reason, tuple(shapes[kind])) for kind, reason in reasons.items()]


def _bare(said: str, what: Case | str) -> str:
    """The reason without its subject, which `Refusal` names, and without a compiler's colours."""
    words = " ".join(without_colours(said).split())
    if isinstance(what, str):
        return words.removeprefix(f"{what} ") if what in PEERS else words
    bare = words.removeprefix(f"{what.provider} ")
    return bare.removeprefix(f"refuses {what.shape}: ")
