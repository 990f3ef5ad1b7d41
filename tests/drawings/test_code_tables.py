"""Source beside machine code: what stands beside what."""

import re

import pytest
from emulated import kernel_of

from softmax_lib import drawings, xray
from softmax_lib.errors import BadInput, NotAvailable

pytest.importorskip("pygments")


def rows_of(html, side):
    """Cells of the rows on one side, "source" or "machine code" or "PTX", with the classes of each."""
    part = re.split('aria-label="(?:machine code|PTX) of', html)[side != "source"]
    rows = re.findall(r'<tr class="([^"]*)">(.*?)</tr>', part, re.DOTALL)
    return [
        (set(marks.split()), re.sub(r"<[^>]+>", "|", cells).split("|")) for marks, cells in rows
    ]


@pytest.fixture(scope="module")
def shown():
    return drawings.machine_code("shuffle", 2, 64)


def test_an_instruction_has_the_colour_and_the_mark_of_its_line(shown):
    source = {cells[1]: marks for marks, cells in rows_of(shown.html, "source") if marks}
    code = rows_of(shown.html, "machine code")
    assert len(code) == len(xray("shuffle", 2, 64).code)
    for marks, cells in code:
        assert source[cells[1]] == marks - {"worklog-idle"}


def test_what_is_never_executed_is_pale(shown):
    for marks, cells in rows_of(shown.html, "machine code"):
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


# ---- PTX


def test_a_statement_of_ptx_has_the_colour_and_the_mark_of_its_line_and_is_counted():
    shown = drawings.machine_code("shuffle", 2, 64, path="ptx")
    found = xray("shuffle", 2, 64, path="ptx")
    source = {cells[1]: marks for marks, cells in rows_of(shown.html, "source") if marks}
    code = rows_of(shown.html, "PTX")
    assert [cells[3] for _, cells in code] == [f"{one.warps:,}" for one in found.ptx]
    assert len(source) > 10
    for marks, cells in code:
        if cells[1]:
            assert source[cells[1]] == marks - {"worklog-idle"}
        assert ("worklog-idle" in marks) == (cells[3] == "0")
    executed = [cells[3] for marks, cells in rows_of(shown.html, "source") if marks]
    of_lines = sum(one.warps for one in found.ptx if one.line)
    assert sum(int(one.replace(",", "")) for one in executed) == of_lines
    assert f"warps execute {sum(one.warps for one in found.ptx):,} in all" in shown.text


def test_loads_of_ptx_are_executed_as_often_as_they_ask():
    found = xray("float4", 3, 1030, path="ptx")
    loads = sum(one.warps for one in found.ptx if " ld.global" in f" {one.text.split('@')[0]}")
    assert loads >= found.total["global_load_requests"] > 0
    shared = [one for one in found.ptx if one.text.startswith("ld.shared")]
    assert sum(one.warps for one in shared) == found.total["shared_load_requests"]


def test_ptx_has_no_registers_and_loads_in_use_but_labels_and_lines_of_headers():
    shown = drawings.machine_code("fusion", 2, 64, path="ptx")
    head = re.split('aria-label="PTX of', shown.html)[1].partition("</thead>")[0]
    assert re.findall(r">([^<>]+)</th>", head) == ["line", "times", "PTX"]
    targets = set(re.findall(r"bra(?:\.uni)? (\S+);", shown.html))
    assert targets
    assert all(f"{target}:\n" in shown.html for target in targets)
    assert ">block_reduce.cuh</th>" in shown.html
    several = drawings.machine_code("unfused", 2, 64, path="ptx")
    assert ">softmax_unfused_divide</th>" in several.html


def test_ptx_of_a_kernel_of_ones_own_on_an_older_gpu():
    copy = kernel_of("    y[threadIdx.x] = x[threadIdx.x];\n")
    shown = drawings.machine_code(copy, 1, 32, 32, arch=75, path="ptx")
    assert "statements of PTX for sm_75" in shown.text
    assert "st.global.f32" in shown.html


def test_a_source_as_it_is_written_is_no_code():
    with pytest.raises(BadInput, match="its machine or ptx"):
        drawings.machine_code("naive", 2, 8, path="written")
    with pytest.raises(BadInput, match="path is 'sass'"):
        drawings.machine_code("naive", 2, 8, path="sass")


def test_a_source_as_it_is_written_has_none_to_show():
    found = xray("naive", 2, 8, path="written")
    with pytest.raises(NotAvailable, match="There is no machine code to show"):
        drawings.machine_code_of(found, found.program.source)
