"""Symptoms of the page A method beside their cures, and a profiler's timeline."""

import pytest

from softmax_lib import drawings
from softmax_lib.show.drawings import symptoms
from softmax_lib.suites.symptoms.measure import SIDES
from softmax_lib.suites.symptoms.record import SYMPTOMS, Event


def test_a_machine_without_compilers_has_dashes(monkeypatch):
    monkeypatch.setattr(symptoms, "_blocks_held", lambda side: (_ for _ in ()).throw(symptoms.NotAvailable("no")))  # fmt: skip
    assert "threads on an SM, at most – –" in drawings.symptom("low occupancy").text


@pytest.mark.parametrize("name", SYMPTOMS)
def test_the_command_without_a_gpu_is_one(name, capsys):
    from softmax_lib.cli import main

    for side in SIDES[name]:
        if side.who not in ("torch", "softmax()"):
            assert main(symptoms.command_of(side).split()[1:]) == 0
    capsys.readouterr()


def test_a_gpu_is_busy_from_the_first_event_to_the_last_kernel_s_end():
    events = [Event("call", "a", 10, 4), Event("kernel", "k", 20, 5), Event("kernel", "k", 25, 5)]
    assert symptoms.busy_share(events) == 0.5
