"""The kept runs of the suite lies: what is read and drawn of them, and what is said of one that is damaged or missing."""

import copy
import json

import pytest

from softmax_lib import catch_lie, figures, kernels, lie_peak, lie_times
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.gpu import presence
from softmax_lib.suites.lies import advertisements
from softmax_lib.suites.lies.record import LIES, lie_run, lie_source
from softmax_lib.suites.measure import measure_lie

ROWS, COLS = 1000, 500
PEAK = 400.0
US = 2 * ROWS * COLS * 4 / PEAK / 1e3
"""In which a matrix is read and written at the peak."""


def timed(who, method, *us, data="normal", cols=COLS):
    """A line of a run: samples of one method."""
    return {
        "who": who, "method": method, "rows": ROWS * COLS // cols, "cols": cols, "data": data, "us": list(us),
    }  # fmt: skip


TIMES = {
    "no synchronisation": [
        timed("torch", "protocol", 2 * US), timed("torch", "as advertised", US / 8), timed("torch", "synchronised", 2 * US),
    ],
    "warm cache": [
        timed("fusion", "protocol", 2 * US), timed("fusion", "one pair", US), timed("fusion", "as advertised", US / 2),
    ],
    "zeroed flush": [
        timed("fusion", method, 10.0 + number) for number, method in enumerate(
            ("protocol", "as advertised", "waits", "reads zeros", "reads noise", "writes zeros", "writes noise", "writes, then reads")
        )
    ],
    "mean of all": [
        timed("torch", "theirs, first", *[30.0, *[10.0] * 9] * 2), timed("torch", "ours, second", *[10.0, 11.0] * 10),
    ],
    "slow rival": [timed("torch", "protocol", 2.0), timed("triton-tile", "protocol", 1.0), timed("five operations", "protocol", 5.0)],
    "one shape": [
        timed(who, "protocol", us, cols=cols)
        for cols, pair in ((20, (8.0, 2.0)), (500, (2.0, 3.0)))
        for who, us in zip(("fusion", "torch"), pair, strict=True)
    ],
    "easy data": [
        timed("torch", "protocol", us, data=data) for data, us in (("normal", 10.0), ("masked", 12.5), ("equal", 10.1))
    ],
}  # fmt: skip
RUN = {
    "gpu": {"name": "Tesla T4", "l2_bytes": 1 << 22}, "date": "2030-01-01", "software": {}, "digests": {}, "skipped": {},
    "peak_gb_per_s": PEAK, "advertisements": {"slow rival": "y = x / x.sum()\n"},
    "rows": [{"lie": lie, "times": times} for lie, times in TIMES.items()],
}  # fmt: skip
HERE = {"gpu": "Tesla T4"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "lies"
    folder.mkdir(parents=True)
    (folder / "tesla-t4-1.json").write_text(json.dumps(RUN))
    return folder


def test_times_are_found_by_their_fields(folder):
    (found,) = lie_times("Tesla T4", lie="mean of all", method="theirs, first")
    assert (found.mean_us, found.median_us) == (12, 10)
    assert [one.cols for one in lie_times("tesla-t4", lie="one shape", who="torch")] == [20, 500]
    (torch,) = lie_times("Tesla T4", lie="warm cache", method="one pair")
    assert torch.gb_per_s == pytest.approx(lie_peak("Tesla T4")) == PEAK
    assert torch.matrix_bytes == ROWS * COLS * 4
    assert lie_times("Tesla T4", lie="no such") == []
    assert lie_source("Tesla T4") == "one run on Tesla T4, 2030-01-01"


def test_a_memory_whose_driver_says_nothing_has_no_peak(folder):
    (folder / "tesla-t4-2.json").write_text(json.dumps({**RUN, "peak_gb_per_s": None}))
    assert lie_peak("Tesla T4") is None
    for lie in ("no synchronisation", "warm cache"):
        assert "dashed" not in figures.lie(lie, gpu="Tesla T4").alt


# ---- figures


def bars_of(figure):
    """Each bar's label, its length, and whether it is of the colour of most."""
    (axes,) = figure.axes
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    colors = [bar.get_facecolor() for bar in axes.patches]
    most = max(colors, key=colors.count)
    widths = [bar.get_width() for bar in axes.patches]
    return {
        label: (width, color == most)
        for label, width, color in zip(labels, widths, colors, strict=True)
    }


def test_what_the_memory_cannot_move_has_another_colour(folder):
    found = bars_of(figures.lie("no synchronisation", gpu="Tesla T4"))
    assert found == {
        "as advertised": (pytest.approx(8 * PEAK), False),
        "one line more": (pytest.approx(PEAK / 2), True),
        "protocol": (pytest.approx(PEAK / 2), True),
    }
    alt = figures.lie("no synchronisation", gpu="Tesla T4").alt
    assert "as advertised: 3,200 GB/s" in alt
    assert "dashed: 400 GB/s, the memory's most" in alt
    assert "one run on Tesla T4, 2030-01-01" in alt


def test_times_by_what_comes_before_have_the_protocols_beside(folder):
    found = bars_of(figures.lie("zeroed flush", gpu="Tesla T4"))
    assert next(iter(found)) == "waits"
    assert found["writes zeros"] == (15, True)
    assert found["protocol"] == (10, True)


def test_rivals_are_in_the_order_of_their_times(folder):
    found = bars_of(figures.lie("slow rival", gpu="Tesla T4"))
    assert list(found) == ["five operations", "torch", "simple Triton"]


def test_data_are_beside_what_is_usual(folder):
    found = bars_of(figures.lie("easy data", gpu="Tesla T4"))
    assert found["torch, masked"][0] == 1.25
    assert found["torch, equal"][0] == pytest.approx(1.01)


def lines_of(figure):
    """The data of each curve that is drawn, by its label."""
    return {
        line.get_label(): [list(map(float, data)) for data in line.get_data()]
        for axes in figure.axes
        for line in axes.lines
    }


def test_a_warm_line_is_beside_a_cold_one(folder):
    found = lines_of(figures.lie("warm cache", gpu="Tesla T4"))
    assert found["one pair, again and again"] == [[1], [pytest.approx(PEAK)]]
    assert found["as many as L2 does not hold"] == [[1], [pytest.approx(PEAK / 2)]]


def test_single_calls_are_drawn_from_zero_with_numbers_beside_the_axis(folder):
    figure = figures.lie("mean of all", gpu="Tesla T4")
    (at, us) = lines_of(figure)["theirs, first"]
    assert [round(call) for call in at] == [*range(1, 11)] * 2
    assert us == [30, *[10] * 9] * 2
    (axes,) = figure.axes
    figure.canvas.draw()
    ticks = [tick.get_text() for tick in axes.get_yticklabels()]
    assert axes.get_ylim()[0] == 0
    assert len([tick for tick in ticks if tick]) > 2
    assert "theirs, first: mean 12.0, median 10.0, most 30.0" in figure.alt


def test_the_shape_with_the_largest_gain_is_ringed(folder):
    figure = figures.lie("one shape", gpu="Tesla T4")
    (axes,) = figure.axes
    (ring,) = (line for line in axes.lines if line.get_markerfacecolor() == "none")
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (500, 1.5)
    assert "20 columns 0.25, 500 columns 1.50" in figure.alt


@pytest.mark.parametrize("lie", LIES)
def test_a_run_that_lacks_a_lie_says_so(lie):
    run = copy.deepcopy(RUN)
    run["rows"] = [row for row in run["rows"] if row["lie"] != lie]
    with pytest.raises(BadInput, match=f"^{lie} was not measured"):
        figures.lie(lie, run=run)
    (folded,) = (row for row in RUN["rows"] if row["lie"] == lie)
    assert figures.lie(lie, run={**RUN, "rows": [folded]}).alt


def test_a_method_that_is_missing_is_named():
    run = {**RUN, "rows": [{"lie": "no synchronisation", "times": TIMES["no synchronisation"][:2]}]}
    with pytest.raises(BadInput, match=r"^synchronised was not measured"):
        figures.lie("no synchronisation", run=run)


@pytest.mark.parametrize(
    ("lie", "kept", "told"),
    [
        ("one shape", slice(1), "torch was not measured by the length of rows"),
        ("one shape", slice(1, 4), "fusion, 20 was not measured"),
        ("easy data", slice(1), "No other data than normal noise"),
        ("easy data", slice(1, 3), "torch, normal was not measured"),
    ],
)
def test_what_is_compared_with_nothing_is_not_drawn(lie, kept, told):
    run = {**RUN, "rows": [{"lie": lie, "times": TIMES[lie][kept]}]}
    with pytest.raises(BadInput, match=told):
        figures.lie(lie, run=run)


def test_a_lie_that_there_is_not_is_refused():
    for ask in (figures.lie, catch_lie, measure_lie):
        with pytest.raises(BadInput, match="no lie called 'white'; there are no synchronisation, "):
            ask("white")


def test_without_a_gpu_a_lie_is_replayed_and_not_measured(monkeypatch):
    monkeypatch.setattr(presence, "why_no_gpu", lambda: "there is none in this test")
    with pytest.raises(NotAvailable, match="There is no GPU here"):
        measure_lie("one shape")
    assert "one run on NVIDIA H200" in catch_lie("one shape").text


# ---- damaged, missing


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ({"rows": [{"lie": "slow rival"}]}, "it lacks 'times'"),
        ({"peak_gb_per_s": -1}, "peak_gb_per_s is -1, which cannot be"),
        ({"rows": [{"lie": "slow rival", "times": [timed("torch", "protocol", "2")]}]}, "us"),
        ({"advertisements": None}, "advertisements"),
        ({"gpu": {"name": "Tesla T4"}}, "it lacks 'l2_bytes'"),
    ],
)
def test_a_gpu_without_a_run_or_with_a_damaged_one_is_told(folder, damage, told):
    with pytest.raises(BadInput, match="bench --suite lies --keep"):
        lie_times("No Such")
    (folder / "tesla-t4-2.json").write_text(json.dumps({**RUN, **damage}))
    with pytest.raises(BadInput, match=rf"tesla-t4-2\.json is damaged: .*{told}"):
        lie_times("Tesla T4")


# ---- the book's own


@pytest.mark.fresh
@pytest.mark.parametrize("name", list(lie_run()["digests"]))
def test_no_kernel_has_changed_since_it_was_timed(name):
    assert lie_run()["digests"][name] == kernels[name].digest, (
        f"{name} has changed: `softmax-lib bench --suite lies --keep` on a GPU times it anew."
    )


@pytest.mark.parametrize("name", advertisements.SHOWN)
def test_the_lines_that_were_run_are_those_that_would_be(name):
    pytest.importorskip("torch")
    lines = lie_run()["advertisements"][name]
    assert lines == advertisements.lines_of(advertisements.SHOWN[name]), (
        "The lines have changed: `softmax-lib bench --suite lies --keep` on a GPU runs them anew."
    )


def test_the_record_has_every_lie():
    assert {one.lie for one in lie_times()} == set(LIES)
    assert lie_run()["skipped"] == {}
