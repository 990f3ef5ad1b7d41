"""A small transformer with torch's softmax and with ours."""

from __future__ import annotations

from typing import Any

from softmax_lib.records.measurement import versions_of
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import source_of
from softmax_lib.suites.look import BLUE, GREEN, GREY, Figure, drawn, finish, legend, start
from softmax_lib.suites.model.record import COMPILED, ONE_PASS, OURS, THEIRS, Text, model_run, texts

_LABELS = {
    OURS: "with patch_torch()",
    ONE_PASS: "and scores in one pass",
    COMPILED: "torch.compile",
}
_LOOKS: dict[str, dict[str, Any]] = {
    OURS: {"marker": "D", "color": BLUE},
    ONE_PASS: {"marker": "s", "color": GREEN},
    COMPILED: {"marker": "o", "color": GREY, "markerfacecolor": "white"},
}


@drawn
def in_a_model(*, gpu: str = DEFAULT_GPU) -> Figure:
    """A line for each text that `softmax-lib bench --suite model` reads: its tokens per second over torch's.

    Raises `BadInput` where that was never run on this GPU.
    """
    found, run = texts(gpu), model_run(gpu)
    model = run["model"]
    title = f"A transformer of {model['layers']} layers and {model['vocabulary']} words"
    figure = start(title, 1.6 + 0.5 * len(found))
    axes = figure.subplots()
    for name, look in _LOOKS.items():
        at = [i for i, text in enumerate(found) if name in text.gain]
        axes.plot([found[i].gain[name] for i in at], at, linestyle="", label=_LABELS[name], **look)
    axes.axvline(1, color=GREY, linestyle=":", label="torch as it is")
    axes.set_yticks(range(len(found)), [_short(text) for text in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel="tokens per second, times torch's")
    axes.set_xlim(left=0)
    legend(figure)
    told = "; ".join(_in_words(text) for text in found)
    alt = f"{title}, tokens per second over torch's: {told}"
    source = source_of(run)
    return finish(figure, alt, source, versions_of({THEIRS}, run["software"]))


def _short(text: Text) -> str:
    return f"{text}\n{text.tokens_per_s[THEIRS]:,} / s"


def _in_words(text: Text) -> str:
    gains = ", ".join(f"{_LABELS[name]} {gain:.2f}" for name, gain in text.gain.items())
    return f"{text} {gains}"
