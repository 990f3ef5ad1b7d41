"""The suite of peers: which cells, who takes part, what a row holds; without a GPU, timing replaced."""

import json
import math
from importlib import import_module

import pytest
import torch

from softmax_lib.cli import main, suite_table
from softmax_lib.cli.suite_table import print_suite
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.suites import kept, timing
from softmax_lib.suites.peers import measure as suite
from softmax_lib.suites.peers import providers
from softmax_lib.suites.peers.measure import OURS, Cell, cells, geometric_mean_of_gains, time_cell
from softmax_lib.suites.peers.record import contest_runs
from softmax_lib.suites.table import SUITES
from softmax_lib.suites.timing import Timing

TIMES = {OURS: 2.0, "torch": 3.0, "torch.compile": 2.5}


def gradient(y, grad, dx):
    return dx.copy_(torch._softmax_backward_data(grad, y, -1, y.dtype))


@pytest.fixture
def cpu(monkeypatch):
    """Let a cell be timed on the CPU: others than torch are missing, and copies take 1 µs."""
    monkeypatch.setattr(timing, "sample", lambda case: torch.randn(case.shape))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(suite, "gradient_into", gradient)
    calls = {"torch": lambda: lambda x, y: torch.softmax(x, -1)}
    monkeypatch.setattr(
        providers, "CALLS", {**dict.fromkeys(providers.CALLS, lambda: 1 / 0), **calls}
    )
    backward = {"torch": lambda: lambda x, y: gradient(x[0], x[1], y)}
    monkeypatch.setattr(
        providers, "BACKWARD", {**dict.fromkeys(providers.BACKWARD, lambda: 1 / 0), **backward}
    )
    given = []

    def time_device(calls, inputs, replays):
        given.append(inputs)
        x = torch.randn(inputs, 4, 32) if inputs > 1 else torch.randn(4, 32)
        for case, call in calls.items():
            if case.provider == "torch copy":
                call(x, torch.empty(4, 32))  # of one matrix, also where there are two
        return {case: Timing(*[TIMES.get(case.provider, 1.0)] * 3) for case in calls}

    monkeypatch.setattr(timing, "time_device", time_device)
    return given


def test_the_cells_are_those_of_the_record_and_some_backward():
    found = list(cells())
    assert len(found) == len(set(found)) > 30
    assert {cell.direction for cell in found} == {"forward", "backward"}
    assert Cell(1024, 32768, "float32", "forward") in found
    assert Cell(8192, 4096, "bfloat16", "backward") in found


@pytest.mark.parametrize(("direction", "inputs"), [("forward", 1), ("backward", 2)])
def test_a_row_has_our_time_the_copys_and_every_peers(cpu, direction, inputs):
    skipped = {}
    row = time_cell(Cell(4, 32, "float32", direction), skipped)
    assert row == {
        "rows": 4, "cols": 32, "dtype": "float32", "direction": direction, "ours_us": 2.0, "copy_us": 1.0,
        "peers": {"torch": 3.0},
    }  # fmt: skip
    assert cpu == [inputs]
    assert "quack cannot be had: division by zero" in skipped["quack"]


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_who_is_wrong_or_refuses_is_skipped_and_we_must_not_be(cpu, monkeypatch, direction):
    cell = Cell(4, 32, "float32", direction)
    table = providers.BACKWARD if direction == "backward" else providers.CALLS
    monkeypatch.setitem(table, "torch", lambda: lambda x, y: y.zero_())

    def refuse(x, y):
        raise ValueError("too long")

    monkeypatch.setitem(table, "quack", lambda: refuse)
    skipped = {}
    assert time_cell(cell, skipped)["peers"] == {}
    assert "wrong" in skipped[f"torch on {cell}"]
    assert "too long" in skipped[f"quack on {cell}"]
    monkeypatch.setattr(suite, "gradient_into", lambda y, grad, dx: dx.zero_())
    monkeypatch.setattr(suite, "softmax", lambda x, out: out.zero_())
    with pytest.raises(NotAvailable, match=f"{OURS} gives a wrong result"):
        time_cell(cell, {})


def test_a_cell_that_does_not_fit_is_skipped_and_the_others_are_timed(monkeypatch):
    def time_cell(cell, skipped):
        if cell.cols > 100_000:
            raise torch.OutOfMemoryError
        return {**vars(cell), "ours_us": 1.0, "copy_us": 1.0, "peers": {"torch": 2.0}}

    monkeypatch.setattr(suite, "time_cell", time_cell)
    for name in ("gpu_facts", "versions"):
        monkeypatch.setattr(suite, name, dict)
    for name in ("busy", "slowed"):
        monkeypatch.setattr(suite, name, list)
    heard = []
    found = suite.run_suite(lambda *told: heard.append(told))
    large = [cell for cell in cells() if cell.cols > 100_000]
    assert list(found["skipped"]) == [str(cell) for cell in large]
    assert len(found["rows"]) == len(list(cells())) - len(large)
    assert found["gain"] == {"forward": 2.0, "backward": 2.0}
    assert heard[-1] == ("done", len(list(cells())), len(list(cells())))


def test_the_gain_is_over_the_best_peer_of_each_cell():
    rows = [{"ours_us": 1.0, "peers": {"a": 2.0, "b": 4.0}}, {"ours_us": 1.0, "peers": {"b": 8.0}}]
    assert geometric_mean_of_gains([*rows, {"ours_us": 1.0, "peers": {}}]) == pytest.approx(4.0)
    assert math.isnan(geometric_mean_of_gains([]))


FOUND = {
    "gpu": {"name": "Test GPU"}, "date": "2026-01-01", "software": {}, "protocol": "", "notes": ["it was warm"],
    "skipped": {"quack": "quack cannot be had: no wheel"}, "gain": {"forward": 1.25},
    "rows": [
        {"rows": 1024, "cols": 131072, "dtype": "bfloat16", "direction": "forward", "ours_us": 2000.0, "copy_us": 1000.0, "peers": {"torch": 3000.0, "torch.compile": 2500.0}},
        {"rows": 4, "cols": 32, "dtype": "float32", "direction": "backward", "ours_us": 2.0, "copy_us": 1.0, "peers": {}},
    ],
}  # fmt: skip


def test_the_table_names_the_best_peer_and_who_is_missing(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    print_suite(FOUND)
    said = capsys.readouterr().out
    for part in ("Test GPU", "torch.compile", "2500.00", "1.250", "50%", "no wheel", "it was warm"):
        assert part in said


def test_the_command_prints_and_writes_json(capsys, monkeypatch, tmp_path):
    from softmax_lib.worklog import checking

    monkeypatch.setattr(checking, "choose_device", lambda device: device)
    monkeypatch.setattr(suite, "run_suite", lambda tell: FOUND)
    path = tmp_path / "folder" / "found.json"
    assert main(["bench", "--suite", "peers", "--json", "--output", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(path.read_text()) == FOUND
    assert main(["bench", "--output", str(path / "below")]) == 2
    assert "Cannot write" in capsys.readouterr().err


def test_a_run_is_kept_where_the_pages_look_for_it(monkeypatch, tmp_path, capsys):
    from softmax_lib.gpu import presence
    from softmax_lib.worklog import checking

    monkeypatch.setattr(checking, "choose_device", lambda device: device)
    monkeypatch.setattr(presence, "gpu_name", lambda: "Test GPU")
    monkeypatch.setattr(suite, "run_suite", lambda tell: FOUND)
    monkeypatch.setattr(kept, "folders", lambda: (tmp_path,))
    for many in (1, 2):
        assert main(["bench", "--keep", "--json"]) == 0
        assert contest_runs("Test GPU") == many * [FOUND]


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_has_what_measures_and_shows_it(name):
    module, function = SUITES[name].run.rsplit(".", 1)
    assert callable(getattr(import_module(f"softmax_lib.suites.{module}"), function))
    assert callable(getattr(suite_table, SUITES[name].show))


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without a GPU says")
@pytest.mark.parametrize("name", SUITES)
def test_without_a_gpu_every_suite_says_so(name, capsys):
    assert main(["bench", "--suite", name]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "GPU" in said


@pytest.mark.gpu
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_cell_is_timed_on_a_gpu(direction):
    row = time_cell(Cell(512, 1000, "bfloat16", direction), {})
    assert row["ours_us"] > 0
    assert row["copy_us"] > 0
    assert {"torch", "torch.compile"} <= row["peers"].keys()
