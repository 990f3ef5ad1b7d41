"""The suite of phases: kernels with a clock in their own text, what is made of the notes, what is read and drawn of a run."""

import numpy as np
import pytest
from suites.conftest import book_run

from softmax_lib import drawings
from softmax_lib.cli.suite_table import print_run
from softmax_lib.engine.errors import BadInput
from softmax_lib.suites.phases.measure import NOTED, run_suite, seen


def test_a_run_without_blocks_is_told(keep):
    without = book_run("phases")
    for row in without["rows"]:
        row["blocks"] = []
    keep("phases", without)
    with pytest.raises(BadInput, match="blocks of fusion were not noted on Tesla T4"):
        drawings.read_meet_write("Tesla T4")


@pytest.mark.parametrize("one", NOTED, ids=lambda one: one.kernel.name)
def test_a_kernel_that_notes_the_time_is_the_books_and_four_notes_more(one):
    plain, noting = one.plain.source.text, one.program.source.text
    assert noting.count("note(notes, ") == 4
    for line in plain.splitlines():
        bare = line.replace("int cols) {", "int cols").replace("cols);", "cols").strip()
        assert bare in noting or "reinterpret_cast" in line
    assert one.blocks * one.noting * one.block_size // 32 % one.noting == 0


def test_bytes_are_counted_in_the_microsecond_in_which_they_are_there():
    notes = np.array([[50, 150, 160, 1070, 3], [50, 1060, 1100, 2100, 9], [60, 170, 180, 190, 0], [70, 180, 190, 200, 0]])  # fmt: skip
    found = seen(notes, 2, 400)
    assert found["read_bytes"] == [300, 100, 0]
    assert found["written_bytes"] == [200, 100, 100]
    assert found["blocks"] == [[0, 10, 130, 140, 150]]
    assert seen(notes, 1, 400)["blocks"] == []


@pytest.mark.gpu
def test_every_byte_is_read_and_written_once(capsys):
    run = run_suite(lambda *told: None)
    for row in run["rows"]:
        for what in ("read_bytes", "written_bytes"):
            assert sum(row[what]) == pytest.approx(1024 * 32768 * 4, rel=1e-3)
        assert row["noted_us"] < 1.2 * row["plain_us"]
    print_run("phases", run)
    assert "GB/s read" in capsys.readouterr().out
