"""Reads in machine code, in the book: what the table says, and where nothing can be compiled."""

import pytest

from softmax_lib import drawings
from softmax_lib.engine.errors import NotAvailable, UnknownKernel
from softmax_lib.show.drawings import read_table
from softmax_lib.worklog.registry import kernels

pytest.importorskip("pygments")


def test_each_line_that_reads_the_row_is_there_with_its_loads_on_each_gpu():
    shown = drawings.reads("shuffle", "constant_stride")
    assert "shuffle line 37: 1 × 4 B, 1 × 4 B, 1 × 4 B" in shown.text
    assert "constant_stride line 37: 4 × 4 B, 4 × 4 B, 4 × 4 B" in shown.text
    assert shown.html.count("<pre") == 4
    assert "w&quot;" not in shown.html  # words are coloured, and no tag is cut in two


def test_a_line_of_a_function_has_the_line_of_its_call_before_it():
    assert "fusion line 90 › 37:" in drawings.reads("fusion", archs=[90]).text
    assert "float4 line 61:" in drawings.reads("float4", archs=[90]).text  # and no helper's


def test_a_kernel_with_macros_set_is_named_with_them():
    shown = drawings.reads(kernels["unroll"].setting(UNROLL=1, IN_FLIGHT=8), archs=[90])
    assert "unroll, UNROLL = 1, IN_FLIGHT = 8 line 42: 8 × 16 B" in shown.text


def test_where_nothing_can_be_compiled_it_is_one_sentence(monkeypatch):
    def missing():
        raise NotAvailable("CuPy cannot be imported.")

    monkeypatch.setattr(read_table, "supported_archs", missing)
    assert "naive line 18:" in drawings.reads("naive").text  # which comes along
    other = kernels["unroll"].setting(UNROLL=2, IN_FLIGHT=8)
    assert "CuPy cannot be imported." in drawings.reads("naive", other).text


def test_a_gpu_that_this_compiler_does_not_know_is_one_sentence():
    assert "for none of these GPUs" in drawings.reads("naive", archs=[70]).text


def test_an_unknown_kernel_is_refused():
    with pytest.raises(UnknownKernel):
        drawings.reads("nonesuch")
