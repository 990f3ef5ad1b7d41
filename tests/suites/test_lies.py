"""The lies and what catches them: advertised lines on a GPU with a made-up clock, what a run holds, what is read and drawn of it."""

from statistics import mean, median
from types import SimpleNamespace

import pytest
import torch
from suites.conftest import DEVICE_US, HOST_US

from softmax_lib import catch_lie, figures, kernels, lie_peak, lie_times
from softmax_lib.engine.errors import BadInput
from softmax_lib.gpu import presence
from softmax_lib.suites import timing
from softmax_lib.suites.cells import TURNS, alternate
from softmax_lib.suites.lies import advertisements
from softmax_lib.suites.lies import measure as lies
from softmax_lib.suites.lies.measure import SHAPES, Told
from softmax_lib.suites.lies.record import LIES, LieTime, lie_run
from softmax_lib.suites.times import times_of

RUN = lie_run()


def without(lie, is_gone):
    """The book's run of one lie alone, without the times of which `is_gone` holds."""
    (times,) = (row["times"] for row in RUN["rows"] if row["lie"] == lie)
    return {**RUN, "rows": [{"lie": lie, "times": [one for one in times if not is_gone(one)]}]}


def test_times_are_found_by_their_fields():
    (found,) = lie_times(lie="mean of all", method="theirs, first")
    assert (found.mean_us, found.median_us) == (mean(found.us), median(found.us))
    assert {one.cols for one in lie_times(lie="one shape", who="torch")} == {of for _, of in SHAPES}
    for one in lie_times(lie="warm cache", method="one pair"):
        assert one.matrix_bytes == one.rows * one.cols * 4
        assert one.gb_per_s == pytest.approx(2 * one.matrix_bytes / one.median_us / 1e3)
    assert lie_times(lie="no such") == []
    assert lie_peak() == RUN["peak_gb_per_s"]


def test_a_memory_whose_driver_says_nothing_has_no_peak(keep):
    keep("lies", {**RUN, "peak_gb_per_s": None})
    assert lie_peak("Tesla T4") is None
    for lie in ("no synchronisation", "warm cache"):
        assert "dashed" not in figures.lie(lie, gpu="Tesla T4").alt


@pytest.mark.parametrize("lie", LIES)
def test_a_run_that_lacks_a_lie_says_so(lie):
    rows = [row for row in RUN["rows"] if row["lie"] != lie]
    with pytest.raises(BadInput, match=f"^{lie} was not measured"):
        figures.lie(lie, run={**RUN, "rows": rows})
    assert figures.lie(lie, run=without(lie, lambda one: False)).alt


@pytest.mark.parametrize(
    ("lie", "gone", "told"),
    [
        ("no synchronisation", {"method": "synchronised"}, "^synchronised was not measured"),
        ("one shape", {"who": "torch"}, "torch was not measured by the length of rows"),
        ("one shape", {"who": "fusion", "cols": SHAPES[0][1]}, f"fusion, {SHAPES[0][1]} was not"),
        ("easy data", {"who": "torch", "data": "normal"}, "torch, normal was not measured"),
    ],
)
def test_what_is_compared_with_nothing_is_not_drawn(lie, gone, told):
    with pytest.raises(BadInput, match=told):
        figures.lie(lie, run=without(lie, lambda one: gone.items() <= one.items()))


def test_noise_alone_is_beside_no_other_data():
    with pytest.raises(BadInput, match="No other data than normal noise"):
        figures.lie("easy data", run=without("easy data", lambda one: one["data"] != "normal"))


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
def cpu(here, monkeypatch):
    """Let every replay take 5 us, and matrices be small, on the CPU."""
    monkeypatch.setattr(timing, "sample", lambda case: torch.randn(2, 8))
    monkeypatch.setattr(timing, "replays", lambda calls: {case: lambda: 5.0 for case in calls})
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)
    for name in ("zeros", "randn"):
        make = getattr(torch, name)
        monkeypatch.setattr(torch, name, lambda *size, device=None, make=make: make(8))
    monkeypatch.setattr(lies, "_others", lambda skipped: OTHERS)
    monkeypatch.setattr(timing, "time_once", lambda call, x, y: 7.0)
    for name in ("no_synchronisation", "synchronised", "warm_cache", "zeroed_flush"):
        monkeypatch.setattr(advertisements, name, lambda *given: 4.0)
    monkeypatch.setattr(advertisements, "mean_of_all", lambda *given: (6.0, [9.0, 3.0]))


OTHERS = dict.fromkeys(("torch.compile", "triton-tile"), torch.softmax)
"""Rivals that are not of the book."""


def groups(lie):
    return [dict(group) for group in lies.GROUPS[lie]({})]


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_measured_by_whom_and_how_the_record_has_it(cpu, lie):
    recorded = lie_times(lie=lie)
    asked = [vars(told) for group in groups(lie) for told in group]
    assert recorded
    assert asked == [{name: getattr(one, name) for name in asked[0]} for one in recorded]
    assert lie_run()["skipped"] == {}


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
def suites(cpu, monkeypatch):
    monkeypatch.setattr(lies, "peak_gb_per_s", lambda: 4916.7)
    monkeypatch.setattr(lies, "require_right", list)


def test_a_run_holds_what_a_reader_of_it_needs(suites):
    told = []
    run = lies.run_suite(lambda *words: told.append(words))
    assert [label for label, *_ in told] == [*LIES, "done"]
    assert {one.lie for one in times_of(LieTime, run)} == set(LIES)
    assert run["digests"] == {name: kernels[name].digest for name in lies.OURS}
    assert run["peak_gb_per_s"] == 4916.7
    assert set(run["advertisements"]) >= {"no synchronisation", "slow rival"}
    mean = next(one for one in times_of(LieTime, run) if one.method == "theirs, first")
    assert mean.us == [9.0, 3.0] * TURNS
    alone = lies.run_suite(lambda *words: None, ("warm cache",))
    assert {one.lie for one in times_of(LieTime, alone)} == {"warm cache"}


@pytest.mark.gpu
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_measured_on_a_gpu(lie):
    run = lies.run_suite(lambda *told: None, (lie,))
    assert run["skipped"].keys() <= {"torch.compile", "triton-tile"}
    assert {one.lie for one in times_of(LieTime, run)} == {lie}
