"""Symptoms of the page A method beside their cures, and a profiler's timeline."""

import re

import pytest
from suites import symptom_records

from softmax_lib import drawings
from softmax_lib.show.drawings import symptoms
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


def test_a_machine_without_compilers_has_dashes(readers, monkeypatch):
    monkeypatch.setattr(symptoms, "_blocks_held", lambda side: (_ for _ in ()).throw(symptoms.NotAvailable("no")))  # fmt: skip
    assert "threads on an SM, at most – –" in drawings.symptom("low occupancy", GPU).text


@pytest.mark.parametrize("name", SYMPTOMS)
def test_the_command_without_a_gpu_is_one(name, capsys):
    from softmax_lib.cli import main

    for side in SIDES[name]:
        if side.who not in ("torch", "softmax()"):
            assert main(symptoms.command_of(side).split()[1:]) == 0
    capsys.readouterr()


def test_a_gpu_is_busy_from_the_first_event_to_the_last_kernel_s_end(readers):
    events = [Event("call", "a", 10, 4), Event("kernel", "k", 20, 5), Event("kernel", "k", 25, 5)]
    assert symptoms.busy_share(events) == 0.5
    found = drawings.profiled_calls(GPU)
    assert "small, eager: 1 launch, 1 kernels in 20 µs, GPU busy 20%" in found.html
    assert "one run on Tesla T4, 2030-01-01" in found.text
