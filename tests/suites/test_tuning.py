"""Tuning without a GPU: which designs are tried, and that the fastest is kept; times are made up."""

import json
import re
from dataclasses import replace
from math import inf

import pytest
import torch

from softmax_lib.cli import main
from softmax_lib.ops import tables
from softmax_lib.ops.designs import Design
from softmax_lib.ops.tables import read_line, shipped_path
from softmax_lib.suites import tuning
from softmax_lib.suites.peers import measure as suite
from softmax_lib.suites.timing import REPLAYS
from softmax_lib.suites.tuning import QUICK_REPLAYS, _cell, is_possible, tune, variations

ARCHS = (75, 80, 90)


def lines_of(arch):
    content = json.loads(shipped_path(arch).read_text())
    for where, lines in content.items():
        for written in lines if isinstance(lines, list) else []:
            if "like" in written:
                yield where, written


@pytest.mark.parametrize("arch", ARCHS)
def test_every_line_takes_the_matrix_it_is_like_and_has_other_designs_to_try(arch):
    for where, written in lines_of(arch):
        line = read_line(written)
        cell = _cell(where, line)
        assert line.takes(cell.task), written
        assert is_possible(line.design, line, cell, arch), written
        others = {one for one in variations(line.design) if is_possible(one, line, cell, arch)}
        assert len(others - {line.design}) >= 2, written


def test_no_design_is_tried_that_cannot_hold_the_rows_of_its_line():
    where, written = next(
        one for one in lines_of(90) if one[1]["regime"] == "cluster" and one[1]["team"] == 16
    )
    line = read_line(written)
    cell = _cell(where, line)
    for one in variations(line.design):
        if is_possible(one, line, cell, 90):
            assert one.fit(cell.task)
            assert 32 <= one.threads <= 1024
            assert one.regime != "cluster" or one.team <= 16
    assert not is_possible(Design("block", 1, 32), line, cell, 90)
    assert not is_possible(line.design, line, cell, 80)  # which has no clusters


def test_numbers_of_threads_and_blocks_are_no_powers_of_two_alone():
    design = Design("cluster", 8, 256, loads="EVICT_LAST", stores="L2")
    tried = set(variations(design))
    assert {one.threads for one in tried} >= {128, 192, 256, 320, 384, 512}
    assert {one.team for one in tried if one.regime == "cluster"} == {4, 6, 8, 10, 12, 16}
    assert replace(design, loads="PLAIN") in tried
    assert all(one.threads % 32 == 0 for one in tried)


@pytest.fixture
def made_up(monkeypatch):
    """A GPU with which a design's time depends on how it treats the caches; it has no room for grids."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(tuning, "arch_of", lambda device: 80)
    monkeypatch.setattr(tuning, "gpu_facts", lambda: {"name": "Made Up 1000"})
    speed = {"PLAIN": 3.0, "L2": 1.0, "STREAMING": 2.0}

    def time(designs, cell, arch, replays=REPLAYS):
        if cell.cols == 128:
            raise torch.OutOfMemoryError
        room = [design for design in designs if design.regime != "grid"]
        return {design: speed[design.stores] for design in room}, 0.5

    monkeypatch.setattr(tuning, "_time", time)


def test_the_fastest_design_is_kept_and_the_table_reads_as_any(made_up):
    heard = []
    content, trials = tune(lambda *told: heard.append(told))
    assert {trial.after.stores for trial in trials if trial.after_us < inf} == {"L2"}
    assert any(trial.before_us == inf for trial in trials)  # threads of which there are too many
    assert heard[-1] == ("done", len(heard) - 1, len(heard) - 1)
    before = json.loads(shipped_path(80).read_text())
    for where, lines in before.items():
        if isinstance(lines, list):
            for old, new in zip(lines, content[where], strict=True):
                limits = ("row_bytes", "rows", "edges", "like")
                assert {k: old.get(k) for k in limits} == {k: new.get(k) for k in limits}
                kept = old.get("streamed") or old["like"][1] == 128
                assert (read_line(new).design == read_line(old).design) >= bool(kept)
    assert content["measured_on"] == "Made Up 1000"


def test_who_is_far_from_the_fastest_is_timed_for_a_moment_only(made_up, monkeypatch):
    asked = []

    def time(designs, cell, arch, replays=REPLAYS):
        asked.append((replays, len(designs)))
        return {one: 2.0 - (one.stores == "L2") for one in designs}, 0.5

    monkeypatch.setattr(tuning, "_time", time)
    tune(lambda *told: None)
    quick, long = asked[:2]
    assert quick[0] == QUICK_REPLAYS < REPLAYS == long[0]
    assert 1 < long[1] < quick[1]


def test_a_difference_within_the_noise_changes_nothing(made_up, monkeypatch):
    def time(designs, cell, arch, replays=REPLAYS):
        return {one: 1.0 + 0.001 * (one.stores == "PLAIN") for one in designs}, 0.5

    monkeypatch.setattr(tuning, "_time", time)
    _, trials = tune(lambda *told: None)
    assert all(trial.after == trial.before for trial in trials)


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "readers_folder", lambda kind: tmp_path / kind)
    monkeypatch.setattr(tables, "gpu_name", lambda device: "Made Up 1000")
    monkeypatch.setattr("softmax_lib.gpu.presence.gpu_name", lambda: "Made Up 1000")
    monkeypatch.setattr(tables, "arch_of", lambda device: 80)
    tables._table_of.cache_clear()
    yield tmp_path / "tables" / "made-up-1000.json"
    tables._table_of.cache_clear()


def test_the_verb_writes_a_table_that_softmax_goes_by(made_up, gpu, monkeypatch, capsys):
    monkeypatch.setattr("softmax_lib.worklog.checking.choose_device", lambda device: device)
    assert tables.table_of(0).name == "sm_80"
    tables._table_of.cache_clear()
    assert main(["tune"]) == 0
    told = capsys.readouterr().out
    assert "L2" in told
    assert "no room" in told
    assert str(gpu) in told.replace("\n", "")
    table = tables.table_of(0)
    assert (table.name, table.measured_on) == ("made-up-1000", "Made Up 1000")
    assert main(["tune", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["path"] == str(gpu)
    assert {*vars(suite.Cell(1, 1, "float32", "forward")), "before", "after", "before_us", "after_us", "copy_us"} == set(
        found["trials"][0]
    )  # fmt: skip


@pytest.mark.parametrize("verb", ["tune", "bench"])
def test_where_nothing_can_be_written_nothing_is_measured(monkeypatch, capsys, tmp_path, verb):
    monkeypatch.setattr("softmax_lib.worklog.checking.choose_device", lambda device: device)
    monkeypatch.setattr(tuning, "tune", lambda progress: pytest.fail("it is measured"))
    monkeypatch.setattr(suite, "run_suite", lambda progress: pytest.fail("it is measured"))
    (tmp_path / "file").touch()
    for path, reason in (
        (tmp_path, "Is a directory"),
        (tmp_path / "file" / "x", "exists|Not a dir"),
    ):
        assert main([verb, "--output", str(path)]) == 2
        told = capsys.readouterr().err
        assert re.fullmatch(rf"softmax-lib: Cannot write .*({reason}).*\n", told)
