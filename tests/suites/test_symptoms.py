"""The suite symptoms: who is timed beside whom, what a run holds, what a trace tells, what is read of a run."""

from unittest.mock import Mock

import pytest
from suites.conftest import book_run

from softmax_lib import kernels
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.records.measurement import Profile
from softmax_lib.suites import timing
from softmax_lib.suites.symptoms import measure as symptoms
from softmax_lib.suites.symptoms.measure import SIDES, events_of
from softmax_lib.suites.symptoms.record import (
    PROGRAMS,
    SYMPTOMS,
    symptom_source,
    symptom_times,
    timeline_events,
    timelines_of,
    times_of,
)


def test_a_time_has_its_side_its_counters_and_where_it_comes_from():
    first, *_, last = symptom_times(symptom="barriers")
    assert (first.side, last.side) == (SIDES["barriers"][0], SIDES["barriers"][-1])
    assert first.gb_per_s == pytest.approx(2 * first.rows * first.cols * 4 / first.median_us / 1e3)
    assert first.profile.counters == first.counters
    (eager,) = symptom_times(symptom="host-bound", role="symptom")
    with pytest.raises(BadInput, match="ncu did not count torch for host-bound"):
        _ = eager.profile
    assert symptom_source() == f"one run on NVIDIA H200, {book_run('symptoms')['date']}"


def test_a_timeline_is_found_by_its_program():
    call, *_, kernel = timeline_events("small, eager")
    assert (call.track, kernel.track, call.end_us) == ("call", "kernel", call.at_us + call.us)
    with pytest.raises(BadInput, match="no timeline of 'large'; there are small, eager, "):
        timeline_events("large")


def test_the_record_has_every_side_of_every_symptom_and_every_timeline():
    found = [(one.symptom, one.side) for one in symptom_times()]
    assert found == [(symptom, side) for symptom in SYMPTOMS for side in SIDES[symptom]]
    assert book_run("symptoms")["skipped"] == {}
    for program in PROGRAMS:
        kinds = {"launch", "kernel"} if "graph" in program else {"call", "launch", "kernel"}
        assert {one.track for one in timeline_events(program)} == kinds


@pytest.mark.parametrize("symptom", [one for one in SYMPTOMS if one != "L2-resident"])
def test_a_cure_is_faster_than_its_symptom(symptom):
    first, *_, last = symptom_times(symptom=symptom)
    assert last.median_us < first.median_us


def test_counters_that_need_no_gpu_are_those_that_ncu_counts():
    found = {one.role: one.counters for one in symptom_times(symptom="uncoalesced")}
    assert {role: c["global_load_sectors"] / c["global_load_requests"] for role, c in found.items()} == {
        "symptom": 32, "cure": 4,
    }  # fmt: skip


@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_a_kernel_takes_its_matrix_and_differs_from_its_cure_in_one_thing(symptom):
    first, *_, last = SIDES[symptom]
    for side in SIDES[symptom]:
        if side.who in kernels:
            kernels[side.who].settle_block_size(side.case.block_size, side.cols)
    assert (first.rows, first.cols) == (last.rows, last.cols)
    same = [first.who == last.who, first.block_size == last.block_size, first.how == last.how]
    assert same.count(False) == (2 if symptom == "tail of blocks" else 1)


@pytest.fixture
def gpu(here, monkeypatch):
    us = {"cold": lambda: 9.0, "hot": lambda: 5.0}
    monkeypatch.setattr(timing, "replays", lambda calls: {case: us[case.l2] for case in calls})
    monkeypatch.setattr(symptoms, "_queue", lambda *given: lambda: None)
    monkeypatch.setattr(symptoms, "require_right", list)
    seen = {"track": "kernel", "name": "k", "at_us": 0.0, "us": 1.0}
    monkeypatch.setattr(symptoms, "see", lambda program: [seen])
    counted = lambda cases, _: [Profile(one, {"instructions": one.block_size}) for one in cases]  # noqa: E731
    monkeypatch.setattr(symptoms.ncu, "profile", counted)


def test_a_run_holds_every_symptom_its_counters_and_the_timelines(gpu):
    told = []
    run = symptoms.run_suite(lambda *words: told.append(words))
    assert [label for label, *_ in told] == [*SYMPTOMS, "done"]
    found = {(one.symptom, one.side): one for one in times_of(run)}
    assert list(found) == [(symptom, side) for symptom in SYMPTOMS for side in SIDES[symptom]]
    assert tuple(timelines_of(run)) == PROGRAMS
    assert run["digests"] == {name: kernels[name].digest for name in symptoms.OURS}
    warm, cold = (found["L2-resident", side] for side in SIDES["L2-resident"])
    assert (warm.median_us, cold.median_us) == (5.0, 9.0)
    assert [set(one.counters) for one in (warm, cold)] == [set(), {"instructions"}]
    few = found["low occupancy", SIDES["low occupancy"][0]]
    assert few.counters == {"instructions": 32}


def test_without_ncu_there_are_times_and_a_reason(gpu, monkeypatch):
    refuse = Mock(side_effect=NotAvailable("ncu is not there"))
    monkeypatch.setattr(symptoms.ncu, "profile", refuse)
    run = symptoms.run_suite(lambda *words: None, ("barriers",))
    assert run["skipped"] == {"ncu": "ncu is not there"}
    assert [one.counters for one in times_of(run)] == 3 * [{}]


def event(category, name, at, us, kind="X"):
    return {"ph": kind, "cat": category, "name": name, "ts": at, "dur": us}


TRACE = {"traceEvents": [
    event("kernel", "softmax_warm_up", 90, 5),
    event("gpu_user_annotation", "mine", 106, 4),
    event("user_annotation", "mine", 100, 50),
    event("kernel", "softmax_forward", 110, 3),
    event("cpu_op", "aten::softmax", 101, 6),
    event("cpu_op", "aten::_softmax", 102, 4),
    event("cuda_runtime", "cudaLaunchKernel", 103, 2),
    event("cuda_runtime", "cudaDeviceSynchronize", 108, 40),
    {"ph": "M", "name": "process_name"},
    event("kernel", "softmax_after", 150, 5),
]}  # fmt: skip


def test_a_timeline_is_what_lies_within_its_mark_in_the_order_of_time():
    found = list(events_of(TRACE, "mine"))
    assert [(one["track"], one["at_us"], one["us"]) for one in found] == [
        ("call", 1, 6), ("launch", 3, 2), ("kernel", 10, 3),
    ]  # fmt: skip


@pytest.mark.gpu
def test_all_symptoms_are_measured_on_a_gpu():
    run = symptoms.run_suite(lambda *told: None)
    found = times_of(run)
    assert {one.symptom for one in found} == set(SYMPTOMS)
    assert {one.side.how for one in found} == {"cold", "warm", "eager", "graph"}
    kinds = {one.track for events in timelines_of(run).values() for one in events}
    assert kinds == {"call", "launch", "kernel"}
