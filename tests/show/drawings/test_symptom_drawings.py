"""What the page A method draws: symptoms beside their cures, a profiler's timeline, and names of counters."""

import re

import pytest
from suites import symptom_records

from softmax_lib import drawings, xray
from softmax_lib.engine.errors import BadInput
from softmax_lib.records.schema import EXECUTION, METRICS
from softmax_lib.show.drawings import captures, ncu_names, profiled, symptom_table
from softmax_lib.suites.symptoms.measure import SIDES
from softmax_lib.suites.symptoms.record import SYMPTOMS, Event

GPU = "Tesla T4"


@pytest.fixture
def readers(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    symptom_records.write(tmp_path, symptom_records.run())


COUNTED = {
    "uncoalesced": "sectors per load request 32 4",
    "bank conflicts": "bank conflicts per block 930 0",
    "too few bytes in flight": "bytes in flight per SM 8 KiB",
    "low occupancy": "threads on an SM, at most 1,024 2,048",
    "barriers": "barriers per block 23 5 2",
    "tail of blocks": "blocks 133 132 1,064; blocks that fit at once 132 132 792",
    "launch-bound": "launches 4 1; time per launch 2.5 µs 4.0 µs",
    "L2-resident": "x and y 32 MiB 32 MiB",
    "host-bound": "for 100 calls 100 1",
}  # fmt: skip


@pytest.mark.parametrize("name", SYMPTOMS)
def test_a_symptom_stands_beside_its_cure_with_what_needs_no_gpu(readers, name):
    found = drawings.symptom(name, GPU).text
    assert COUNTED[name] in found
    assert re.search("time 10.0 µs .*4.0 µs", found)
    assert "one run on Tesla T4, 2030-01-01" in found


def test_a_symptom_that_was_not_measured_is_told(readers):
    with pytest.raises(BadInput, match=r"The symptom 'hurry' was not measured on Tesla T4"):
        drawings.symptom("hurry", GPU)


def test_a_machine_without_compilers_has_dashes(readers, monkeypatch):
    monkeypatch.setattr(symptom_table, "_blocks_held", lambda side: (_ for _ in ()).throw(symptom_table.NotAvailable("no")))  # fmt: skip
    assert "threads on an SM, at most – –" in drawings.symptom("low occupancy", GPU).text


@pytest.mark.parametrize("name", SYMPTOMS)
def test_the_command_without_a_gpu_is_one(name, capsys):
    from softmax_lib.cli import main

    for side in SIDES[name]:
        if side.who not in ("torch", "softmax()"):
            assert main(symptom_table.command_of(side).split()[1:]) == 0
    capsys.readouterr()


# ---- a timeline


def test_a_gpu_is_busy_from_the_first_event_to_the_last_kernel_s_end(readers):
    events = [Event("call", "a", 10, 4), Event("kernel", "k", 20, 5), Event("kernel", "k", 25, 5)]
    assert profiled.busy_share(events) == 0.5
    found = drawings.profiled_calls(GPU)
    assert "small, eager: 1 launch, 1 kernels in 20 µs, GPU busy 20%" in found.html
    assert "one run on Tesla T4, 2030-01-01" in found.text


# ---- names of counters


def test_every_counter_of_an_x_ray_and_of_a_record_has_a_name_in_ncu_or_a_reason_why_not():
    named = {*ncu_names.names(), *ncu_names.NO_COUNTERPART}
    assert xray("shuffle", 2, 64).total.keys() <= named
    assert METRICS.keys() <= named
    assert {one for one in EXECUTION if not one.startswith("stalled_")} <= named
    assert ncu_names.names()["stalled_REASON"].replace("REASON", "wait") == EXECUTION["stalled_wait"]  # fmt: skip
    assert named & set(ncu_names.NO_COUNTERPART) == set(ncu_names.NO_COUNTERPART)


def test_units_and_sections_are_what_ncu_printed(monkeypatch):
    printed = {
        "ncu_counters": ["$ ncu", "    dram__bytes_read.sum   byte   5", "    smsp__warps_issue_stalled_barrier.sum  warp 3"],
        "ncu_memory": ["$ ncu", "    Table Name : L1", "    l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum   sector   8"],
        "ncu_sections": ["$ for", "One:", "dram__bytes_read.sum", "Two:", "dram__bytes_read.sum", "x_issue_stalled_barrier_y"],
    }  # fmt: skip
    monkeypatch.setattr(ncu_names, "read_captured", printed.get)
    found = drawings.counter_names()
    assert "dram_read_bytes dram__bytes_read.sum byte One" in found.text
    assert "global_op_ld.sum sector MemoryWorkloadAnalysis_Tables" in found.text
    assert "stalled_REASON smsp__warps_issue_stalled_REASON.sum warp Two" in found.text
    other = drawings.counter_names("ncu's metric").text
    assert "dram__bytes_read.sum dram_read_bytes byte One" in other
    assert other.index("dram__bytes_read") < other.index("smsp__")


def test_ncu_printed_a_unit_for_each_counter_that_it_has():
    counted = "\n".join(
        captures.read_captured("ncu_counters") + captures.read_captured("ncu_memory")
    )
    for metric in {*METRICS.values(), *EXECUTION.values(), *ncu_names.MORE.values()}:
        assert metric in counted
