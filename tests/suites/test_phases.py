"""The kept runs of the suite phases: what is read of them, and what is said of one that is damaged."""

import json

import pytest

from softmax_lib import drawings, figures
from softmax_lib.engine.errors import BadInput
from softmax_lib.suites.phases.record import Block, phase_run, phases
from softmax_lib.worklog.registry import with_copy

ROW = {
    "kernel": "fusion", "plain_us": 70.0, "noted_us": 71.0, "read_bytes": [8, 0], "written_bytes": [0, 8],
    "blocks": [[0, 0, 500, 600, 1100]],
}  # fmt: skip
RUN = {
    "gpu": {"name": "Tesla T4"}, "date": "2030-01-01", "software": {}, "digests": {},
    "rows": [ROW, {**ROW, "kernel": "copy", "blocks": []}],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "phases"
    folder.mkdir(parents=True)
    (folder / "tesla-t4-1.json").write_text(json.dumps(RUN))
    return folder


def test_a_run_is_read_and_drawn(folder):
    found = phases("Tesla T4")
    assert found["fusion"].blocks == (Block(0, 0, 500, 600, 1100),)
    assert found["copy"].read_bytes == (8, 0)
    shown = drawings.read_meet_write("Tesla T4")
    assert "a block reads for 45%, meets for 9% and writes for 45%" in shown.text
    assert (
        "to note the time took 1% of fusion, 1% of copy more"
        in figures.reads_and_writes("Tesla T4").alt
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kernel": None}, "kernel is None"),
        ({"plain_us": "7"}, "plain_us is '7'"),
        ({"read_bytes": None}, "NoneType"),
        ({"blocks": [[1, 2]]}, "missing 3 required"),
    ],
)
def test_a_damaged_run_is_told(folder, change, words):
    damaged = {**RUN, "rows": [{**ROW, **change}]}
    (folder / "tesla-t4-2.json").write_text(json.dumps(damaged))
    with pytest.raises(BadInput, match=rf"tesla-t4-2\.json is damaged: .*{words}"):
        phases("Tesla T4")


def test_a_run_without_blocks_or_a_gpu_without_a_run_is_told(folder):
    without = {**RUN, "rows": [{**ROW, "blocks": []}]}
    (folder / "tesla-t4-2.json").write_text(json.dumps(without))
    with pytest.raises(BadInput, match="blocks of fusion were not noted on Tesla T4"):
        drawings.read_meet_write("Tesla T4")
    with pytest.raises(BadInput, match="bench --suite phases --keep"):
        phases("No Such")


# ---- the book's own


@pytest.mark.fresh
@pytest.mark.parametrize("name", list(phase_run()["digests"]))
def test_no_kernel_has_changed_since_it_noted_the_time(name):
    assert phase_run()["digests"][name] == with_copy[name].digest, (
        f"{name} has changed: `softmax-lib bench --suite phases --keep` on a GPU times it anew."
    )
