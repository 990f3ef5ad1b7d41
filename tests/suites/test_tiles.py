"""The suite of chapter 12's Triton kernels: which settings, what a run holds, what is read and drawn of it; timing replaced."""

import json

import pytest
import torch

from softmax_lib import tiles as tile_kernels
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.show.figures import tiles_by_cols
from softmax_lib.suites.cells import Matrix
from softmax_lib.suites.peers.providers import tile_setting
from softmax_lib.suites.tiles import measure as tiles
from softmax_lib.suites.tiles.measure import Contender, cells, codes, time_cell
from softmax_lib.suites.times import TILES, tile_source, tile_times
from softmax_lib.worklog.tiles.programs import settle

NONE = {"tile": 0, "num_warps": 0, "num_stages": 0}
AT_1024 = {"tile": 1024, "num_warps": 4, "num_stages": 1}

WIDER = {**AT_1024, "num_warps": 8}
CODE = {"registers": 22, "spill_bytes": 0, "shared_bytes": 16, "programs": 16}

RUN = {
    "gpu": {"name": "Tesla T4"}, "date": "2030-01-01", "digests": {}, "software": {"triton": "3.6.0", "numpy": "2.0"},
    "codes": [{"who": "simple", "cols": 1024, **AT_1024, **CODE},
              {"who": "simple", "cols": 1024, **WIDER, **CODE, "registers": 20},
              {"who": "persistent", "cols": 1024, **AT_1024, **CODE}],
    "rows": [
        {"part": "lengths", "rows": 4096, "cols": 1024, "copy_us": 10.0, "times": [
            {"who": "simple", **AT_1024, "us": 20.0}, {"who": "simple", **WIDER, "us": 16.0},
            {"who": "torch", **NONE, "us": 40.0}]},
        {"part": "settings", "rows": 4096, "cols": 1024, "copy_us": 10.0, "times": [
            {"who": "persistent", **AT_1024, "us": 12.5}]},
    ],
}  # fmt: skip


@pytest.fixture
def folder(keep):
    keep("triton", RUN)


def test_times_are_found_by_their_fields_with_their_machine_code(folder):
    assert [one.us for one in tile_times("Tesla T4", part="lengths")] == [16, 20, 40]
    fast, slow = tile_times("tesla-t4", who="simple")
    assert (fast.registers, slow.registers) == (20, 22)
    (torch,) = tile_times("Tesla T4", who="torch")
    assert (torch.registers, torch.programs) == (0, 0)
    (found,) = tile_times("Tesla T4", part="settings")
    assert found.copy_share == 0.8
    assert found.gb_per_s == pytest.approx(2 * 4096 * 1024 * 4 / 12.5 / 1e3)
    assert tile_source("Tesla T4") == "one run on Tesla T4, 2030-01-01, triton 3.6.0"


def test_the_curve_has_simple_by_the_sources_rule(folder, keep):
    figure = tiles_by_cols(gpu="Tesla T4")
    (axes,) = figure.axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert set(drawn) == {"a copy", "simple", "torch"}
    assert drawn["simple"][0] == pytest.approx(drawn["a copy"][0] / 2)  # of 4 warps, not of 8
    assert drawn["torch"][0] == pytest.approx(drawn["a copy"][0] / 4)
    assert "1024: " in figure.alt
    keep("triton", {**RUN, "rows": RUN["rows"][1:]}, "tesla-t4-2")
    with pytest.raises(BadInput, match="not timed by the length of rows"):
        tiles_by_cols(gpu="Tesla T4")


@pytest.fixture
def triton(cpu, monkeypatch):
    """Triton's kernels are replaced by torch, and 3 stages do not fit."""

    def launch(kernel, x, y, setting, programs=None):
        if setting.num_stages == 3:
            raise NotAvailable("does not fit")
        torch.softmax(x, -1, out=y)

    monkeypatch.setattr(tiles, "launch", launch)


def of_part(part):
    return [cell for cell in cells() if cell.part == part]


def test_every_warp_count_is_tried_with_every_number_of_stages():
    small = of_part("settings")[0]
    tried = [(one.setting.num_warps, one.setting.num_stages) for one in small.contenders
             if one.who == "persistent"]  # fmt: skip
    assert tried == [(warps, stages) for warps in (1, 2, 4, 8, 16, 32) for stages in (1, 2, 3, 4)]
    long = max(of_part("settings"), key=lambda cell: cell.cols)
    assert min(one.setting.num_warps for one in long.contenders) == 8
    for cell in cells():
        assert len(set(cell.contenders)) == len(cell.contenders)


def test_lengths_follow_the_seeds_rule_and_this_books():
    cell = next(cell for cell in of_part("lengths") if cell.cols == 32768)
    simple = [one.setting.num_warps for one in cell.contenders if one.who == "simple"]
    assert simple == [16, tile_setting(32768).num_warps] == [16, 32]
    assert {one.setting.num_warps for one in cell.contenders if one.who == "persistent"} == {8}


def test_the_control_of_powers_of_two_has_each_kind_of_length():
    lengths = [cell.cols for cell in of_part("sixteen")]
    assert {1024, 1008, 1000, 1023, 1025} < set(lengths)
    (exact,) = (cell for cell in of_part("sixteen") if cell.cols == 1024)
    assert {(one.who, one.setting.tile) for one in exact.contenders} == {
        ("simple", 1024), ("simple_no_hint", 1024), ("simple", 2048), ("simple_no_mask", 1024),
    }  # fmt: skip
    (beyond,) = (cell for cell in of_part("sixteen") if cell.cols == 1025)
    assert {one.setting.tile for one in beyond.contenders} == {2048}


def test_a_matrix_has_a_time_for_each_contender_and_says_who_cannot(triton):
    one, three = settle(96, None, 4, 1), settle(96, None, 4, 3)
    contenders = (Contender("simple", one), Contender("persistent", three))
    skipped = {}
    row = time_cell(Matrix("settings", 70, 96, contenders), skipped)
    none = {"tile": 0, "num_warps": 0, "num_stages": 0}
    assert row == {
        "part": "settings", "rows": 70, "cols": 96, "copy_us": 3.0,
        "times": [{"who": name, **none, "us": 5.0} for name in ("torch", "softmax()", "fusion")]
        + [{"who": "simple", "tile": 128, "num_warps": 4, "num_stages": 1, "us": 5.0}],
    }  # fmt: skip
    (told,) = skipped.items()
    assert told[0] == "persistent, tile 128, 4 warps, 3 stages on 70x96"
    assert "does not fit" in told[1]


def test_a_run_has_every_cell_its_machine_code_and_digests_and_reads_back(triton, monkeypatch):
    some = (
        Matrix("settings", 70, 96, (Contender("simple", settle(96, None, 4, 1)),)),
        Matrix("sixteen", 32, 100, (Contender("persistent", settle(100, None, 4, 2)),)),
    )
    monkeypatch.setattr(tiles, "cells", lambda: iter(some))
    monkeypatch.setattr(tiles, "require_right", lambda *given: None)
    run = json.loads(json.dumps(tiles.run_suite(lambda *told: None)))
    assert run["digests"] == {n: k.digest for n, k in tile_kernels.kernels.items()}
    found = TILES.read(run)
    assert {one.who for one in found} == {"torch", "softmax()", "fusion", "simple", "persistent"}
    (staged,) = (one for one in found if one.who == "persistent")
    assert staged.registers > 0
    assert staged.shared_bytes >= 512
    assert {one.registers for one in found if one.who == "torch"} == {0}
    assert len(codes(list(some))) == 2


@pytest.mark.gpu
def test_a_matrix_is_timed_on_a_gpu():
    contenders = (Contender("simple", settle(500)), Contender("persistent", settle(500)))
    row = time_cell(Matrix("settings", 512, 500, contenders), skipped := {})
    assert len(row["times"]) == 5
    assert not skipped
