"""`softmax-lib conform`: ours hold, verdicts can be bad ones, a process may die or hang, and the run is read and drawn."""

import json
import os
import time
from unittest.mock import Mock

import pytest
import torch

from softmax_lib import figures
from softmax_lib.cli import main
from softmax_lib.suites.conform.asks import asks
from softmax_lib.suites.conform.judging import Operator, judge
from softmax_lib.suites.conform.measure import ask_all
from softmax_lib.suites.conform.record import FAULTS, OURS, conform_rows, tally

pytestmark = pytest.mark.filterwarnings("ignore")  # of prototypes, and of what MaskedTensor lacks
BITS = "bits: 33 float32"


@pytest.mark.gpu
@pytest.mark.parametrize("name", OURS)
def test_ours_answer_as_torch_does_on_a_gpu(name):
    found = ask_all([name], [*asks("cuda")], lambda *told: None, "cuda")
    assert {row["ask"]: row["told"] for row in found["rows"] if row["found"][name] in FAULTS} == {}


# ---- functions that are none


def writes(x, dim, out):
    out.zero_()
    raise RuntimeError("too late")


def dies(x, dim):
    os.kill(os.getpid(), 9)


def hangs(x, dim):
    time.sleep(1000)


TUESDAYS = Mock(side_effect=NotImplementedError("Only Tuesdays are taken."))


@pytest.mark.parametrize(("function", "ask", "verdict", "told"), [
    (lambda x, dim: torch.softmax(x, dim) + 0.01, "transforms: a call", "wrong", "not close"),
    (Mock(side_effect=RuntimeError("no such thing")), "transforms: a call", "raised", "no such thing"),
    (TUESDAYS, "transforms: a call", "refused", "Only Tuesdays"), (TUESDAYS, "layouts: complex as x", "holds", ""),
    (torch.softmax, "scores: causal", "refused", "causal"), (torch.log_softmax, BITS, "holds", ""),
    (lambda x, dim: torch.softmax(x, dim) * (1 + 1e-6 * (len(x) == 300)), BITS, "wrong", "the 236 rows beside it (64 rows)"),
    (lambda x, dim: torch.softmax(x, dim) * torch.linspace(1, 1 + 1e-6, len(x))[:, None], BITS, "wrong", "its place"),
    (lambda x, dim: torch.zeros(3), "layouts: complex as x", "wrong", "where torch refuses"),
    (lambda x, dim: torch.softmax(x.dequantize(), dim), "layouts: quantized as x", "holds", ""),
    (lambda x, dim: torch.softmax(x.as_subclass(torch.Tensor), dim), "layouts: a subclass as x", "wrong", "torch a Mine"),
    (writes, "bad input: out of another dtype", "wrong", "has written"),
])  # fmt: skip
def test_a_verdict_says_how_a_function_answers(function, ask, verdict, told):
    found, said = judge(asks("cpu")[ask], Operator(lambda: function), "cpu")
    assert found == verdict
    assert told in said


def test_the_command_outlives_processes_that_die_and_hang(capsys, monkeypatch):
    monkeypatch.chdir(os.path.dirname(__file__))
    only = ("--only", "transforms: a call", "--only", "scores: scale")
    words = ["conform", "--json", "--limit", "6", "--op", "torch", *only]
    names = [f"test_conform:{one}" for one in ("dies", "hangs", "none_such")]
    assert main(words) == 0
    capsys.readouterr()
    assert main(words + [word for name in names for word in ("--op", name)]) == 1
    found = json.loads(capsys.readouterr().out)
    calls, scores = found["rows"]
    assert calls["found"] == {"torch": "holds", names[0]: "killed", names[1]: "killed"}
    assert set(scores["found"].values()) == {"refused"}
    assert "status -9" in calls["told"][names[0]]
    assert "within 6 s" in calls["told"][names[1]]
    assert "none_such" in found["skipped"][names[2]]
    for wrong in (["--op", "nobody"], ["--only", "no such words"]):
        assert main(["conform", *wrong]) == 2


# ---- the run

RUN = {
    "gpu": {"name": "Tesla T4"}, "date": "2026-01-01", "software": {}, "rows": [
        {"kind": "bits", "ask": "33 float32", "found": {"softmax()": "holds", "liger": "wrong"}, "told": {"liger": "It depends."}},
        {"kind": "bits", "ask": "99 float32", "found": {"softmax()": "holds", "liger": "killed"}, "told": {"liger": "It died."}},
        {"kind": "layouts", "ask": "coo as x", "found": {"softmax()": "refused"}, "told": {}},
    ],
}  # fmt: skip


def test_a_run_is_counted_and_drawn(keep):
    keep("conform", RUN)
    assert tally(conform_rows("Tesla T4"))["liger"] == {"bits": {"wrong": 1, "killed": 1}}
    figure = figures.conform(gpu="Tesla T4")
    assert "softmax(): bits 2 of 2, layouts 0 of 1; Liger: bits 0 of 2" in figure.alt
    for drawn, words in ((figure, {"✓", "1r", "2k"}), (figure.narrow, {"✓", "r", "k"})):
        assert {text.get_text() for text in drawn.axes[0].texts} == words
