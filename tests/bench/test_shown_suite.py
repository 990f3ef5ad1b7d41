"""The suite of kernels as chapters show them: a row for each kernel and length, and its table."""

import pytest

from softmax_lib.bench import shown
from softmax_lib.cli.suite_table import print_shown
from softmax_lib.gpu.presence import has_gpu
from softmax_lib.records.shown import FULL, shown_run


def test_rows_are_whole_vectors_and_a_table_has_a_line_for_each(capsys):
    assert len(list(shown.cells())) == len(FULL) * len(shown.LENGTHS)
    assert all(cols % 4 == 0 for cols in shown.LENGTHS)
    print_shown(shown_run())
    printed = capsys.readouterr().out
    assert [printed.count(f"1024x{cols} ") for cols in shown.LENGTHS] == len(shown.LENGTHS) * [1]
    assert "float4_aligned" in printed


@pytest.mark.skipif(not has_gpu(), reason="there is no GPU")
def test_a_kernel_and_its_full_form_take_about_as_long(monkeypatch):
    monkeypatch.setattr(shown, "LENGTHS", (8192,))
    for row in shown.run_shown(lambda *told: None)["rows"]:
        assert row["us"] == pytest.approx(row["full_us"], rel=0.3)
        assert row["copy_us"] < row["us"]
