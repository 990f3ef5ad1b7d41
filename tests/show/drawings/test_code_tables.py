"""Machine code: what stands beside its source, and what the table of its reads says."""

import re
from unittest.mock import Mock

import pytest
from emulated import kernel_of

from softmax_lib import drawings, xray
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.show.drawings import code_tables
from softmax_lib.worklog.registry import kernels

pytest.importorskip("pygments")


def rows_of(html, side):
    """Cells of the rows on one side, "source" or "machine code", with the classes of each."""
    part = re.split('aria-label="machine code of', html)[side != "source"]
    rows = re.findall(r'<tr class="([^"]*)">(.*?)</tr>', part, re.DOTALL)
    return [
        (set(marks.split()), re.sub(r"<[^>]+>", "|", cells).split("|")) for marks, cells in rows
    ]


@pytest.fixture(scope="module")
def shown():
    return drawings.machine_code("shuffle", 2, 64)


def test_an_instruction_has_its_lines_colour_and_mark_and_is_pale_if_never_executed(shown):
    source = {cells[1]: marks for marks, cells in rows_of(shown.html, "source") if marks}
    code = rows_of(shown.html, "machine code")
    assert len(code) == len(xray("shuffle", 2, 64).code)
    for marks, cells in code:
        assert source[cells[1]] == marks - {"worklog-idle"}
        assert ("worklog-idle" in marks) == (cells[3] == "0")


def test_shares_of_the_lines_are_those_of_all_that_is_executed(shown):
    found = xray("shuffle", 2, 64)
    executed = [cells[3] for marks, cells in rows_of(shown.html, "source") if marks]
    assert sum(int(one.replace(",", "")) for one in executed) == found.total["instructions"]
    assert f"warps execute {found.total['instructions']:,} in all" in shown.text


def test_places_that_branches_lead_to_are_named(shown):
    targets = set(re.findall(r"`\((\.L_x_\d+)\)", shown.html))
    assert targets
    assert all(f"{target}:\n" in shown.html for target in targets)


def test_lines_of_headers_follow_and_steps_are_named():
    float4 = drawings.machine_code("fusion", 2, 64)
    assert ">block_reduce.cuh</th>" in float4.html
    several = drawings.machine_code("unfused", 2, 64)
    assert ">softmax_unfused_divide</th>" in several.html


def test_a_kernel_of_ones_own_on_an_older_gpu():
    shown = drawings.machine_code(
        kernel_of("    y[threadIdx.x] = x[threadIdx.x];\n"), 1, 32, 32, arch=75
    )
    assert "for sm_75" in shown.text
    assert "at most 1 load from global memory under way" in shown.text


def test_a_part_is_what_its_lines_became_without_what_is_hardly_executed():
    loop = drawings.machine_code("naive", lines=(18, 18))
    rows = [cells for _, cells in rows_of(loop.html, "machine code")]
    code = [one for one in xray("naive").code if one.line == 18]
    most = max(one.warps for one in code)
    assert [cells[3] for cells in rows if cells[3]] == [f"{most}"] * sum(one.warps == most for one in code)  # fmt: skip
    left_out = re.findall(r"⋮ (\d+) more", loop.html)
    assert sum(map(int, left_out)) + sum(one.warps == most for one in code) == len(xray("naive").code)  # fmt: skip
    one = drawings.machine_code("naive", lines=(16, 19), only=18)
    assert [cells[1] for _, cells in rows_of(one.html, "source")] == ["16", "17", "18", "19"]
    assert [bool(marks) for marks, _ in rows_of(one.html, "source")] == [False, False, True, False]


def test_a_source_as_it_is_written_has_none_to_show():
    found = xray("naive", 2, 8, path="written")
    with pytest.raises(NotAvailable, match="There is no machine code to show"):
        drawings.machine_code_of(found, found.program.source)


# ---- reads


def test_a_line_of_a_function_has_the_line_of_its_call_before_it():
    assert "fusion line 90 › 37:" in drawings.reads("fusion", archs=[90]).text
    assert "float4 line 61:" in drawings.reads("float4", archs=[90]).text  # and no helper's


def test_a_kernel_with_macros_set_is_named_with_them():
    shown = drawings.reads(kernels["unroll"].setting(UNROLL=1, IN_FLIGHT=8), archs=[90])
    assert "unroll, UNROLL = 1, IN_FLIGHT = 8 line 42: 8 × 16 B" in shown.text


def test_where_nothing_can_be_compiled_it_is_one_sentence(monkeypatch):
    missing = Mock(side_effect=NotAvailable("CuPy cannot be imported."))
    monkeypatch.setattr(code_tables, "supported_archs", missing)
    assert "naive line 18:" in drawings.reads("naive").text  # which comes along
    other = kernels["unroll"].setting(UNROLL=2, IN_FLIGHT=8)
    assert "CuPy cannot be imported." in drawings.reads("naive", other).text
    monkeypatch.undo()
    assert "for none of these GPUs" in drawings.reads("naive", archs=[70]).text
