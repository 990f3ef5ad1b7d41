"""The book's listings are the kernels' own text, whole, by phase and as what changes."""

import html
import itertools
import re

import pytest

from softmax_lib import drawings, kernels
from softmax_lib.show.drawings import listings
from softmax_lib.worklog.files import KERNEL_FOLDER
from softmax_lib.worklog.registry import rungs

pytest.importorskip("pygments")

LADDER = [kernel.name for kernel in rungs()]


def visible(view):
    """What a reader reads in the HTML."""
    text = re.sub(r"<style>.*?</style>", "", view.html, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", text)).strip("\n")


def without_numbers(view):
    """The listing's lines as copied: without line numbers."""
    return [line[4:] for line in view.text.splitlines()]


@pytest.mark.parametrize("name", kernels)
def test_whole_listing_is_the_file(name):
    shown = drawings.source(name)
    assert without_numbers(shown) == kernels[name].source.text.splitlines()
    marked_up = re.sub(r'<span class="linenos">[^<]*</span>', "", shown.html)
    again = visible(type(shown)(marked_up, ""))
    assert again.split() == kernels[name].source.text.split()


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
    numbers = [
        i
        for i, line in enumerate(kernels["shared"].source.text.splitlines(), 1)
        if "// 3. " in line
    ]
    assert first.startswith(f"{numbers[0]:3} // 3. sum of the row")
    assert last.endswith("float scale = 1.0f / partial[0];")
    assert f'<span class="linenos">{numbers[0]}</span>' in shown.html


def test_header_helpers_and_shared_files_can_be_shown():
    assert all(
        line.startswith("//") for line in without_numbers(drawings.source("shuffle", "header"))
    )
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


def test_a_diff_with_itself_says_so():
    assert "nothing changes" in drawings.diff("naive", "naive").text
