"""Counters out of ncu's table, and what is said where there are none."""

import shutil
import subprocess
from types import SimpleNamespace

import pytest

from softmax_lib.bench import ncu
from softmax_lib.errors import NotAvailable
from softmax_lib.records.measurement import Case
from softmax_lib.records.schema import METRICS
from softmax_lib.registry import kernels

NAIVE, UNFUSED = Case("naive", 8, 8, block_size=32), Case("unfused", 8, 8, block_size=256)
STEPS = len(kernels["unfused"].steps)


def test_counters_of_a_kernel_of_several_steps_are_added_up():
    lines = [
        {"ID": str(number), "Metric Name": metric, "Metric Value": "1,000"}
        for number in range(1 + STEPS)
        for metric in METRICS.values()
    ]
    naive, unfused = ncu.add_up([NAIVE, UNFUSED], lines)
    assert (naive.case, unfused.case) == (NAIVE, UNFUSED)
    assert naive.counters == dict.fromkeys(METRICS, 1000)
    assert unfused.counters == dict.fromkeys(METRICS, 1000 * STEPS)


def test_without_ncu_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(NotAvailable, match=r"ncu .* is not on the PATH"):
        ncu.profile([NAIVE])


def test_an_ncu_that_may_not_count_says_so_in_its_own_words(monkeypatch):
    complaint = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/ncu")
    answer = SimpleNamespace(returncode=1, stdout=f"==PROF== hello\n{complaint}\n", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: answer)
    with pytest.raises(NotAvailable, match="ncu read no counters: ERR_NVGPUCTRPERM"):
        ncu.profile([NAIVE])
