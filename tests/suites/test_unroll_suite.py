"""The search of chapter 09's kernel: which settings, what a run holds, what its table tells; timing replaced."""

from types import SimpleNamespace

import pytest
import torch

from softmax_lib import kernels
from softmax_lib.cli.suite_table import print_unroll
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.suites import timing
from softmax_lib.suites.peers import measure as suite
from softmax_lib.suites.plan import WORKLOG
from softmax_lib.suites.timing import Timing
from softmax_lib.suites.unroll import measure as unrolling
from softmax_lib.suites.unroll.measure import NAME, Setting, UnrollCell, cells, grid, time_cell
from softmax_lib.suites.unroll.record import times_of


@pytest.fixture
def cpu(monkeypatch):
    """Let anything take 5 us, with one vector in flight, and a copy 3."""
    monkeypatch.setattr(timing, "sample", lambda case: torch.randn(case.shape))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(
        timing,
        "time_device",
        lambda calls, inputs, replays: {
            case: Timing(*[3.0 if "copy" in case.provider else 5.0] * 3) for case in calls
        },
    )


def test_every_number_that_a_macro_takes_is_tried_in_every_block_and_once():
    worklog, *seeds = list(cells())
    for cell in (worklog, *seeds):
        assert len(set(cell.settings)) == len(cell.settings)
    assert {one.kernel for one in worklog.settings} == {
        name for name, kernel in kernels.items() if kernel.suite == NAME
    }
    assert set(grid(unrolling.SEARCHED_SIZES)) < set(worklog.settings)
    assert len(grid((64,))) == len(kernels[NAME].choices) ** 2
    assert [cell.rows for cell in seeds] == [128] * len(seeds)
    assert (worklog.rows, worklog.cols) == WORKLOG


def test_a_setting_computes_softmax_by_the_kernel_it_names():
    x = torch.randn(3, 77)
    for setting in (Setting("unroll", 64, 8, 1), Setting("unroll_full", 32, 1, 8)):
        assert dict(setting.compiled.macros) == {
            "UNROLL": setting.unroll,
            "IN_FLIGHT": setting.in_flight,
        }
        y = torch.empty_like(x)
        setting.call(x, y)
        torch.testing.assert_close(y, x.softmax(-1))


def test_a_matrix_has_a_time_for_each_setting_and_says_who_cannot_take_it(cpu):
    skipped = {}
    row = time_cell(UnrollCell(7, 40_000, grid((64,))[:2]), skipped)
    assert row == {
        "rows": 7, "cols": 40_000, "copy_us": 3.0, "others": {"float4": 5.0, "torch": 5.0},
        "times": [
            {"kernel": "unroll", "block_size": 64, "unroll": 1, "in_flight": 1, "us": 5.0},
            {"kernel": "unroll", "block_size": 64, "unroll": 1, "in_flight": 2, "us": 5.0},
        ],
    }  # fmt: skip
    assert list(skipped) == ["fusion on 7x40000"]
    assert "fusion" in time_cell(UnrollCell(7, 4000, grid((64,))[:1]), {})["others"]


@pytest.mark.nvrtc
def test_the_compiler_is_asked_about_each_setting(cpu):
    told = []
    few, many = unrolling.machine_codes(
        [Setting("unroll", 256, 1, 1), Setting("unroll", 256, 1, 8)],
        lambda *words: told.append(words),
    )
    assert told == [("compiling", 1, 2), ("compiling", 2, 2)]
    assert (few["asked_bytes"], many["asked_bytes"]) == (16, 128)
    assert few["registers"] < many["registers"]
    assert few["blocks"] > many["blocks"] >= 1
    assert few["spill_bytes"] == many["spill_bytes"] == 0


@pytest.mark.nvrtc
@pytest.mark.parametrize("settings", [2, pytest.param(16, marks=pytest.mark.full)])
def test_a_search_of_one_matrix_reads_like_a_kept_run(settings, cpu, monkeypatch):
    for name in ("busy", "slowed", "gpu_facts", "versions", "today"):
        monkeypatch.setattr(suite, name, list)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(unrolling, "SEARCHED_SIZES", (32,))
    monkeypatch.setattr(unrolling, "grid", lambda sizes: grid(sizes)[:settings])
    found = times_of(unrolling.search(7, 500))
    assert len(found) == settings
    assert [(one.unroll, one.in_flight) for one in found][:2] == [(1, 1), (1, 2)]
    assert {one.us for one in found} == {5.0}
    assert {one.rows for one in found} == {7}


def test_a_kernel_that_is_wrong_is_not_timed(monkeypatch):
    wrong = SimpleNamespace(ok=False, verdict="unroll: 1 launch, wrong")
    monkeypatch.setattr(unrolling, "check", lambda name, device: wrong)
    with pytest.raises(NotAvailable, match="1 launch, wrong"):
        unrolling.run_unroll(lambda *told: None)


FOUND = {
    "gpu": {"name": "Test GPU"}, "date": "2026-01-01", "software": {}, "protocol": "", "notes": ["it was warm"], "skipped": {},
    "rows": [{
        "rows": 128, "cols": 2048, "copy_us": 2.0, "others": {"float4": 6.5},
        "times": [
            {"kernel": "unroll", "block_size": 64, "unroll": 8, "in_flight": 2, "us": 4.0},
            {"kernel": "unroll", "block_size": 64, "unroll": 1, "in_flight": 1, "us": 5.0},
            {"kernel": "unroll_full", "block_size": 64, "unroll": 1, "in_flight": 1, "us": 1.0},
        ],
    }],
}  # fmt: skip


def test_the_table_tells_the_best_setting_of_the_kernel_itself(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    print_unroll(FOUND)
    said = capsys.readouterr().out
    for part in ("Test GPU", "128x2048", " 8 ", "4.00", "50%", "6.50", "it was warm"):
        assert part in said
