"""The small transformer's runs: what is read of them, and what is said of one that is damaged or missing."""

import json

import pytest

from softmax_lib.engine.errors import BadInput
from softmax_lib.show.figures import in_a_model
from softmax_lib.suites.model.record import COMPILED, ONE_PASS, OURS, THEIRS, texts

GAINS = {OURS: 1.25, ONE_PASS: 1.5}
ROW = {
    "batch": 8, "length": 100, "dtype": "bfloat16", "tokens_per_s": {THEIRS: 4000, OURS: 5000, ONE_PASS: 6000},
    "gain": GAINS, "largest_difference": 0.0,
}  # fmt: skip
RUN = {
    "gpu": {"name": "Tesla T4"}, "date": "2030-01-01", "software": {"torch": "9.9"}, "model": {"layers": 4, "vocabulary": 31},
    "rows": [ROW, {**ROW, "length": 200, "gain": {**GAINS, COMPILED: 0.5}}],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "model"
    folder.mkdir(parents=True)
    return folder


def test_the_newest_run_counts(folder):
    (folder / "tesla-t4-9.json").write_text(json.dumps({**RUN, "rows": [ROW]}))
    (folder / "tesla-t4-10.json").write_text(json.dumps(RUN))
    first, second = texts("Tesla T4")
    assert str(first) == "8 × 100 bfloat16"
    assert (first.gain, second.gain[COMPILED]) == (GAINS, 0.5)
    assert first.tokens_per_s[THEIRS] == 4000


def test_it_is_drawn_as_gains_over_torch(folder):
    (folder / "tesla-t4-1.json").write_text(json.dumps(RUN))
    figure = in_a_model(gpu="tesla-t4")
    assert "8 × 200 bfloat16 with patch_torch() 1.25, and scores in one pass 1.50" in figure.alt
    assert figure.alt.endswith("one run on Tesla T4, 2030-01-01. torch 9.9.")
    (axes,) = figure.axes
    drawn = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
    assert drawn["with patch_torch()"] == [1.25, 1.25]
    assert drawn["torch.compile"] == [0.5]
    assert len(axes.get_yticks()) == 2


def test_a_gpu_without_a_run_is_told_how_to_make_one(folder):
    with pytest.raises(
        BadInput, match=r"in a whole model .* `softmax-lib bench --suite model --keep`"
    ):
        texts("No Such")


def test_a_damaged_run_is_told_by_name(folder):
    (folder / "tesla-t4-1.json").write_text(json.dumps({**RUN, "rows": [{"batch": 1}]}))
    with pytest.raises(BadInput, match=r"tesla-t4-1\.json is damaged: it lacks 'length'"):
        in_a_model(gpu="tesla-t4")
