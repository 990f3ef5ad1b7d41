"""The kept runs of the suite triton: what is read of them, what is drawn, and what is said of one that is damaged."""

import json

import pytest

from softmax_lib import tiles
from softmax_lib.engine.errors import BadInput
from softmax_lib.show.figures import tiles_by_cols
from softmax_lib.suites.tiles.record import tile_run, tile_source, tile_times

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
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "triton"
    folder.mkdir(parents=True)
    (folder / "tesla-t4-1.json").write_text(json.dumps(RUN))
    return folder


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


def test_the_curve_has_simple_by_the_sources_rule(folder):
    figure = tiles_by_cols(gpu="Tesla T4")
    (axes,) = figure.axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert set(drawn) == {"a copy", "simple", "torch"}
    assert drawn["simple"][0] == pytest.approx(drawn["a copy"][0] / 2)  # of 4 warps, not of 8
    assert drawn["torch"][0] == pytest.approx(drawn["a copy"][0] / 4)
    assert "1024: " in figure.alt


def test_a_gpu_without_a_run_or_with_a_damaged_one_is_told(folder):
    with pytest.raises(BadInput, match="bench --suite triton --keep"):
        tile_times("No Such")
    (folder / "tesla-t4-2.json").write_text(json.dumps({**RUN, "codes": []}))
    with pytest.raises(BadInput, match=r"tesla-t4-2\.json is damaged: it lacks \(.simple., 1024"):
        tile_times("Tesla T4")
    (folder / "tesla-t4-2.json").write_text(json.dumps({**RUN, "rows": RUN["rows"][1:]}))
    with pytest.raises(BadInput, match="not timed by the length of rows"):
        tiles_by_cols(gpu="Tesla T4")


# ---- the book's own


@pytest.mark.fresh
@pytest.mark.parametrize("name", list(tiles.kernels))
def test_no_kernel_has_changed_since_it_was_timed(name):
    assert tile_run()["digests"][name] == tiles.kernels[name].digest, (
        f"{name} has changed: `softmax-lib bench --suite triton --keep` on a GPU times it anew."
    )
