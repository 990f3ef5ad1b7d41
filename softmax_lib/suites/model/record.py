"""What `softmax-lib bench --suite model` measured: a small transformer with torch's softmax and with ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmax_lib.records.reading import require_types
from softmax_lib.suites.kept import Runs, rows_of
from softmax_lib.worklog.errors import BadInput

OURS, ONE_PASS = "softmax_lib", "softmax_lib in one pass"
THEIRS, COMPILED = "torch", "torch.compile"


@dataclass(frozen=True)
class Text:
    """What the model read, a batch of texts of one length; tokens per second of every contender, and gains over torch as it is."""

    batch: int
    length: int
    dtype: str
    tokens_per_s: dict[str, int]
    gain: dict[str, float]

    def __str__(self) -> str:
        return f"{self.batch} × {self.length} {self.dtype}"


def _read(run: dict[str, Any]) -> list[Text]:
    require_types(run["model"], {"layers": int, "vocabulary": int})
    found = rows_of(Text, run)
    for text in found:
        _ = text.tokens_per_s[THEIRS], text.gain[OURS]
        if unknown := text.gain.keys() - {OURS, ONE_PASS, COMPILED}:
            raise BadInput(f"no contender is called {', '.join(unknown)}")
    return found


_runs = Runs("model", _read, {})
model_run, texts = _runs.newest, _runs.found
"""The newest run, and all that the model read in it. Both raise `BadInput` where none was kept."""
