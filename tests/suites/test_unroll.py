"""The search of chapter 09's kernel: which settings, what a run holds, what is read and drawn of it; timing replaced."""

import pytest
import torch

from softmax_lib import kernels, search_unroll, unroll_times
from softmax_lib.engine.errors import BadInput
from softmax_lib.gpu import presence
from softmax_lib.show.figures import time_by_bytes_asked, unroll_map
from softmax_lib.suites import unroll as unrolling
from softmax_lib.suites.plan import WORKLOG
from softmax_lib.suites.times import UNROLL
from softmax_lib.suites.unroll import NAME, Setting, UnrollCell, cells, grid, time_cell

SETTINGS = [
    {"kernel": "unroll", "block_size": 64, "unroll": unroll, "in_flight": flight}
    for unroll in (1, 2)
    for flight in (1, 4)
]

CODES = [
    {**one, "registers": 20 + 4 * one["in_flight"], "spill_bytes": 8 * (one["unroll"] == 2),
     "asked_bytes": 16.0 * one["in_flight"], "instructions": 30.0, "blocks": 3}
    for one in SETTINGS
]  # fmt: skip

RUN = {
    "gpu": {"name": "Tesla T4", "multiprocessors": 40}, "date": "2030-01-01", "software": {}, "digests": {}, "codes": CODES,
    "rows": [{"rows": 60, "cols": 512, "copy_us": 3.0, "others": {"float4": 5.0},
              "times": [{**one, "us": 10.0 - n} for n, one in enumerate(SETTINGS)]}],
}  # fmt: skip


@pytest.fixture
def folder(keep):
    keep("unroll", RUN)


def test_times_come_with_their_machine_code_the_fastest_first(folder):
    found = unroll_times("Tesla T4")
    assert [one.us for one in found] == [7.0, 8.0, 9.0, 10.0]
    assert (found[0].unroll, found[0].in_flight) == (2, 4)
    assert (found[0].registers, found[0].spill_bytes, found[0].asked_bytes) == (36, 8, 64)
    assert [one.us for one in unroll_times("tesla-t4", unroll=1)] == [9.0, 10.0]
    assert unroll_times("Tesla T4", rows=7) == []


def test_the_map_has_a_field_for_each_setting(folder):
    figure = unroll_map(60, 512, 64, gpu="Tesla T4")
    fields = [text.get_text() for text in figure.axes[0].texts]
    assert fields == [
        "10.0 µs\n24 registers\n3 blocks",
        "9.0 µs\n36 registers\n3 blocks",
        "8.0 µs\n8 B spilled\n3 blocks",
        "7.0 µs\n8 B spilled\n3 blocks",
    ]
    assert "UNROLL 2, IN_FLIGHT 4: 7.0 µs, 8 B spilled" in figure.alt
    assert "one run on Tesla T4, 2030-01-01" in figure.alt
    (frame,) = figure.axes[0].lines
    assert (min(frame.get_xdata()), min(frame.get_ydata())) == (0.52, 0.52)


def test_a_mark_lies_where_a_multiprocessor_asks_for_as_much(folder):
    figure = time_by_bytes_asked(60, 512, gpu="Tesla T4")
    marks = [
        (line.get_xdata()[0], line.get_ydata()[0]) for line in figure.axes[0].lines if len(line.get_xdata()) == 1
    ]  # fmt: skip
    # 60 rows are two for some of the 40 multiprocessors, though three would fit
    assert marks == [(2048, 10), (8192, 9), (2048, 8), (8192, 7)]


def test_what_was_not_searched_is_one_sentence(folder):
    with pytest.raises(BadInput, match="not searched on 7 × 7"):
        unroll_map(7, 7, gpu="Tesla T4")
    with pytest.raises(BadInput, match="blocks of 128 threads"):
        unroll_map(60, 512, 128, gpu="Tesla T4")
    with pytest.raises(BadInput, match="not searched"):
        time_by_bytes_asked(7, 7, gpu="Tesla T4")


def test_with_a_gpu_the_map_is_measured_and_without_one_recorded(monkeypatch):
    pytest.importorskip("softmax_lib.show.live.measured_figures")
    monkeypatch.setattr(presence, "why_no_gpu", lambda: "there is none in this test")
    assert "NVIDIA H200" in str(search_unroll().leaves)
    with pytest.raises(BadInput, match="not searched on 7 × 7"):
        search_unroll(7, 7)
    monkeypatch.setattr(presence, "why_no_gpu", lambda: None)
    monkeypatch.setattr(unrolling, "search", lambda rows, cols, progress: RUN)
    assert "Tesla T4" in str(search_unroll(60, 512).leaves)


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
    monkeypatch.setattr(unrolling, "SEARCHED_SIZES", (32,))
    monkeypatch.setattr(unrolling, "grid", lambda sizes: grid(sizes)[:settings])
    found = UNROLL.read(unrolling.search(7, 500, lambda *told: None))
    assert len(found) == settings
    assert [(one.unroll, one.in_flight) for one in found][:2] == [(1, 1), (1, 2)]
    assert {one.us for one in found} == {5.0}
    assert {one.rows for one in found} == {7}
