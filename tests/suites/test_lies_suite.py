"""The lies and what catches them: the advertised lines on a GPU with a made-up clock, what a run holds, what its table tells."""

from types import SimpleNamespace

import pytest
import torch

from softmax_lib import kernels
from softmax_lib.cli.suite_table import print_lies
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.records.measurement import Case
from softmax_lib.suites import timing
from softmax_lib.suites.lies import advertisements
from softmax_lib.suites.lies import groups as lie_groups
from softmax_lib.suites.lies import measure as lies
from softmax_lib.suites.lies.groups import DATA, LARGE, SHAPES, SMALL, Told
from softmax_lib.suites.lies.record import ADVERTISED, LIES, PROTOCOL, times_of
from softmax_lib.suites.peers import measure as suite

HOST_US, DEVICE_US, ZEROS_US = 9.0, 100.0, 70.0


class Clock:
    """A host that takes 9 us to queue a call, and a device that takes 100 us for each, one after the other."""

    def __init__(self):
        self.host_us = self.device_us = 0.0
        self.first_us = 0.0

    def perf_counter(self):
        return self.host_us / 1e6

    def queue(self, us):
        self.host_us += HOST_US
        self.device_us = max(self.device_us, self.host_us) + us

    def softmax(self, *_):
        """The first call keeps the host `first_us` longer."""
        self.host_us += self.first_us
        self.first_us = 0.0
        self.queue(DEVICE_US)

    def synchronize(self):
        self.host_us = max(self.host_us, self.device_us)

    def event(self, enable_timing):
        return Event(self)


class Event:
    """Notes when the device reaches it, which is at once where the device has nothing to do."""

    def __init__(self, clock):
        self.clock = clock

    def record(self):
        self.at_us = self.clock.device_us = max(self.clock.device_us, self.clock.host_us)

    def synchronize(self):
        self.clock.synchronize()

    def elapsed_time(self, end):
        return (end.at_us - self.at_us) / 1e3


class Graph:
    """What is called within `capture` is queued by each replay, in one call of the host."""

    def __init__(self, clock):
        self.clock = clock

    def replay(self):
        self.clock.queue(self.queued_us)


class Capture:
    def __init__(self, graph):
        self.graph, self.clock = graph, graph.clock

    def __enter__(self):
        self.before = self.clock.host_us, self.clock.device_us
        self.clock.host_us = self.clock.device_us = 0.0

    def __exit__(self, *_):
        self.graph.queued_us = self.clock.device_us
        self.clock.host_us, self.clock.device_us = self.before


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(advertisements.time, "perf_counter", found.perf_counter)
    monkeypatch.setattr(torch.cuda, "synchronize", found.synchronize)
    monkeypatch.setattr(torch.cuda, "Event", found.event)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: Graph(found))
    monkeypatch.setattr(torch.cuda, "graph", Capture)
    flush = SimpleNamespace(zero_=lambda: found.queue(ZEROS_US))
    monkeypatch.setattr(torch, "empty", lambda *sizes, device: flush)
    return found


def test_without_a_synchronisation_the_host_is_timed_and_with_one_the_device(clock):
    assert advertisements.no_synchronisation(clock.softmax, None) == pytest.approx(HOST_US)
    clock.synchronize()
    found = advertisements.synchronised(clock.softmax, None)
    assert found == pytest.approx((HOST_US + 20 * DEVICE_US) / 20)


def test_a_graph_times_the_device_alone(clock):
    found = advertisements.warm_cache(clock.softmax, None, None)
    assert found == pytest.approx(DEVICE_US, rel=0.2)  # and a call's time of the host


def test_behind_a_flush_the_host_is_ahead_of_the_device(clock):
    assert advertisements.zeroed_flush(clock.softmax, None, None) == pytest.approx(DEVICE_US)


def test_one_slow_call_moves_the_mean(clock):
    clock.first_us = 1000
    mean, times = advertisements.mean_of_all(clock.softmax, None)
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


# ---- groups


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
    monkeypatch.setattr(lie_groups, "_others", lambda x, skipped: {"triton-tile": torch.softmax})
    monkeypatch.setattr(timing, "time_once", lambda call, x, y: 7.0)
    for name in ("no_synchronisation", "synchronised", "warm_cache", "zeroed_flush"):
        monkeypatch.setattr(advertisements, name, lambda *given: 4.0)
    monkeypatch.setattr(advertisements, "mean_of_all", lambda *given: (6.0, [9.0, 3.0]))


def groups(lie):
    return [dict(group) for group in lie_groups.GROUPS[lie]({})]


def test_each_lie_has_its_groups():
    assert tuple(lie_groups.GROUPS) == LIES


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
    found = lies.alternate({first: method("a", 1.0), second: method("b", 2.0, 3.0)}, turns=2)
    assert log == ["wait", "a", "wait", "b"] * 3
    assert found == {first: [1.0] * 2, second: [2.0, 3.0] * 2}


# ---- a run


@pytest.fixture
def suites(cpu, monkeypatch):
    for name in ("busy", "slowed", "gpu_facts", "versions", "today"):
        monkeypatch.setattr(suite, name, dict)
    monkeypatch.setattr(lies, "peak_gb_per_s", lambda: 4916.7)
    monkeypatch.setattr(lies, "check", lambda name, device: SimpleNamespace(ok=True))


def test_a_run_holds_what_a_reader_of_it_needs(suites):
    told = []
    run = lies.run_lies(lambda *words: told.append(words))
    assert [label for label, *_ in told] == [*LIES, "done"]
    assert {one.lie for one in times_of(run)} == set(LIES)
    assert run["digests"] == {name: kernels[name].digest for name in lie_groups.OURS}
    assert run["peak_gb_per_s"] == 4916.7
    assert set(run["advertisements"]) >= {"no synchronisation", "slow rival"}
    mean = next(one for one in times_of(run) if one.method == "theirs, first")
    assert mean.us == [9.0, 3.0] * lies.TURNS


def test_a_lie_can_be_told_alone(suites):
    run = lies.run_lies(lambda *words: None, ("warm cache",))
    assert {one.lie for one in times_of(run)} == {"warm cache"}


def test_a_kernel_that_is_wrong_is_not_timed(suites, monkeypatch):
    wrong = SimpleNamespace(ok=False, verdict="fusion: 1 launch, wrong")
    monkeypatch.setattr(lies, "check", lambda name, device: wrong)
    with pytest.raises(NotAvailable, match="1 launch, wrong"):
        lies.run_lies(lambda *told: None)


FOUND = {
    "gpu": {"name": "Test GPU"}, "date": "2026-01-01", "notes": ["it was warm"],
    "skipped": {"triton-tile": "triton-tile cannot be had"},
    "rows": [{"lie": "slow rival", "times": [
        {"who": "five operations", "method": PROTOCOL, "rows": 1000, "cols": 500, "data": "normal", "us": [1.0, 2.0, 9.0]},
    ]}],
}  # fmt: skip


def test_the_table_has_a_line_for_each_time(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    print_lies(FOUND)
    said = capsys.readouterr().out
    for part in ("Test GPU", "slow rival", "five operations", "1000x500", "2.00", "4.00", "2,000"):
        assert part in said
    assert "cannot be had" in said
    assert "it was warm" in said


@pytest.mark.gpu
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_measured_on_a_gpu(lie):
    run = lies.run_lies(lambda *told: None, (lie,))
    assert run["skipped"].keys() <= {"torch.compile", "triton-tile"}
    assert {one.lie for one in times_of(run)} == {lie}
