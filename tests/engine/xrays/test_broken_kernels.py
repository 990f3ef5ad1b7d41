"""Broken kernels: what x-ray or check finds in each, and at which line; and nothing in good ones.

First stand rungs with one line changed, where that is more than the tables have: a reader's own kernels. A change that computes
something wrong without doing anything illegal is for `check` to find.
"""

import re
import sys

import pytest
from emulated import kernel_of
from engine.kernel_tables import read_kernels
from full_tables import some

from softmax_lib import check, xray
from softmax_lib.engine.errors import KernelFault, NotAvailable
from softmax_lib.engine.source import Source
from softmax_lib.worklog.files import KERNEL_FOLDER
from softmax_lib.worklog.registry import kernels

LENGTHS = (1, 31, 100, 1024)


def changed(rung, old, new):
    """A rung with `old` replaced by `new` where it stands first."""
    text = kernels[rung].source.text
    assert old in text, f"{rung} has no {old!r} any more"
    return Source(f"{rung}.cu", text.replace(old, new, 1))


IN_A_HEADER = {
    "one scratch array for two reductions": (
        "(thread_max - row_max), sums)", "(thread_max - row_max), maxima)", 256, "race", "return warp_max(lane"),
    "a scratch array one warp short": (
        "maxima[WARPS], sums", "maxima[WARPS - 1], sums", None, "out of bounds", "if (lane == 0) partial[warp] = value;"),
}  # fmt: skip
"""Of float4: what is replaced by what, at which block size; and what happens at which line of block_reduce.cuh."""


@pytest.mark.parametrize("name", IN_A_HEADER)
def test_xray_finds_in_a_header_what_a_changed_line_breaks(name):
    old, new, block_size, kind, at = IN_A_HEADER[name]
    hazards = xray(changed("float4", old, new), 64, 512, block_size, path="written").hazards
    lines = (KERNEL_FOLDER / "block_reduce.cuh").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if at in text)
    assert {hazard.kind for hazard in hazards} == {kind}
    assert all("thread" in hazard.message for hazard in hazards)
    assert any(f"block_reduce.cuh:{line}" in hazard.message for hazard in hazards)


WRONG = {
    "maximum starts at 0": ("online", "row_max = -INFINITY", "row_max = 0.0f"),
    "no tail when cols is no multiple of 4": ("float4", "int edges = cols - 4 * vectors;", "int edges = head;"),
    "maximum never reduced across threads": ("float4", "block_max(thread_max, maxima)", "thread_max"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_check_finds_what_a_changed_line_computes_wrong(name):
    assert not check(changed(*WRONG[name]), device="cpu", lengths=LENGTHS, block_size=64).ok


def test_check_stops_at_a_store_that_is_aligned_otherwise_than_the_load():
    broken = changed("float4", "floats_to_boundary(y_row + head) == 0", "true")
    with pytest.raises(KernelFault, match=r"misaligned address: .* y\[\d+\] at float4\.cu:96\."):
        check(broken, device="cpu", lengths=LENGTHS)


def test_without_a_guard_the_last_block_reads_past_the_end_and_counts_up_to_there_are_kept():
    found = xray(changed("naive", "if (row >= rows) return;", ""), 40, 512)
    (hazard,) = found.hazards
    assert (hazard.kind, "row_max = fmaxf" in found.program.source.text.splitlines()[hazard.line - 1]) == ("out of bounds", True)  # fmt: skip
    assert found.total["global_load_requests"] >= 3 * 512  # the first block came to its end


# ---- tables of broken and of sound kernels

BROKEN, SOUND = read_kernels()


@pytest.mark.parametrize("name", some(BROKEN, every=5))
def test_xray_finds_what_is_marked_in_a_broken_kernel_and_nothing_else(name):
    broken = BROKEN[name]
    hazards = broken.hazards()
    assert {hazard.kind for hazard in hazards} <= {kind for _, kind, _ in broken.marks}
    assert all("thread" in hazard.message for hazard in hazards)
    for line, kind, must in broken.marks:
        named = [h for h in hazards if h.kind == kind and f"{name}.cu:{line}" in h.message]
        assert named or not must, (line, kind, hazards)


@pytest.mark.parametrize("name", some(SOUND, every=7))
def test_a_sound_kernel_raises_no_alarm(name):
    assert SOUND[name].hazards() == ()


MISTAKES_OF_RAGGED_ROWS = {
    "float4 where no row may start at one": (
        "((float4*)y_row)[threadIdx.x] = ((const float4*)x_row)[threadIdx.x];", "cols / 4", "misaligned"),
    "a return before a barrier": (
        "if (threadIdx.x >= cols) return; __syncthreads(); y_row[threadIdx.x] = 1;", "cols", "barrier"),
    "no guard": ("y_row[threadIdx.x] = 1;", "cols + 1024", "out of bounds"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES_OF_RAGGED_ROWS)
def test_what_ragged_rows_alone_show_is_found_on_matrices_that_the_xray_adds(name):
    does, guard, kind = MISTAKES_OF_RAGGED_ROWS[name]
    source = kernel_of(
        "    const float* x_row = x + blockIdx.x * cols;\n    float* y_row = y + blockIdx.x * cols;\n"
        f"    if (threadIdx.x < {guard}) {{ {does} }}\n"
    )
    assert xray(source, 4, 256, 64).hazards == ()
    found = xray(source, 4, 256, 64, ragged=True)
    hazards = [hazard for hazard in found.hazards if hazard.kind == kind]
    assert [hazard.line for hazard in hazards] == [4]
    assert re.search(r", on a matrix of \(\d+, \d+\)\.$", hazards[0].message)
    assert found.total == xray(source, 4, 256, 64).total


def test_a_good_kernel_is_sound_on_ragged_matrices_too():
    found = xray("fusion", 4, 256, 64, ragged=True)
    assert (found.hazards, found.as_json()["ragged"]) == ((), found.ragged)
    assert len(found.ragged) >= 5


GOOD = [
    (name, size)
    for name, kernel in kernels.items()
    for size in kernel.block_sizes
    if name != "fusion_no_barrier"
]


def test_xray_finds_the_barrier_that_a_control_leaves_out():
    assert {hazard.kind for hazard in xray("fusion_no_barrier", 3, 1024, 256).hazards} >= {"race"}


@pytest.mark.parametrize(("name", "block_size"), some(GOOD, every=31))
def test_a_good_kernel_has_no_hazard_at_any_block_size(name, block_size):
    # 257 columns: every row starts and ends elsewhere in a sector; 70 rows: two warps and a bit
    for rows, cols in ((70, 257), (3, 1024)) if name != "per_element" else ((5, 129), (2, 128)):
        cols = kernels[name].longer(cols)
        assert xray(name, rows, cols, block_size, path="written").hazards == ()


def test_elsewhere_than_on_linux_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NotAvailable, match=r"^[^\n]*Linux[^\n]*\.$"):
        xray("naive", 1, 32)
