"""The kept runs of the suite topk: what is read of them, and what is said of one that is damaged or missing."""

import json

import pytest

from softmax_lib import selections
from softmax_lib.engine.errors import BadInput
from softmax_lib.show.figures import fused_topk, topk_by_k
from softmax_lib.suites.topk.record import topk_run, topk_sizes, topk_source, topk_times

KERNELS = {
    "topk_unfused": 60.0,
    "topk_unfused_online": 50.0,
    "topk_safe": 30.0,
    "topk": 20.0,
    "topk_warp": 15.0,
}
ROW = {
    "rows": 4000, "cols": 25200, "dtype": "float32", "k": 5, "data": "normal", "ours_us": 10.0, "copy_us": 18.0,
    "peers": {"topk(softmax)": 150.0, "topk, logsumexp": 160.0}, "kernels": KERNELS,
}  # fmt: skip
LINE = {"kernel": "topk_early_exit", "block_size": 256, "rows": 4000, "cols": 25200, "k": 5, "copy_us": 18.0, "us": 25.0}  # fmt: skip
RUN = {
    "gpu": {"name": "Tesla T4"}, "date": "2030-01-01", "software": {}, "sweep": [LINE, {**LINE, "block_size": 32}], "digests": {},
    "rows": [ROW, {**ROW, "k": 30, "peers": {**ROW["peers"], "flashinfer.top_k": 40.0}}, {**ROW, "cols": 63}, {**ROW, "k": 8, "kernels": {}}],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "topk"
    folder.mkdir(parents=True)
    (folder / "tesla-t4-1.json").write_text(json.dumps(RUN))
    return folder


def test_cells_and_block_sizes_are_found_by_their_fields(folder):
    assert [one.cols for one in topk_times("Tesla T4", k=5)] == [25200, 63]
    (found,) = topk_times("tesla-t4", k=30)
    assert found.gain == 4
    assert [one.block_size for one in topk_sizes("Tesla T4", kernel="topk_early_exit")] == [256, 32]
    assert topk_sizes("Tesla T4", k=7) == []
    assert topk_source("Tesla T4") == "one run on Tesla T4, 2030-01-01"


def test_forms_are_drawn_over_unfused(folder):
    figure = fused_topk(4000, 5, gpu="Tesla T4")
    (axes,) = figure.axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert drawn["fused, online"] == [3, 3]
    assert drawn["softmax_topk()"] == [6, 6]
    assert "the paper 5 at 25000 on a V100" in figure.alt
    assert "the paper" not in fused_topk(4000, 30, gpu="Tesla T4").alt.replace("the paper 1.4", "")
    with pytest.raises(BadInput, match="never timed on 10 rows with k = 5"):
        fused_topk(10, 5, gpu="Tesla T4")


def test_times_are_drawn_by_k(folder):
    figure = topk_by_k(gpu="Tesla T4")
    (axes,) = figure.axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert drawn["torch, its best form"] == [150, 150]
    assert "flashinfer.top_k" not in drawn  # which is missing at one k
    assert "fused, early exit" not in drawn
    assert drawn["half of a copy"] == [9, 9]
    with pytest.raises(BadInput, match="never timed on 7 × 7"):
        topk_by_k(7, 7, gpu="Tesla T4")


def test_a_gpu_without_a_run_or_with_a_damaged_one_is_told(folder):
    with pytest.raises(BadInput, match="bench --suite topk --keep"):
        topk_times("No Such")
    (folder / "tesla-t4-2.json").write_text(json.dumps({**RUN, "sweep": [{"kernel": "topk"}]}))
    with pytest.raises(BadInput, match=r"tesla-t4-2\.json is damaged: it lacks 'block_size'"):
        topk_times("Tesla T4")


# ---- the book's own


@pytest.mark.fresh
@pytest.mark.parametrize(
    "name", [name for name, one in selections.kernels.items() if not one.suite]
)
def test_no_kernel_has_changed_since_it_was_timed(name):
    assert topk_run()["digests"][name] == selections.kernels[name].digest, (
        f"{name} has changed: `softmax-lib bench --suite topk --keep` on a GPU times it anew."
    )


def over_torch(**wanted):
    """The time of torch's best form over that of softmax_topk(), on one matrix of noise."""
    (one,) = topk_times(data="normal", **wanted)
    return one.torch_us / one.ours_us


def test_softmax_topk_reaches_what_it_was_made_for():
    assert over_torch(rows=4000, cols=25200, dtype="float32", k=5) > 15
    assert over_torch(rows=4000, cols=25200, dtype="float32", k=30) > 13
    assert over_torch(rows=10, cols=100_000, k=5) > 12
    assert over_torch(rows=16384, cols=256, k=8) > 20


def test_rows_that_mislead_take_less_than_a_fifth_of_the_time_of_torch():
    found = {(one.data, one.k): one.torch_us / one.ours_us
             for one in topk_times() if one.data != "normal"}  # fmt: skip
    assert len(found) == 8
    assert min(found.values()) > 5


def test_no_peer_is_ahead_on_any_cell():
    assert min(one.gain for one in topk_times()) > 1
