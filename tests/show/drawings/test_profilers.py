"""What tools printed on a GPU: how a page shows it, that the script would capture it again, and ncu's names of counters."""

import json
import sys

import capture
import pytest

from softmax_lib import drawings, xray
from softmax_lib.engine.errors import BadInput
from softmax_lib.records.schema import EXECUTION, METRICS
from softmax_lib.show.drawings import profilers

PROVENANCE = {
    "gpu": "Tesla T4", "driver": "1.2", "cuda": "13.0", "date": "2030-01-01",
    "tools": {"ncu": "2030.1", "other": "9"},
}  # fmt: skip
OUTPUT = ["$ ncu -k mine ./a", "first <line>", "second", "", "third 3", "---", "fourth", "fifth"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(profilers, "CAPTURED", tmp_path)
    (tmp_path / "mine.txt").write_text("\n".join(OUTPUT) + "\n")
    (tmp_path / "provenance.json").write_text(json.dumps(PROVENANCE))
    return tmp_path


def test_output_stands_under_its_command_with_where_it_comes_from(folder):
    found = drawings.captured("mine")
    source = "ncu 2030.1, Tesla T4, driver 1.2, CUDA 13.0, 2030-01-01"
    assert found.text.splitlines() == [*OUTPUT, source]
    assert "first &lt;line&gt;" in found.html
    assert source in found.html


def test_a_table_for_a_wide_terminal_is_drawn_without_its_gaps(folder):
    narrow, wide = f"    a{20 * ' '}1", f"    b{70 * ' '}2"
    (folder / "mine.txt").write_text("\n".join(["$ ncu", narrow, wide]))
    found = drawings.captured("mine")
    assert f">{narrow}<" in found.html
    assert ">    b   2<" in found.html
    assert wide in found.text


def test_notes_stand_beside_the_first_line_that_has_their_part_and_the_others_can_go(folder):
    found = drawings.captured("mine", {"i": "**one**", "3": "two"}, keep=["fourth"])
    lines = found.text.splitlines()[:-1]
    assert lines == [
        "$ ncu -k mine ./a", "first <line>  <- **one**", "⋯", "third 3  <- two", "fourth", "⋯",
    ]  # fmt: skip
    assert "<strong>one</strong>" in found.html


def test_a_name_or_a_part_that_is_not_there_is_told(folder):
    with pytest.raises(BadInput, match="Nothing was captured as 'yours'; there are mine"):
        drawings.captured("yours")
    for asked in ({"notes": {"sixth": ""}}, {"keep": ["sixth"]}):
        with pytest.raises(BadInput, match="No line of mine has 'sixth'"):
            drawings.captured("mine", **asked)
    (folder / "provenance.json").write_text(json.dumps({**PROVENANCE, "date": 3}))
    with pytest.raises(BadInput, match="date"):
        drawings.captured("mine")


def test_nothing_of_the_machine_is_kept():
    told = f"at {capture.ROOT}/a.cu:3  \nFile {sys.prefix}/lib/x.py\n==PROF== Connected to process 4711 (x)\n[4711] python@127.0.0.1\n\n"
    assert capture.without_paths(told) == (
        "at ./a.cu:3\nFile …/lib/x.py\n==PROF== Connected to process 1 (x)\n[1] python@127.0.0.1\n"
    )


def test_a_command_is_kept_with_all_that_it_prints_or_the_parts_of_lines_that_are_asked_for():
    assert capture.capture("echo out; echo err >&2") == "$ echo out; echo err >&2\nout\nerr\n"
    command = "echo 12 one; echo two; echo 3 three"
    assert capture.capture(command, r"\d+ ..") == f"$ {command}\n12 on\n3 th\n"


def test_reports_of_other_threads_are_left_out():
    report = "========= Invalid read\n=========     at my.cu:{}\n=========     by thread ({},0,0)\n=========\n"
    first, other, third = (report.format(*of) for of in ((3, 0), (3, 1), (4, 1)))
    failed = "my.cu:4: thread: [{},0,0] Assertion `i < n` failed.\n"
    head, end = "========= COMPUTE-SANITIZER\n", "told\ntold\n========= ERROR SUMMARY: 3 errors\n"
    said = head + first + other + third + failed.format(0) + failed.format(1) + end
    assert capture.once(said) == head + first + third + failed.format(0) + end


def test_what_is_kept_is_what_would_be_captured():
    kept = {path.stem: profilers.read_captured(path.stem)[0] for path in profilers.CAPTURED.glob("*.txt")}  # fmt: skip
    assert kept == {name: f"$ {command}" for name, command in capture.COMMANDS.items()}


# ---- names of counters


def test_every_counter_of_an_x_ray_and_of_a_record_has_a_name_in_ncu_or_a_reason_why_not():
    named = {*profilers.names(), *profilers.NO_COUNTERPART}
    assert xray("shuffle", 2, 64).total.keys() <= named
    assert METRICS.keys() <= named
    assert {one for one in EXECUTION if not one.startswith("stalled_")} <= named
    assert profilers.names()["stalled_REASON"].replace("REASON", "wait") == EXECUTION["stalled_wait"]  # fmt: skip
    assert named & set(profilers.NO_COUNTERPART) == set(profilers.NO_COUNTERPART)


def test_units_and_sections_are_what_ncu_printed(monkeypatch):
    printed = {
        "ncu_counters": ["$ ncu", "    dram__bytes_read.sum   byte   5", "    smsp__warps_issue_stalled_barrier.sum  warp 3"],
        "ncu_memory": ["$ ncu", "    Table Name : L1", "    l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum   sector   8"],
        "ncu_sections": ["$ for", "One:", "dram__bytes_read.sum", "Two:", "dram__bytes_read.sum", "x_issue_stalled_barrier_y"],
    }  # fmt: skip
    monkeypatch.setattr(profilers, "read_captured", printed.get)
    found = drawings.counter_names()
    assert "dram_read_bytes dram__bytes_read.sum byte One" in found.text
    assert "global_op_ld.sum sector MemoryWorkloadAnalysis_Tables" in found.text
    assert "stalled_REASON smsp__warps_issue_stalled_REASON.sum warp Two" in found.text
    other = drawings.counter_names("ncu's metric").text
    assert "dram__bytes_read.sum dram_read_bytes byte One" in other
    assert other.index("dram__bytes_read") < other.index("smsp__")


def test_ncu_printed_a_unit_for_each_counter_that_it_has():
    counted = "\n".join(
        map("\n".join, map(profilers.read_captured, ("ncu_counters", "ncu_memory")))
    )
    for metric in {*METRICS.values(), *EXECUTION.values(), *profilers.MORE.values()}:
        assert metric in counted
