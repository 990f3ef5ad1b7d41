"""What `softmax-lib bench --suite model` measured: a small transformer with torch's softmax and with ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmax_lib.records.reading import read_fields, require_types
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import kept_runs
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


def model_run(gpu: str = DEFAULT_GPU) -> dict[str, Any]:
    """The newest run on a GPU, as `bench.transformer.compare` returned it. Raises `BadInput` as `kept_runs` does."""
    return kept_runs("model", gpu, _check)[-1]


def texts(gpu: str = DEFAULT_GPU) -> list[Text]:
    """All that the model read in that run. Raises `BadInput` as `kept_runs` does."""
    return _texts(model_run(gpu))


def _check(run: dict[str, Any]) -> None:
    require_types(run["model"], {"layers": int, "vocabulary": int})
    for text in _texts(run):
        _ = text.tokens_per_s[THEIRS], text.gain[OURS]
        if unknown := text.gain.keys() - {OURS, ONE_PASS, COMPILED}:
            raise BadInput(f"no contender is called {', '.join(unknown)}")


def _texts(run: dict[str, Any]) -> list[Text]:
    return [read_fields(Text, row) for row in run["rows"]]
