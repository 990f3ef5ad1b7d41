"""Recording: what it covers, how it resumes, what it never mixes or destroys; the timing is faked."""

import json

import pytest
import torch
from records_for_tests import BOOK, content, write

from softmax_lib import measurements
from softmax_lib.bench import recording
from softmax_lib.bench.peers import PEERS
from softmax_lib.bench.plan import PEER_SHAPES, QUICK_SHAPES, ROW_SWEEP, WORKLOG, plan, profiles
from softmax_lib.cli import main
from softmax_lib.errors import BadInput, NotAvailable
from softmax_lib.measurements import recorded
from softmax_lib.records import record as records
from softmax_lib.records.record import Measurement
from softmax_lib.registry import kernels, rungs

# --- the plan --------------------------------------------------------------------------------


def planned(quick=False):
    """Every timing of the plan: provider, rows, cols, dtype, block size, L2."""
    return {
        (name, job.rows, job.cols, job.dtype, block_size, job.l2)
        for job in plan(quick)
        for name, block_size in job.contenders
    }


def test_the_plan_has_every_rung_on_the_worklogs_shape_at_every_block_size():
    for kernel in rungs():
        sizes = {key[4] for key in planned() if key[:4] == (kernel.name, *WORKLOG, "float32")}
        assert sizes == set(kernel.legal_block_sizes(WORKLOG[1]))


def test_the_plan_has_every_foil_at_its_own_block_size():
    for kernel in kernels.values():
        if kernel.foil:
            rows, cols = (1024, 4096) if kernel.name == "per_element" else WORKLOG
            size = kernel.choose_block_size(cols)
            assert {key for key in planned() if key[0] == kernel.name} == {
                (kernel.name, rows, cols, "float32", size, "cold")
            }


def test_the_plan_has_every_rung_along_the_row_lengths_it_can_take():
    assert set(ROW_SWEEP) == {(1024, 2**n) for n in range(9, 18)}
    for kernel in rungs():
        for rows, cols in (*ROW_SWEEP, (32768, 256), (8192, 1000), (8192, 50257)):
            if kernel.legal_block_sizes(cols):
                size = kernel.choose_block_size(cols)
                assert (kernel.name, rows, cols, "float32", size, "cold") in planned()
    assert not [key for key in planned() if key[0] == "fusion" and key[2] > 32768]


def test_the_plan_has_the_peers_over_the_whole_grid_and_the_row_lengths():
    # the 20 shapes of float32 and the 10 of bfloat16: all latency, odd, longer than a block can hold
    assert {dtype: len(set(shapes)) for dtype, shapes in PEER_SHAPES.items()} == {
        "float32": 20, "bfloat16": 10
    }  # fmt: skip
    wanted = {(*shape, dtype) for dtype, shapes in PEER_SHAPES.items() for shape in shapes}
    wanted |= {(*shape, "float32") for shape in ROW_SWEEP}
    for name in PEERS:
        assert {key[1:4] for key in planned() if key[0] == name} == wanted


def test_the_plan_has_a_hot_cache_too_in_jobs_of_its_own():
    assert {job.l2 for job in plan()} == {"cold", "hot"}
    shapes = [(job.rows, job.cols, job.dtype, job.l2) for job in plan()]
    assert len(shapes) == len(set(shapes))


def test_the_quick_plan_is_the_part_of_the_whole_on_two_shapes():
    assert planned(quick=True) < planned()
    assert {key[1:3] for key in planned(quick=True)} == set(QUICK_SHAPES)


def test_the_profiles_are_the_ones_that_the_ledger_needs():
    shapes = {kernel: set() for kernel in kernels}
    for launch in profiles():
        shapes[launch.kernel].add((launch.rows, launch.cols))
    assert shapes.pop("per_element") == {(8, 512)}
    for name, found in shapes.items():
        extra = set() if kernels[name].foil else {WORKLOG}
        assert found == {(64, 4096), (1000, 1001)} | extra


def test_the_book_has_recorded_the_whole_plan_or_says_why_not():
    skipped = recorded().content["skipped"]
    for name, rows, cols, dtype, block_size, l2 in planned() - recorded().table.keys():
        assert block_size is None, f"{name} ({rows}, {cols}) was not recorded"
        assert skipped[f"{name} ({rows}, {cols}) {dtype}"], l2
    launches = [
        {name: p[name] for name in ("kernel", "rows", "cols", "block_size")}
        for p in recorded().counters
    ]
    assert launches == [vars(launch) for launch in profiles()]


# --- a GPU that is not there -----------------------------------------------------------------


class FakeGpu:
    """Times everything as 2 µs, copies as 1; remembers what it was asked, and may stop or refuse."""

    def __init__(self):
        self.jobs, self.profiled = [], []
        self.stop_after, self.refuses = None, set()
        self.facts = {
            "name": "Test GPU", "compute_capability": "9.9", "multiprocessors": 1, "l2_bytes": 1, "driver": "1",
        }  # fmt: skip
        self.versions, self.date, self.ncu = {"torch": "1"}, "2030-01-01", True

    def time_shape(self, contenders, rows, cols, *, dtype, l2, host, skipped):
        if len(self.jobs) == self.stop_after:
            raise KeyboardInterrupt
        self.jobs.append((rows, cols, dtype, l2))
        for name, _ in contenders:
            if name in self.refuses:
                skipped(name, f"{name} cannot be had")
        return [
            Measurement(
                name, rows, cols, dtype, size, l2, 2.0, 1.9, 2.1, 1.0, 5.0 if host else None
            )
            for name, size in contenders
            if name not in self.refuses
        ]

    def profile(self, launches):
        if not self.ncu:
            raise NotAvailable("ncu may not count.")
        self.profiled += launches
        return [{**vars(l), **dict.fromkeys(recording.counters.METRICS, 7)} for l in launches]  # noqa: E741


@pytest.fixture
def gpu(monkeypatch):
    fake = FakeGpu()
    monkeypatch.setattr(recording, "choose_device", lambda device: device)
    monkeypatch.setattr(recording, "time_shape", fake.time_shape)
    monkeypatch.setattr(recording.counters, "profile", fake.profile)
    monkeypatch.setattr(recording, "gpu_facts", lambda: dict(fake.facts))
    monkeypatch.setattr(recording, "versions", lambda: dict(fake.versions))
    monkeypatch.setattr(recording, "today", lambda: fake.date)
    monkeypatch.setattr(recording, "clocks", lambda: {"clocks.sm": "1 MHz"})
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


def interrupt(gpu, path, jobs):
    gpu.stop_after = len(gpu.jobs) + jobs
    with pytest.raises(KeyboardInterrupt):
        record(path)
    gpu.stop_after = None


def test_a_recording_is_whole_valid_and_tells_how_far_it_is(gpu, path):
    heard = record(path)
    made = records.load(path)
    assert made.table.keys() == planned()
    assert len(made.counters) == len(profiles())
    assert made.content["clocks"].keys() == {"before", "after"}
    assert made.content["kernels"]["naive"] == kernels["naive"].digest
    assert {row.key for row in made.table.values() if row.host_us} == {
        key for key in planned() if key[1:3] == (128, 96)
    }
    assert [done for _, done, _ in heard] == list(range(len(plan()) + 2))
    assert {total for *_, total in heard} == {len(plan()) + 1}
    assert [file.name for file in path.parent.iterdir()] == ["test-gpu.json"]


def test_an_interrupted_recording_keeps_what_is_done_and_goes_on_there(gpu, path):
    interrupt(gpu, path, jobs=3)
    assert not path.exists()
    kept = records.load(path.with_name("test-gpu.json.part"))
    assert {key[1:4] + key[5:] for key in kept.table} == set(gpu.jobs)
    record(path)
    assert len(gpu.jobs) == len(plan())  # none was done twice
    assert records.load(path).table.keys() == planned()
    assert not path.with_name("test-gpu.json.part").exists()


def test_an_interruption_leaves_an_older_record_whole(gpu, path):
    record(path)
    old = path.read_text()
    gpu.date = "2030-01-02"
    interrupt(gpu, path, jobs=1)
    assert path.read_text() == old
    record(path)
    assert records.load(path).content["date"] == "2030-01-02"


def test_recording_again_on_the_same_day_measures_nothing_twice(gpu, path):
    record(path)
    gpu.jobs, gpu.profiled = [], []
    record(path)
    assert gpu.jobs == gpu.profiled == []
    assert records.load(path).table.keys() == planned()


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
    assert {(rows, cols) for rows, cols, *_ in gpu.jobs} == {
        key[1:3] for key in planned() if key[0] == "shared"
    }
    assert {launch.kernel for launch in gpu.profiled} == {"shared"}
    assert not records.load(path).is_stale("shared")


def test_a_peer_that_is_missing_is_skipped_by_name_and_not_tried_again(gpu, path):
    gpu.refuses = {"liger"}
    record(path)
    made = records.load(path)
    assert made.content["skipped"] == {"liger": "liger cannot be had"}
    assert made.providers == (set(kernels) | set(PEERS)) - {"liger"}
    jobs = len(gpu.jobs)
    record(path)
    assert len(gpu.jobs) == jobs


def test_without_counters_a_recording_says_why_and_loses_none_that_it_has(gpu, path):
    gpu.ncu = False
    record(path)
    assert records.load(path).content["skipped"] == {"ncu": "ncu may not count."}
    gpu.ncu = True
    record(path)
    assert not records.load(path).content["skipped"]
    gpu.ncu = False
    record(path)
    assert len(records.load(path).counters) == len(profiles())


def test_a_quick_recording_does_not_replace_another_days_record(gpu, path):
    record(path)
    old, gpu.date = path.read_text(), "2030-01-02"
    with pytest.raises(BadInput, match=r"holds the record of Test GPU, 2030-01-01.*--output"):
        record(path, quick=True)
    assert path.read_text() == old
    record(path.with_name("quick.json"), quick=True)
    assert records.load(path.with_name("quick.json")).table.keys() == planned(quick=True)


def test_a_damaged_record_is_left_alone(gpu, path):
    path.write_text("{")
    with pytest.raises(BadInput, match="is damaged"):
        record(path)
    assert path.read_text() == "{"
    assert gpu.jobs == []


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(gpu, path):
    path.write_text("")
    with pytest.raises(BadInput, match="Cannot write the record"):
        record(path / "x.json")
    assert gpu.jobs == []


def test_without_a_name_the_record_goes_where_records_are_looked_for(
    gpu, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(measurements, "IS_INSTALLED", True)
    assert main(["record", "--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["path"] == str(tmp_path / "softmax_lib" / "measurements" / "test-gpu.json")
    assert told["times"] == len(planned(quick=True))
    assert recorded("Test GPU").gpu == "Test GPU"


def test_the_command_line_tells_what_it_wrote_and_what_it_skipped(gpu, path, capsys):
    gpu.refuses = {"quack"}
    assert main(["record", "--quick", "--output", str(path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Skipped quack: quack cannot be had"
    assert out[-1].startswith(f"Wrote {path}: ")


def test_the_command_line_can_be_interrupted(gpu, path, capsys):
    gpu.stop_after = 0
    assert main(["record", "--output", str(path)]) == 130
    assert "what was finished is kept" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without a GPU says")
def test_without_a_gpu_nothing_is_touched(tmp_path, capsys):
    write(tmp_path / "x.json", content())
    assert main(["record", "--output", str(tmp_path / "x.json")]) == 2
    assert "No GPU" in capsys.readouterr().err
    assert records.load(tmp_path / "x.json") == records.load(BOOK)
