"""Counters out of ncu's table, and what is said where there are none."""

import shutil
import subprocess
from types import SimpleNamespace

import pytest

from softmax_lib.engine.errors import NotAvailable
from softmax_lib.records.measurement import Case, Profile
from softmax_lib.records.schema import EXECUTION, METRICS
from softmax_lib.suites import ncu
from softmax_lib.worklog.registry import kernels

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


def test_a_metric_that_a_gpu_lacks_is_no_number():
    lines = [{"ID": "0", "Metric Name": "smsp__inst_executed.sum", "Metric Value": "n/a"}]
    with pytest.raises(NotAvailable, match=r"ncu has no smsp__inst_executed\.sum on this GPU"):
        ncu.add_up([NAIVE], lines, EXECUTION)


@pytest.mark.parametrize("has_execution", [True, False])
def test_launches_that_feed_each_other_keep_their_caches_and_what_cannot_be_counted_is_missing(
    monkeypatch, has_execution
):
    asked = []

    def count(cases, metrics, *options):
        if metrics is EXECUTION and not has_execution:
            raise NotAvailable("ncu has no such metric on this GPU.")
        asked.append(([case.provider for case in cases], options))
        return [Profile(case, dict.fromkeys(metrics, 1)) for case in cases]

    monkeypatch.setattr(shutil, "which", lambda name: "/bin/ncu")
    monkeypatch.setattr(ncu, "_count", count)
    said = []
    found = ncu.profile([UNFUSED, NAIVE], said.append)
    assert bool(said) != has_execution
    assert [profile.case for profile in found] == [UNFUSED, NAIVE]
    assert all(("instructions" in p.counters) == has_execution for p in found)
    assert (["naive"], ()) in asked
    assert (["unfused"], ("--cache-control", "none")) in asked
    assert all(METRICS.keys() <= p.counters.keys() for p in found)


def test_without_ncu_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(NotAvailable, match=r"ncu .* is not on the PATH"):
        ncu.profile([NAIVE], print)


def test_an_ncu_that_may_not_count_says_so_in_its_own_words(monkeypatch):
    complaint = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/ncu")
    answer = SimpleNamespace(returncode=1, stdout=f"==PROF== hello\n{complaint}\n", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: answer)
    with pytest.raises(NotAvailable, match="ncu read no counters: ERR_NVGPUCTRPERM"):
        ncu.profile([NAIVE], print)
