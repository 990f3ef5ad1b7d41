"""Recording: how it resumes, what it never mixes or destroys; the timing is faked."""

import itertools
import json
from dataclasses import replace

import pytest
import torch
from sample_records import write
from suites.conftest import planned

from softmax_lib.cli import main
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.records import shelf
from softmax_lib.records.measurement import PEERS, Measurement, Probe, Profile
from softmax_lib.records.record import load
from softmax_lib.records.schema import METRICS
from softmax_lib.records.shelf import recorded
from softmax_lib.suites import recording
from softmax_lib.suites.plan import HOST_SHAPE, plan, profiled
from softmax_lib.worklog import checking
from softmax_lib.worklog.errors import Unfinished
from softmax_lib.worklog.registry import kernels


def shapes(cases):
    return {(case.shape, case.dtype, case.l2, case.data) for case in cases}


# --- a GPU that is not there -----------------------------------------------------------------


class FakeGpu:
    """Times everything as 2 µs, copies as 1; remembers what it was asked, and may stop or refuse."""

    def __init__(self):
        self.jobs, self.profiled = [], []
        self.stop_after, self.refuses = None, set()
        self.facts = {
            "name": "Test GPU", "compute_capability": "9.9", "multiprocessors": 132, "l2_bytes": 1,
            "memory_bytes": 1, "driver": "1",
        }  # fmt: skip
        self.versions, self.date, self.ncu = {"torch": "1"}, "2030-01-01", True
        self.busy, self.slowed = [], []
        self.probes = [Probe("latency", {"kib": 4}, {"cycles": 40.0, "ns": 20.0})]

    def time_together(self, cases, *, host, search, skipped):
        if len(self.jobs) == self.stop_after:
            raise KeyboardInterrupt
        self.jobs.append((cases[0].shape, cases[0].dtype, cases[0].l2, cases[0].data))
        if search:  # as if the first block size were far better than the others
            first = {case.provider: case for case in reversed(cases) if case.block_size}
            cases = [c for c in cases if c.step or first.get(c.provider, c) in (c, None)]
        for case in cases:
            if case.provider in self.refuses:
                skipped(case.provider, f"{case.provider} cannot be had")
        return [
            Measurement(case, 2.0, 1.9, 2.1, 1.0, 5.0 if host else None)
            for case in cases
            if case.provider not in self.refuses
        ]

    def profile(self, cases, note):
        if not self.ncu:
            raise NotAvailable("ncu may not count.")
        self.profiled += cases
        return [Profile(case, dict.fromkeys(METRICS, 7)) for case in cases]


@pytest.fixture
def gpu(monkeypatch):
    fake = FakeGpu()
    monkeypatch.setattr(checking, "why_no_gpu", lambda: None)
    monkeypatch.setattr(recording, "time_together", fake.time_together)
    monkeypatch.setattr(recording.ncu, "profile", fake.profile)
    monkeypatch.setattr(recording, "gpu_facts", lambda: dict(fake.facts))
    monkeypatch.setattr(recording, "versions", lambda: dict(fake.versions))
    monkeypatch.setattr(recording, "today", lambda: fake.date)
    monkeypatch.setattr(recording, "clocks", lambda: {"clocks.sm": "1 MHz"})
    monkeypatch.setattr(recording, "busy", lambda: fake.busy)
    monkeypatch.setattr(recording, "slowed", lambda: fake.slowed)
    monkeypatch.setattr(recording, "probe_all", lambda: fake.probes)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: fake.facts["name"])
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    return fake


@pytest.fixture
def path(tmp_path):
    return tmp_path / "test-gpu.json"


def record(path, **options):
    heard = []
    recording.record(path, progress=lambda *told: heard.append(told), **options)
    return heard


def keys(cases):
    """Who was timed on what, whatever the block size."""
    return {replace(case, block_size=None) for case in cases}


def interrupt(gpu, path, jobs):
    gpu.stop_after = len(gpu.jobs) + jobs
    with pytest.raises(KeyboardInterrupt):
        record(path)
    gpu.stop_after = None


def test_a_recording_is_whole_valid_and_tells_how_far_it_is(gpu, path):
    heard = record(path)
    made = load(path)
    assert keys(made.timings) == keys(planned())
    assert [profile.case for profile in made.profiles] == profiled()
    assert made.probes == gpu.probes
    assert made.content["clocks"].keys() == {"before", "after"}
    assert made.content["kernels"]["naive"] == kernels["naive"].digest
    with_host = {case for case, timing in made.timings.items() if timing.host_us}
    assert keys(with_host) == keys(case for case in planned() if case.shape == HOST_SHAPE)
    (total,) = {total for *_, total in heard}
    assert [done for _, done, _ in heard] == list(range(total + 1))
    assert total > len(plan())
    assert [file.name for file in path.parent.iterdir()] == ["test-gpu.json"]


def test_an_interrupted_recording_keeps_what_is_done_and_goes_on_there(gpu, path):
    interrupt(gpu, path, jobs=3)
    assert not path.exists()
    kept = load(path.with_name("test-gpu.json.part"))
    assert shapes(kept.timings) == set(gpu.jobs)
    record(path)
    assert len(gpu.jobs) == len(plan())  # none was done twice
    assert keys(load(path).timings) == keys(planned())
    assert not path.with_name("test-gpu.json.part").exists()


def test_an_interruption_leaves_an_older_record_whole(gpu, path):
    record(path)
    old = path.read_text()
    gpu.date = "2030-01-02"
    interrupt(gpu, path, jobs=1)
    assert path.read_text() == old
    record(path)
    assert load(path).content["date"] == "2030-01-02"


def test_recording_again_on_the_same_day_measures_nothing_twice(gpu, path):
    record(path)
    gpu.jobs, gpu.profiled = [], []
    record(path)
    assert gpu.jobs == gpu.profiled == []
    assert keys(load(path).timings) == keys(planned())


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("date", "2030-01-02"),
        ("versions", {"torch": "2"}),
        ("facts", {**FakeGpu().facts, "driver": "2"}),
    ],
)
def test_rows_of_another_day_gpu_or_software_are_not_mixed_in(gpu, path, name, other):
    interrupt(gpu, path, jobs=3)
    setattr(gpu, name, other)
    record(path)
    assert len(gpu.jobs) == 3 + len(plan())


def test_a_kernel_that_changed_is_measured_and_profiled_again_and_only_it(gpu, path):
    record(path)
    changed = json.loads(path.read_text())
    changed["kernels"]["shared"] = "0" * 64
    write(path, changed)
    gpu.jobs, gpu.profiled = [], []
    record(path)
    assert set(gpu.jobs) == shapes(case for case in planned() if case.provider == "shared")
    assert {case.provider for case in gpu.profiled} == {"shared"}
    assert not load(path).is_stale("shared")


def test_a_kernel_that_changed_since_it_was_skipped_is_tried_again(gpu, path):
    record(path)
    mended = json.loads(path.read_text())
    mended["kernels"]["shared"] = "0" * 64
    rows = [row for row in mended["rows"] if row["provider"] == "shared"]
    mended["rows"] = [row for row in mended["rows"] if row["provider"] != "shared"]
    mended["skipped"] = {
        f"shared ({row['rows']}, {row['cols']}) {row['dtype']}": "it was wrong" for row in rows
    }
    write(path, mended)
    record(path)
    made = load(path)
    assert made.skipped == {}
    assert keys(made.timings) == keys(planned())


def test_a_peer_that_is_missing_is_skipped_by_name_and_not_tried_again(gpu, path):
    gpu.refuses = {"liger"}
    record(path)
    made = load(path)
    assert made.skipped == {"liger": "liger cannot be had"}
    recorded = {name for name, kernel in kernels.items() if not kernel.suite}
    assert made.providers == (recorded | set(PEERS)) - {"liger"}
    jobs = len(gpu.jobs)
    record(path)
    assert len(gpu.jobs) == jobs


def test_without_counters_a_recording_says_why_and_loses_none_that_it_has(gpu, path):
    gpu.ncu = False
    record(path)
    assert load(path).skipped == {"ncu": "ncu may not count."}
    gpu.ncu = True
    record(path)
    assert load(path).skipped == {}
    gpu.ncu = False
    record(path)
    assert len(load(path).profiles) == len(profiled())


def test_a_recording_out_of_time_keeps_what_is_done_and_says_how_to_go_on(gpu, path, monkeypatch):
    clock = itertools.count(0, 60)
    monkeypatch.setattr(recording.time, "monotonic", lambda: next(clock))
    with pytest.raises(Unfinished, match=r"^4 of \d+ parts are done .*\.part; call it again"):
        record(path, minutes=4.5)
    assert not path.exists()
    assert len(gpu.jobs) == 3  # and the probes


def test_a_quick_recording_does_not_replace_another_days_record(gpu, path):
    record(path)
    old, gpu.date = path.read_text(), "2030-01-02"
    with pytest.raises(BadInput, match=r"holds the record of Test GPU, 2030-01-01.*--output"):
        record(path, quick=True)
    assert path.read_text() == old
    record(path.with_name("quick.json"), quick=True)
    quick = load(path.with_name("quick.json"))
    assert keys(quick.timings) == keys(planned(quick=True))
    assert quick.probes == []


def test_a_damaged_record_or_a_place_that_cannot_be_written_is_refused_at_once(gpu, path):
    path.write_text("{")
    for place, said in ((path, "is damaged"), (path / "x.json", "Cannot write the record")):
        with pytest.raises(BadInput, match=said):
            record(place)
    assert path.read_text() == "{"
    assert gpu.jobs == []


def test_without_a_name_the_record_goes_where_records_are_looked_for(gpu, own, monkeypatch, capsys):
    monkeypatch.setattr(shelf, "FOLDER", shelf.FOLDER.with_name("_measurements"))
    assert main(["record", "--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["path"] == str(own / "test-gpu.json")
    assert told["times"] == len(recorded("Test GPU").timings)
    assert told["notes"] == []
    assert recorded("Test GPU").gpu == "Test GPU"


def test_the_command_line_tells_what_it_wrote_what_it_skipped_and_once_what_disturbed_it(
    gpu, path, capsys
):
    gpu.refuses = {"quack"}
    gpu.busy, gpu.slowed = ["Other work kept the GPU busy."], ["The clock was held down."]
    assert main(["record", "--quick", "--minutes", "60", "--output", str(path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Skipped quack: quack cannot be had"
    assert "Note: The clock was held down." in out
    assert out[-1].startswith(f"Wrote {path}: ")
    assert load(path).content["notes"] == [*gpu.busy, *gpu.slowed]


def test_the_command_line_can_be_interrupted(gpu, path, capsys):
    gpu.stop_after = 0
    assert main(["record", "--output", str(path)]) == 130
    assert "what was finished is kept" in capsys.readouterr().err
