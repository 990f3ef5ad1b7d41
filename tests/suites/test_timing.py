"""The timing protocol, as far as it is arithmetic: how many pairs, how often, and in what order."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from softmax_lib.records.measurement import Case
from softmax_lib.suites import timing
from softmax_lib.suites.model import measure as transformer
from softmax_lib.worklog.errors import BadInput

L2 = 60 << 20


# Hardly enough, less than the cache, as much as it, more than it, and far more than ten times it.
@pytest.mark.parametrize("matrix_bytes", [3146, 1 << 20, L2, 3 * L2, 1 << 34])
def test_pairs_push_each_other_out_of_a_cold_cache_and_are_no_more_than_that_takes(matrix_bytes):
    pairs = timing.pairs_needed(2 * matrix_bytes, L2)
    between = 2 * matrix_bytes * pairs  # bytes that move until a pair comes round again
    assert pairs >= 1
    assert between >= timing.COLD_BY * L2
    assert pairs == 1 or between - 2 * matrix_bytes < timing.COLD_BY * L2
    assert timing.pairs_needed(2 * matrix_bytes, L2, "hot") == 1


def test_a_call_too_short_for_a_cold_cache_is_one_sentence():
    with pytest.raises(BadInput, match=r"moves 120 bytes is too short .* the 6292 that it takes"):
        timing.pairs_needed(120, L2)
    assert timing.pairs_needed(120, L2, "hot") == 1


@pytest.mark.parametrize(("round_us", "rounds"), [
    (timing.LONG_ENOUGH_US, 1), (10 * timing.LONG_ENOUGH_US, 1), (timing.LONG_ENOUGH_US / 20, 20), (0.001, timing.MOST_ROUNDS),
])  # fmt: skip
def test_a_graph_is_long_enough_and_bounded(round_us, rounds):
    assert timing.rounds_needed(round_us) == rounds


class Contender:
    """Its replays take `ms`; writes each into a log that all share."""

    def __init__(self, name, ms, log):
        self.name, self.ms, self.log = name, ms, log

    def replay(self):
        self.log.append(self.name)
        return self, self

    def elapsed_time(self, end):
        assert self.log[-1] == "wait", "asked before the device was done"
        return self.ms


def turns(*milliseconds, replays):
    """The log of a run of contenders a, b, ..., and how often each was timed."""
    log = []
    named = {
        Case("abc"[i], 1, 1): Contender("abc"[i], ms, log) for i, ms in enumerate(milliseconds)
    }
    elapsed = timing.take_turns(named, replays, lambda: log.append("wait"))
    return log, {case.provider: len(times) for case, times in elapsed.items()}


def test_contenders_take_turns_so_that_a_drift_meets_all_of_them():
    log, times = turns(1.0, 2.0, 3.0, replays=4)
    assert log == ["a", "b", "c", "wait"] * 4
    assert times == {"a": 4, "b": 4, "c": 4}


def test_who_has_been_timed_long_and_often_enough_sits_out_and_no_one_else():
    log, times = turns(1.0, timing.ENOUGH_MS, 0.3 * timing.ENOUGH_MS, replays=8)
    assert times == {"a": 8, "b": 5, "c": 5}  # five times at least, however long they take
    assert log[-2:] == ["a", "wait"]


def test_a_timing_is_the_median_and_its_quartiles_of_one_call():
    found = timing.summary([3.0, 1.0, 2.0, 4.0, 5.0], calls=10)
    assert found.median_us == 300.0
    assert found.low_us < 300.0 < found.high_us
    assert timing.summary([2.0] * 5, calls=1000) == timing.Timing(2.0, 2.0, 2.0)


def test_the_float4_copy_takes_part_where_16_bytes_divide_the_matrix():
    both, one = (
        timing.copies(Case("torch", 1, 8, "bfloat16")),
        timing.copies(Case("shared", 1, 7, block_size=32)),
    )
    assert [(case.provider, case.dtype) for case in both] == [
        ("torch copy", "bfloat16"), ("copy", "bfloat16")
    ]  # fmt: skip
    assert list(one) == [Case("torch copy", 1, 7)]


@pytest.fixture
def streams(clock, monkeypatch):
    stream = SimpleNamespace(wait_stream=lambda other: None)
    for name in ("Stream", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    return clock


def test_a_graph_walks_through_all_pairs_and_a_call_takes_its_share(streams):
    asked = []

    def call(x, y):
        asked.append((x, y))
        streams.queue(60.0)
        return x

    walk = timing.Walk([1, 2, 3], [4, 5, 6], lambda: pytest.fail("no call is long"))
    graph = timing.capture(call, walk)
    rounds = graph.calls // 3
    assert graph.calls == len(graph.results) == 3 * rounds >= 0.9 * timing.LONG_ENOUGH_US / 63
    assert asked[-graph.calls :] == [(1, 4), (2, 5), (3, 6)] * rounds
    assert graph.time_us() == pytest.approx(60, rel=0.2)
    found = timing.time_graphs({"a": graph, "b": graph}, replays=4)
    assert found["b"].median_us == pytest.approx(60, rel=0.2)


def test_a_long_call_is_timed_alone_behind_an_empty_cache(streams):
    log = []
    walk = timing.Walk([1, 2], [3, 4], lambda: log.append("emptied"))
    graph = timing.capture(lambda x, y: streams.queue(2 * timing.LONG_CALL_US), walk)
    assert graph.calls == 1
    assert graph.time_us() == pytest.approx(2 * timing.LONG_CALL_US, rel=0.01)
    graph.replay()
    assert log == ["emptied"] * 2


def test_a_model_is_timed_by_calls_that_take_turns(clock):
    found = transformer._time({"torch": clock.softmax, "softmax_lib": clock.softmax})
    assert found == {
        "torch": pytest.approx(0.1, rel=0.1),
        "softmax_lib": pytest.approx(0.1, rel=0.1),
    }
