"""A small transformer with torch's softmax and with ours."""

from __future__ import annotations

from typing import Any

from softmax_lib.records.measurement import versions_of
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites import look
from softmax_lib.suites.kept import source_of
from softmax_lib.suites.model.record import COMPILED, ONE_PASS, OURS, THEIRS, Text, model_run, texts

_LABELS = {
    OURS: "with patch_torch()",
    ONE_PASS: "and scores in one pass",
    COMPILED: "torch.compile",
}
_LOOKS: dict[str, dict[str, Any]] = {
    OURS: {"marker": "D", "color": look.BLUE},
    ONE_PASS: {"marker": "s", "color": look.GREEN},
    COMPILED: {"marker": "o", "color": look.GREY, "markerfacecolor": "white"},
}


@look.drawn
def in_a_model(*, gpu: str = DEFAULT_GPU) -> look.Figure:
    """A line for each text that `softmax-lib bench --suite model` reads: its tokens per second over torch's.

    Raises `BadInput` where that was never run on this GPU.
    """
    found, run = texts(gpu), model_run(gpu)
    model = run["model"]
    title = f"A transformer of {model['layers']} layers and {model['vocabulary']} words"
    figure, axes = look.start(title, 1.6 + 0.5 * len(found))
    for name, style in _LOOKS.items():
        at = [i for i, text in enumerate(found) if name in text.gain]
        axes.plot([found[i].gain[name] for i in at], at, linestyle="", label=_LABELS[name], **style)
    axes.axvline(1, color=look.GREY, linestyle=":", label="torch as it is")
    look.list_on_y(axes, [f"{text}\n{text.tokens_per_s[THEIRS]:,} / s" for text in found])
    axes.set(xlabel="tokens per second, times torch's")
    axes.set_xlim(left=0)
    told = "; ".join(_in_words(text) for text in found)
    alt = f"{title}, tokens per second over torch's: {told}"
    return look.finish(figure, alt, source_of(run), versions_of({THEIRS}, run["software"]))


def _in_words(text: Text) -> str:
    gains = ", ".join(f"{_LABELS[name]} {gain:.2f}" for name, gain in text.gain.items())
    return f"{text} {gains}"
