"""A kernel's text in the book: whole, by phase, as what changes, and with its counters in the margin."""

import html
import itertools
import re

import pytest
from emulated import kernel_of, ones, zeros

from softmax_lib import drawings, kernels, xray_launch
from softmax_lib.show.drawings import listings
from softmax_lib.worklog.files import KERNEL_FOLDER
from softmax_lib.worklog.registry import rungs

pytest.importorskip("pygments")

LADDER = [kernel.name for kernel in rungs()]


def without_numbers(view):
    """The listing's lines as copied: without line numbers."""
    return [line[4:] for line in view.text.splitlines()]


@pytest.mark.parametrize("name", kernels)
def test_whole_listing_is_the_file(name):
    shown = drawings.source(name)
    assert without_numbers(shown) == kernels[name].source.text.splitlines()
    unseen = r'<style>.*?</style>|<span class="linenos">[^<]*</span>|<[^>]+>'
    seen = html.unescape(re.sub(unseen, "", shown.html, flags=re.DOTALL))
    assert seen.split() == kernels[name].source.text.split()


@pytest.mark.parametrize("name", kernels)
def test_parts_follow_each_other_and_hold_every_line_of_code(name):
    source = kernels[name].source
    spans = list(listings.parts(source).values())
    lines = source.text.splitlines()
    left_out = set(range(len(lines))).difference(*(range(*span) for span in spans))
    assert spans == sorted(spans)
    assert {lines[i] for i in left_out} <= {"", "}"}
    assert sum(end - start for start, end in spans) + len(left_out) == len(lines)


def test_a_phase_stands_at_the_margin_under_its_own_line_numbers():
    shown = drawings.source("shared", 3)
    first, *_, last = shown.text.splitlines()
    number = kernels["shared"].source.text.partition("// 3. ")[0].count("\n") + 1
    assert first.startswith(f"{number:3} // 3. sum of the row")
    assert last.endswith("float scale = 1.0f / partial[0];")
    assert f'<span class="linenos">{number}</span>' in shown.html


def test_header_helpers_and_shared_files_can_be_shown():
    header = without_numbers(drawings.source("shuffle", "header"))
    assert all(line.startswith("//") for line in header)
    helpers = without_numbers(drawings.source("shuffle", "helpers"))
    assert any("__shfl_xor_sync" in line for line in helpers)
    assert not any("__global__" in line for line in helpers)
    shared = drawings.source("block_reduce.cuh")
    assert without_numbers(shared) == (KERNEL_FOLDER / "block_reduce.cuh").read_text().splitlines()


@pytest.mark.parametrize(("old", "new"), list(itertools.pairwise(LADDER)))
def test_a_diff_turns_one_rung_into_the_next(old, new):
    lines = drawings.diff(old, new).text.splitlines()[2:]
    before, after = (kernels[name].source.text.splitlines() for name in (old, new))
    gone = {line[2:] for line in lines if line.startswith("- ")}
    come = {line[2:] for line in lines if line.startswith("+ ")}
    assert gone
    assert come
    assert gone <= set(before)
    assert come <= set(after)
    changed = set(after[listings.parts(kernels[new].source)["header"][1] :]) - set(before)
    assert {line for line in changed if line.strip()} <= come


def test_a_diff_is_marked_by_more_than_colour():
    shown = drawings.diff("shared", "shuffle")
    assert re.search(r"<ins>\+ .*warp_max\(thread_max\)", shown.html)
    assert re.search(r"<del>− .*partial\[tid\] = thread_max", shown.html)
    assert "nothing changes" in drawings.diff("naive", "naive").text


# ---- counters in the margin

PADDED = kernel_of("""\
    __shared__ float tile[32 * 33];
    for (int i = 0; i < 32; i++) tile[i * 33 + threadIdx.x] = x[i];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x * 33];
""")


def rows_of(view):
    """Cells of the table, by line number: requests, what each takes, waste, code."""
    plain = (re.sub(r"<[^>]+>", "|", row) for row in re.findall(r"<tr>.*?</tr>", view.html))
    cells = [[cell for cell in row.split("|") if cell.strip()] for row in plain]
    return {row[0]: row[1:] for row in cells if row and row[0].isdecimal()}


def test_lines_of_headers_that_ask_for_something_follow_the_kernel():
    shown = drawings.margin("fusion")
    assert "block_reduce.cuh</th>" in shown.html
    assert "float4.cuh</th>" not in shown.html
    assert "shuffle xor" in shown.html
    assert "1 barrier per block" in shown.text


def test_one_block_or_thread_is_not_several():
    copy = kernel_of("    y[0] = x[0];\n    __syncthreads();\n")
    shown = drawings.margin(copy, 1, 32, 32)
    assert ", 1 block of 32 threads:" in shown.text
    assert "1 barrier per block" in shown.text
    single = xray_launch(copy, (1, 1), (1, 1), [ones(1), zeros(1), 1, 1])
    assert "1 block of 1 thread" in drawings.margin_of(single, copy).text
    several = xray_launch(copy, (2, 3), 32, [ones(1), zeros(1), 1, 1])
    assert "2 x 3 blocks of 32 threads" in drawings.margin_of(several, copy).text


def test_code_is_escaped_and_every_line_is_there():
    shown = drawings.margin("shuffle", 2, 64)
    text = kernels["shuffle"].source.text.splitlines()
    assert "&lt;" in shown.html
    assert 'tabindex="0" role="group" aria-label=' in shown.html  # reached by keyboard
    assert str(len(text)) in rows_of(shown)


def test_a_kernel_without_phases_and_comments_has_its_margin_too():
    shown = drawings.margin(PADDED, 1, 32, 32)
    assert rows_of(shown)["3"][:4] == ["32", "32", "1 sector", "1 wavefront"]
