"""What `softmax-lib bench --suite conform` found: who answers as torch does, and whose bits depend on what stands beside."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from softmax_lib.suites.kept import Runs, rows_of
from softmax_lib.worklog.errors import BadInput

OURS = ("softmax()", "log_softmax()", "softmax_topk()", "Softmax", "LogSoftmax", "patch_torch()", "softmax(scale, mask)")  # fmt: skip
"""Our operators; others are torch's and peers'."""
FAULTS = ("wrong", "raised", "killed")
VERDICTS = ("holds", "refused", *FAULTS)
"""From the best on; who refuses says in words what is not taken."""


@dataclass(frozen=True)
class Asked:
    """One ask: its kind and name, each operator's verdict, and of those that do not hold a sentence."""

    kind: str
    ask: str
    found: dict[str, Literal["holds", "refused", "wrong", "raised", "killed"]]
    told: dict[str, str]


def _read(run: dict[str, Any]) -> list[Asked]:
    found = rows_of(Asked, run)
    for one in found:
        if unknown := one.told.keys() - one.found.keys():
            raise BadInput(f"{', '.join(unknown)} was not asked {one.ask}")
    return found


_runs = Runs("conform", _read, {})
conform_source, conform_rows = _runs.source, _runs.found
"""Where that was, and all that was asked in the newest run. Both raise `BadInput` where none was kept."""


def tally(rows: list[Asked]) -> dict[str, dict[str, Counter[str]]]:
    """How many verdicts of each sort every operator has, by kinds of asks."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for row in rows:
        for name, verdict in row.found.items():
            found.setdefault(name, {}).setdefault(row.kind, Counter())[verdict] += 1
    return found
