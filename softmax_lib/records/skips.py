"""What a record lacks, and why: in memory by what was left out, in the file by a key in words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from softmax_lib.records.measurement import ITEM_BYTES, Case

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
    return {
        Case(match[1], int(match[2]), int(match[3]), match[4])
        if (match := _KEY.fullmatch(key))
        else key: reason
        for key, reason in content.items()
    }


def write(skipped: Skipped) -> dict[str, str]:
    """The same, as the file has it."""
    return {
        what if isinstance(what, str) else f"{what.provider} {what.shape} {what.dtype}": reason
        for what, reason in skipped.items()
    }
