"""The search of chapter 09's kernel: which settings, what a run holds, what is read and drawn of it; timing replaced."""

import pytest

from softmax_lib import search_unroll
from softmax_lib.engine.errors import BadInput
from softmax_lib.gpu import presence
from softmax_lib.suites import unroll as unrolling
from softmax_lib.suites.cells import Matrix
from softmax_lib.suites.times import UNROLL
from softmax_lib.suites.unroll import Setting, grid, time_cell


def test_without_a_gpu_the_map_is_that_of_the_record(monkeypatch):
    pytest.importorskip("softmax_lib.show.live.measured_figures")
    monkeypatch.setattr(presence, "why_no_gpu", lambda: "there is none in this test")
    assert "NVIDIA H200" in str(search_unroll().leaves)
    with pytest.raises(BadInput, match="not searched on 7 × 7"):
        search_unroll(7, 7)


def test_a_setting_is_that_of_the_macros():
    macros = Setting("unroll_full", 32, 1, 8).compiled.macros
    assert dict(macros) == {"UNROLL": 1, "IN_FLIGHT": 8}


def test_a_matrix_has_a_time_for_each_setting_and_says_who_cannot_take_it(cpu):
    skipped = {}
    row = time_cell(Matrix("seed", 7, 40_000, grid((64,))[:2]), skipped)
    assert row == {
        "rows": 7, "cols": 40_000, "copy_us": 3.0, "others": {"float4": 5.0, "torch": 5.0},
        "times": [
            {"kernel": "unroll", "block_size": 64, "unroll": 1, "in_flight": 1, "us": 5.0},
            {"kernel": "unroll", "block_size": 64, "unroll": 1, "in_flight": 2, "us": 5.0},
        ],
    }  # fmt: skip
    assert list(skipped) == ["fusion on 7x40000"]
    assert "fusion" in time_cell(Matrix("seed", 7, 4000, grid((64,))[:1]), {})["others"]


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
    monkeypatch.setattr(unrolling, "SEARCHED_SIZES", (32,))
    monkeypatch.setattr(unrolling, "grid", lambda sizes: grid(sizes)[:settings])
    found = UNROLL.read(unrolling.search(7, 500, lambda *told: None))
    assert len(found) == settings
    assert [(one.unroll, one.in_flight) for one in found][:2] == [(1, 1), (1, 2)]
    assert {one.us for one in found} == {5.0}
    assert {one.rows for one in found} == {7}
