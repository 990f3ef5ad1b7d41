"""The kept runs of the suite symptoms: what is read of them, and what is said of one that is damaged or missing."""

import copy

import pytest
from suites import symptom_records

from softmax_lib import kernels
from softmax_lib.engine.errors import BadInput
from softmax_lib.suites.symptoms.measure import SIDES
from softmax_lib.suites.symptoms.record import (
    PROGRAMS,
    SYMPTOMS,
    symptom_run,
    symptom_source,
    symptom_times,
    timeline_events,
)


@pytest.fixture(autouse=True)
def readers(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    symptom_records.write(tmp_path, symptom_records.run())
    return tmp_path


def test_times_are_found_by_symptom_and_role():
    (first, control, last) = symptom_times("Tesla T4", symptom="barriers")
    assert [one.median_us for one in (first, control, last)] == [10, 6, 4]
    assert (first.side, last.side) == (SIDES["barriers"][0], SIDES["barriers"][2])
    assert first.gb_per_s == pytest.approx(2 * 4096 * 1024 * 4 / 10 / 1e3)
    assert first.profile.stalls["barrier"] == 17 / (17 + 17)
    (eager,) = symptom_times("Tesla T4", symptom="host-bound", role="symptom")
    with pytest.raises(BadInput, match="ncu did not count torch for host-bound"):
        _ = eager.profile
    assert symptom_source("Tesla T4") == "one run on Tesla T4, 2030-01-01"


def test_a_timeline_is_found_by_its_program():
    (call, _, kernel) = timeline_events("small, eager", "Tesla T4")
    assert (call.track, call.end_us, kernel.at_us) == ("call", 9, 16)
    with pytest.raises(BadInput, match="no timeline of 'large'; there are small, eager, "):
        timeline_events("large", "Tesla T4")


def damaged(**changes):
    """The first line of the first symptom with something else in it."""
    rows = copy.deepcopy(symptom_records.run()["rows"])
    rows[0]["times"][0] |= changes
    return {"rows": rows}


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ({"rows": [{"symptom": "barriers"}]}, "it lacks 'times'"),
        ({"rows": [{"symptom": "hurry", "times": damaged()["rows"][0]["times"]}]}, "symptom is 'hurry'"),
        (damaged(role="witness"), "role is 'witness'"),
        (damaged(how="fast"), "how is 'fast'"),
        (damaged(us=[0.0]), "us is"),
        (damaged(counters={"hopes": 1}), "hopes is no counter"),
        ({"timelines": [{"program": "small, eager", "events": [{"track": "call", "name": "a", "at_us": -1, "us": 1.0}]}]}, "at_us is -1"),
        ({"timelines": [{"program": "small, eager", "events": []}]}, "small, eager has no kernel"),
        (damaged(who="nobody"), "'nobody' is not known here"),
        ({"timelines": None}, "timelines|NoneType"),
        ({"gpu": {"name": "Tesla T4", "l2_bytes": 1}}, "it lacks 'multiprocessors'"),
    ],
)  # fmt: skip
def test_a_gpu_without_a_run_or_with_a_damaged_one_is_told(readers, damage, told):
    with pytest.raises(BadInput, match="bench --suite symptoms --keep"):
        symptom_times("No Such")
    symptom_records.write(readers, symptom_records.run(**damage))
    with pytest.raises(BadInput, match=rf"tesla-t4-1\.json is damaged: .*({told})"):
        symptom_times("Tesla T4")


# ---- the book's own


@pytest.mark.fresh
@pytest.mark.parametrize("name", list(symptom_run()["digests"]))
def test_no_kernel_has_changed_since_it_was_timed(name):
    assert symptom_run()["digests"][name] == kernels[name].digest, (
        f"{name} has changed: `softmax-lib bench --suite symptoms --keep` on a GPU times it anew."
    )


def test_the_record_has_every_side_of_every_symptom_and_every_timeline():
    found = [(one.symptom, one.side) for one in symptom_times()]
    assert found == [(symptom, side) for symptom in SYMPTOMS for side in SIDES[symptom]]
    assert symptom_run()["skipped"] == {}
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
