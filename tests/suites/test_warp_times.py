"""The kept runs of the suite warp: what is read of them, and what is said of one that is damaged."""

import json

import pytest

from softmax_lib import tiles
from softmax_lib.engine.errors import BadInput
from softmax_lib.suites.warps.record import warp_run, warp_source, warp_times
from softmax_lib.worklog.registry import kernels

RUN = {
    "gpu": {"name": "Tesla T4"}, "date": "2030-01-01", "software": {}, "digests": {},
    "rows": [
        {"part": "short", "rows": 1000, "cols": 96, "copy_us": 10.0, "times": [
            {"who": "warp", "block_size": 128, "lanes": 8, "turns": 4, "us": 20.0},
            {"who": "torch", "block_size": 0, "lanes": 0, "turns": 0, "us": 12.5}]},
        {"part": "plane", "rows": 1000, "cols": 96, "copy_us": 10.0, "times": []},
    ],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "warp"
    folder.mkdir(parents=True)
    (folder / "tesla-t4-1.json").write_text(json.dumps(RUN))
    return folder


def test_times_are_found_by_their_fields_the_fastest_first(folder):
    torch, ours = warp_times("Tesla T4", part="short")
    assert (torch.who, torch.blocks, torch.copy_share) == ("torch", 0, 0.8)
    assert ours.gb_per_s == pytest.approx(2 * 1000 * 96 * 4 / 20.0 / 1e3)
    assert warp_times("Tesla T4", part="plane") == []
    assert warp_source("Tesla T4") == "one run on Tesla T4, 2030-01-01"


def test_blocks_are_those_that_the_launch_has(folder):
    (ours,) = warp_times("Tesla T4", who="warp")
    kernel = kernels["warp"].setting(LANES=ours.lanes, TURNS=ours.turns)
    assert ours.blocks == kernel.steps[0].blocks(ours.rows, ours.cols, ours.block_size) == 16


def test_a_gpu_without_a_run_or_with_a_damaged_one_is_told(folder):
    with pytest.raises(BadInput, match="bench --suite warp --keep"):
        warp_times("No Such")
    (folder / "tesla-t4-2.json").write_text(json.dumps({**RUN, "digests": None, "rows": [{}]}))
    with pytest.raises(BadInput, match=r"tesla-t4-2\.json is damaged: it lacks 'times'"):
        warp_times("Tesla T4")


# ---- the book's own


@pytest.mark.fresh
@pytest.mark.parametrize("name", list(warp_run()["digests"]))
def test_no_kernel_has_changed_since_it_was_timed(name):
    assert warp_run()["digests"][name] == {**kernels, **tiles.kernels}[name].digest, (
        f"{name} has changed: `softmax-lib bench --suite warp --keep` on a GPU times it anew."
    )
