"""The suite of chapter 12's Triton kernels: which settings, what a run holds, what is read and drawn of it; timing replaced."""

import json
import re

import pytest
import torch
from suites.conftest import book_run

from softmax_lib import tiles as tile_kernels
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.show.figures import tiles_by_cols
from softmax_lib.suites import tiles
from softmax_lib.suites.cells import Matrix
from softmax_lib.suites.tiles import Contender, codes, time_cell
from softmax_lib.suites.times import TILES, tile_source, tile_times
from softmax_lib.worklog.tiles import seeds_warps
from softmax_lib.worklog.tiles.programs import settle


def test_others_than_tritons_kernels_have_no_machine_code_and_versions_are_told():
    assert {(one.registers, one.programs) for one in tile_times(who="torch")} == {(0, 0)}
    assert re.fullmatch(r"one run on NVIDIA H200, [\d-]+, torch \S+, triton \S+", tile_source())


def test_the_curve_has_simple_by_the_sources_rule(keep):
    figure = tiles_by_cols()
    (axes,) = figure.axes
    drawn = {line.get_label(): dict(zip(*line.get_data(), strict=True)) for line in axes.lines}
    assert set(drawn) == {"a copy", "simple", "persistent", "torch", "fusion", "softmax()"}
    for one in tile_times(part="lengths", who="simple"):
        if one.num_warps == seeds_warps(one.tile):
            assert drawn["simple"][one.cols] == one.gb_per_s
    assert "1024: " in figure.alt
    run = book_run("triton")
    keep("triton", {**run, "rows": [row for row in run["rows"] if row["part"] == "settings"]})
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
