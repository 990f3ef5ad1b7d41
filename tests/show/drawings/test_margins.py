"""A kernel's text with its counters in the margin, and kernels side by side: what they say."""

import re

import pytest
from emulated import kernel_of, ones, zeros

from softmax_lib import drawings, kernels, xray_launch

pytest.importorskip("pygments")

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


@pytest.mark.parametrize(
    ("name", "phase", "line", "margin"),
    [
        ("naive", 1, "18", ["8,192", "32 sectors", "88%"]),
        ("shared", 1, "18", ["8,192", "4 sectors", "0%"]),
        ("float4", 1, "61", ["2,048", "16 sectors", "0%"]),  # a quarter of the requests
    ],
)
def test_the_margin_says_what_the_chapters_say(name, phase, line, margin):
    assert rows_of(drawings.margin(name, phase=phase))[line][:3] == margin


def test_lines_of_headers_follow_the_kernel():
    shown = drawings.margin("float4", 2, 1024)
    assert "block_reduce.cuh" in shown.html
    assert "shuffle xor" in shown.html
    assert "2 barriers per block" in shown.text


def test_one_block_or_thread_is_not_several():
    copy = kernel_of("    y[0] = x[0];\n    __syncthreads();\n")
    shown = drawings.margin(copy, 1, 32, 32)
    assert ", 1 block of 32 threads:" in shown.text
    assert "1 barrier per block" in shown.text
    single = xray_launch(copy, (1, 1), (1, 1), [ones(1), zeros(1), 1, 1])
    assert "1 block of 1 thread" in drawings.margin_of(single, copy).text
    several = xray_launch(copy, (2, 3), 32, [ones(1), zeros(1), 1, 1])
    assert "2 x 3 blocks of 32 threads" in drawings.margin_of(several, copy).text


def test_a_header_that_asks_for_nothing_is_left_out():
    margin = drawings.margin("fusion")
    assert "block_reduce.cuh</th>" in margin.html
    assert "float4.cuh</th>" not in margin.html


def test_code_is_escaped_and_every_line_is_there():
    shown = drawings.margin("shuffle", 2, 64)
    text = kernels["shuffle"].source.text.splitlines()
    assert "&lt;" in shown.html
    assert 'tabindex="0" role="group" aria-label=' in shown.html  # reached by keyboard
    assert str(len(text)) in rows_of(shown)


def test_a_kernel_without_phases_and_comments_has_its_margin_too():
    shown = drawings.margin(PADDED, 1, 32, 32)
    assert rows_of(shown)["3"][:4] == ["32", "32", "1 sector", "1 wavefront"]
