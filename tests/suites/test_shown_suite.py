"""The suite of kernels as chapters show them: a row for each kernel and length, and its table."""

import pytest

from softmax_lib.cli.suite_table import print_shown
from softmax_lib.gpu.presence import has_gpu
from softmax_lib.suites.shown import measure as shown
from softmax_lib.suites.shown.record import FULL, shown_run


def test_rows_are_whole_vectors_and_a_table_has_a_line_for_each(capsys):
    cells = list(shown.cells())
    assert {case.provider for case in cells} == set(FULL)
    assert all(case.cols % 4 == 0 for case in cells)
    print_shown(shown_run())
    printed = capsys.readouterr().out
    assert [printed.count(f" {name} ") for name in FULL] == [
        len([case for case in cells if case.provider == name]) for name in FULL
    ]


@pytest.mark.skipif(not has_gpu(), reason="there is no GPU")
def test_a_kernel_and_its_full_form_take_about_as_long(monkeypatch):
    monkeypatch.setattr(shown, "LENGTHS", (8192,))
    monkeypatch.setattr(shown, "SHORT", ((16384, 1024),))
    monkeypatch.setattr(shown, "SCORES", ((4000, 6300),))
    for row in shown.run_shown(lambda *told: None)["rows"]:
        assert row["us"] == pytest.approx(row["full_us"], rel=0.3)
        assert row["copy_us"] < row["us"]
