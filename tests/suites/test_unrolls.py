"""The kept runs of the suite unroll: what is read and drawn of them, and what is said of one that is damaged or missing."""

import json

import pytest

from softmax_lib import kernels, search_unroll, unroll_times
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.gpu import presence
from softmax_lib.show.figures import time_by_bytes_asked, unroll_map
from softmax_lib.suites.measure import measure_unroll
from softmax_lib.suites.unroll.record import unroll_run

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
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "unroll"
    folder.mkdir(parents=True)
    (folder / "tesla-t4-1.json").write_text(json.dumps(RUN))
    return folder


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
    with pytest.raises(BadInput, match="bench --suite unroll --keep"):
        unroll_times("No Such")
    (folder / "tesla-t4-2.json").write_text(json.dumps({**RUN, "codes": CODES[:1]}))
    with pytest.raises(BadInput, match="damaged"):
        unroll_times("Tesla T4")


def test_with_a_gpu_the_map_is_measured_and_without_one_recorded(monkeypatch):
    search = pytest.importorskip("softmax_lib.show.live.measured_figures")
    monkeypatch.setattr(presence, "why_no_gpu", lambda: "there is none in this test")
    with pytest.raises(NotAvailable, match="no GPU"):
        measure_unroll(60, 512)
    assert "NVIDIA H200" in str(search_unroll().leaves)
    with pytest.raises(BadInput, match="not searched on 7 × 7"):
        search_unroll(7, 7)
    monkeypatch.setattr(presence, "why_no_gpu", lambda: None)
    monkeypatch.setattr(search, "measure_unroll", lambda rows, cols, progress: RUN)
    assert "Tesla T4" in str(search_unroll(60, 512).leaves)


@pytest.mark.fresh
@pytest.mark.parametrize("name", [name for name, one in kernels.items() if one.suite == "unroll"])
def test_no_kernel_has_changed_since_the_search_was_recorded(name):
    assert unroll_run()["digests"][name] == kernels[name].digest, (
        f"{name} has changed: `softmax-lib bench --suite unroll --keep` on a GPU times it anew."
    )
