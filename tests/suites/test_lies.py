"""The lies and what catches them: advertised lines on a GPU with a made-up clock, what a run holds, what is read and drawn of it."""

import copy
from types import SimpleNamespace

import pytest
import torch
from suites.conftest import DEVICE_US, HOST_US

from softmax_lib import catch_lie, figures, kernels, lie_peak, lie_times
from softmax_lib.engine.errors import BadInput
from softmax_lib.gpu import presence
from softmax_lib.records.measurement import Case
from softmax_lib.suites import timing
from softmax_lib.suites.cells import TURNS, alternate
from softmax_lib.suites.lies import advertisements
from softmax_lib.suites.lies import measure as lies
from softmax_lib.suites.lies.measure import DATA, LARGE, SHAPES, SMALL, Told
from softmax_lib.suites.lies.record import ADVERTISED, LIES, PROTOCOL, lie_run, times_of

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
def folder(keep):
    keep("lies", RUN)


def test_times_are_found_by_their_fields(folder):
    (found,) = lie_times("Tesla T4", lie="mean of all", method="theirs, first")
    assert (found.mean_us, found.median_us) == (12, 10)
    assert [one.cols for one in lie_times("tesla-t4", lie="one shape", who="torch")] == [20, 500]
    (torch,) = lie_times("Tesla T4", lie="warm cache", method="one pair")
    assert torch.gb_per_s == pytest.approx(lie_peak("Tesla T4")) == PEAK
    assert torch.matrix_bytes == ROWS * COLS * 4
    assert lie_times("Tesla T4", lie="no such") == []


def test_a_memory_whose_driver_says_nothing_has_no_peak(keep):
    keep("lies", {**RUN, "peak_gb_per_s": None})
    assert lie_peak("Tesla T4") is None
    for lie in ("no synchronisation", "warm cache"):
        assert "dashed" not in figures.lie(lie, gpu="Tesla T4").alt


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


@pytest.mark.parametrize(
    ("lie", "kept", "told"),
    [
        ("no synchronisation", slice(2), "^synchronised was not measured"),
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
    for ask in (figures.lie, catch_lie):
        with pytest.raises(BadInput, match="no lie called 'white'; there are no synchronisation, "):
            ask("white")


def test_without_a_gpu_a_lie_is_replayed_and_not_measured(monkeypatch):
    monkeypatch.setattr(presence, "why_no_gpu", lambda: "there is none in this test")
    assert "one run on NVIDIA H200" in catch_lie("one shape").text


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


ZEROS_US = 70.0


@pytest.fixture
def lines(clock, monkeypatch):
    """What runs the lines."""
    monkeypatch.setattr(advertisements.time, "perf_counter", clock.perf_counter)
    flush = SimpleNamespace(zero_=lambda: clock.queue(ZEROS_US))
    monkeypatch.setattr(torch, "empty", lambda *sizes, device: flush)
    return clock


def test_without_a_synchronisation_the_host_is_timed_and_with_one_the_device(lines):
    assert advertisements.no_synchronisation(lines.softmax, None) == pytest.approx(HOST_US)
    lines.synchronize()
    found = advertisements.synchronised(lines.softmax, None)
    assert found == pytest.approx((HOST_US + 20 * DEVICE_US) / 20)


def test_a_graph_times_the_device_alone(lines):
    found = advertisements.warm_cache(lines.softmax, None, None)
    assert found == pytest.approx(DEVICE_US, rel=0.2)  # and a call's time of the host


def test_behind_a_flush_the_host_is_ahead_of_the_device(lines):
    assert advertisements.zeroed_flush(lines.softmax, None, None) == pytest.approx(DEVICE_US)


def test_one_slow_call_moves_the_mean(lines):
    lines.first_us = 1000
    mean, times = advertisements.mean_of_all(lines.softmax, None)
    assert len(times) == 10
    assert times[0] == pytest.approx(times[1] + 1000)
    assert mean == pytest.approx(times[1] + 100)


def test_the_rival_computes_softmax():
    x = torch.randn(3, 77)
    torch.testing.assert_close(advertisements.slow_rival(x), x.softmax(-1))


@pytest.mark.parametrize("name", advertisements.SHOWN)
def test_lines_are_as_wide_as_a_page_and_without_what_only_hands_over(name):
    lines = advertisements.lines_of(advertisements.SHOWN[name]).splitlines()
    assert max(map(len, lines)) <= 72
    assert not any(line.startswith((" ", "def", "return")) for line in (lines[0], lines[-1]))


@pytest.fixture
def cpu(monkeypatch):
    """Let every replay take 5 us, and matrices be small, on the CPU."""
    monkeypatch.setattr(timing, "sample", lambda case: torch.randn(2, 8))
    monkeypatch.setattr(
        timing, "replays", lambda calls: {case: lambda: 5.0 for case in calls}
    )  # fmt: skip
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)
    for name in ("synchronize", "empty_cache"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    for name in ("zeros", "randn"):
        make = getattr(torch, name)
        monkeypatch.setattr(torch, name, lambda *size, device=None, make=make: make(8))
    monkeypatch.setattr(lies, "_others", lambda skipped: {"triton-tile": torch.softmax})
    monkeypatch.setattr(timing, "time_once", lambda call, x, y: 7.0)
    for name in ("no_synchronisation", "synchronised", "warm_cache", "zeroed_flush"):
        monkeypatch.setattr(advertisements, name, lambda *given: 4.0)
    monkeypatch.setattr(advertisements, "mean_of_all", lambda *given: (6.0, [9.0, 3.0]))


def groups(lie):
    return [dict(group) for group in lies.GROUPS[lie]({})]


def test_each_lie_has_its_groups():
    assert tuple(lies.GROUPS) == LIES


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_measured_beside_the_protocol_on_the_same_matrices(cpu, lie):
    for group in groups(lie):
        by_protocol = {(one.rows, one.cols) for one in group if one.method == PROTOCOL}
        assert {(one.rows, one.cols) for one in group} == by_protocol
        for told in group:
            Case(told.who, told.rows, told.cols, data=told.data)  # is one


def test_what_is_advertised_stands_beside_its_controls(cpu):
    (sync,) = groups("no synchronisation")
    assert [one.method for one in sync] == [PROTOCOL, ADVERTISED, "synchronised"]
    warm = groups("warm cache")
    assert [one.rows for group in warm for one in group if one.method == ADVERTISED] == [SMALL[0]]
    assert all({PROTOCOL, "one pair"} <= {one.method for one in group} for group in warm)
    (flush,) = groups("zeroed flush")
    words = {f"{does} {what}" for does in ("writes", "reads") for what in ("zeros", "noise")}
    also = {PROTOCOL, ADVERTISED, "waits", "writes, then reads"}
    assert {one.method for one in flush} == words | also
    (mean,) = groups("mean of all")
    assert [one.method for one in mean] == [
        PROTOCOL,
        "theirs, first",
        "ours, second",
        "with memory",
    ]


def test_rivals_shapes_and_data_are_timed_by_the_protocol_alone(cpu):
    (rivals,) = groups("slow rival")
    assert {"five operations", "torch", "fusion", "copy", "triton-tile"} == {
        one.who for one in rivals
    }
    shapes = groups("one shape")
    assert [next(iter(group)).cols for group in shapes] == [cols for _, cols in SHAPES]
    assert LARGE in SHAPES
    assert {rows * cols for rows, cols in SHAPES} == {LARGE[0] * LARGE[1]}
    (data,) = groups("easy data")
    assert {one.data for one in data} == set(DATA)
    assert {"shuffle", "shuffle_divide"} < {one.who for one in data}
    assert kernels["shuffle_divide"].of == "shuffle"


def test_methods_take_turns_each_once_untimed_and_the_device_idle_before(monkeypatch):
    log = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: log.append("wait"))

    def method(name, *samples):
        return lambda: log.append(name) or list(samples)

    first, second = (Told("torch", name, 1, 1) for name in "ab")
    found = alternate({first: method("a", 1.0), second: method("b", 2.0, 3.0)}, turns=2)
    assert log == ["wait", "a", "wait", "b"] * 3
    assert found == {first: [1.0] * 2, second: [2.0, 3.0] * 2}


@pytest.fixture
def suites(cpu, here, monkeypatch):
    monkeypatch.setattr(lies, "peak_gb_per_s", lambda: 4916.7)
    monkeypatch.setattr(lies, "require_right", list)


def test_a_run_holds_what_a_reader_of_it_needs(suites):
    told = []
    run = lies.run_suite(lambda *words: told.append(words))
    assert [label for label, *_ in told] == [*LIES, "done"]
    assert {one.lie for one in times_of(run)} == set(LIES)
    assert run["digests"] == {name: kernels[name].digest for name in lies.OURS}
    assert run["peak_gb_per_s"] == 4916.7
    assert set(run["advertisements"]) >= {"no synchronisation", "slow rival"}
    mean = next(one for one in times_of(run) if one.method == "theirs, first")
    assert mean.us == [9.0, 3.0] * TURNS


def test_a_lie_can_be_told_alone(suites):
    run = lies.run_suite(lambda *words: None, ("warm cache",))
    assert {one.lie for one in times_of(run)} == {"warm cache"}


@pytest.mark.gpu
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_measured_on_a_gpu(lie):
    run = lies.run_suite(lambda *told: None, (lie,))
    assert run["skipped"].keys() <= {"torch.compile", "triton-tile"}
    assert {one.lie for one in times_of(run)} == {lie}
