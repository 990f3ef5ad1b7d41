"""Kernels of other people's repositories: the record belongs to the table, and the table can tell right from wrong."""

import json
import re
from dataclasses import replace

import nbformat
import others
import pytest
from marks import rewrite
from other_kernels.launches import FILLS, Entry, read_table
from other_kernels.launching import find_reference, try_kernel

TABLE = read_table()
RECORD = json.loads(others.RECORD.read_text())
FOUND = {found["name"]: found for found in RECORD["kernels"]}


# ---- the record


def test_the_record_has_each_entry_of_the_table_and_no_other():
    assert list(FOUND) == list(TABLE)
    assert len(TABLE) == 60
    for name, found in FOUND.items():
        entry = TABLE[name]
        assert (found["subject"], found["repository"]) == (entry.subject, entry.repository)


def test_at_least_fifty_are_taken_and_within_their_tolerance():
    taken = [name for name, found in FOUND.items() if found["taken"]]
    assert len(taken) >= 50
    for name in taken:
        assert 0 <= FOUND[name]["error"] <= TABLE[name].tolerance, name
        assert FOUND[name]["counters_s"] < 10, name


@pytest.mark.parametrize("name", [name for name, found in FOUND.items() if not found["taken"]])
def test_each_of_the_others_has_one_sentence_that_names_a_line(name):
    sentence = FOUND[name]["sentence"]
    assert "\n" not in sentence
    assert re.search(r"\w\.cuh?:\d+\b", sentence)


def test_the_record_says_of_which_commits_it_is():
    assert set(RECORD["repositories"]) == {entry.repository for entry in TABLE.values()}
    for commit in RECORD["repositories"].values():
        assert re.fullmatch("[0-9a-f]{40}", commit)


def test_a_readers_kernel_builds_while_they_wait():
    assert RECORD["build"]["cold_s"] < 2
    assert RECORD["build"]["cached_s"] < 0.1


def test_the_page_has_the_records_table():
    (cell,) = (cell for cell in nbformat.read(others.PAGE, 4).cells if cell.id == others.CELL)
    block = others.table(RECORD)
    assert rewrite(cell.source, "others", block) == cell.source, "run others.py with --write"
    assert block.count("\n| `") == len(TABLE)


# ---- the table


@pytest.mark.parametrize("entry", TABLE.values(), ids=TABLE)
def test_an_entry_names_what_there_is(entry):
    assert callable(find_reference(entry.reference))
    assert entry.prepare is None or entry.prepare in FILLS
    assert entry.path.endswith((".cu", ".cuh"))


# ---- trying a kernel


TEXT = """__global__ void permute(const float* matrix, float* out_matrix) {
    out_matrix[threadIdx.y * 4 + threadIdx.x] = matrix[threadIdx.x * 3 + threadIdx.y];
}
int main() { permute<<<1, dim3(4, 3)>>>(0, 0); }
"""
OWN = Entry(
    name="own",
    subject="transposition",
    repository="somebody/something",
    path="own.cu",
    kernel="permute",
    grid=(1,),
    block=(4, 3),
    args=("matrix:f32:4x1x1x3", "out_matrix:f32:3x1x4x1:nan"),
    reference="permute",
)


@pytest.fixture
def checkouts(tmp_path):
    (tmp_path / "something").mkdir()
    return tmp_path


def try_text(checkouts, text, entry=OWN):
    (checkouts / "something" / "own.cu").write_text(text)
    return try_kernel(entry, checkouts)


def test_a_kernel_that_leaves_what_its_reference_says_is_taken(checkouts):
    found = try_text(checkouts, TEXT)
    assert (found.taken, found.error, found.hazards, found.sentence) == (True, 0, {}, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [("threadIdx.x * 3", "threadIdx.x * 2"), ("= matrix[threadIdx", "= 1e-6f + matrix[threadIdx"),
     ("out_matrix[threadIdx.y * 4", "if (threadIdx.x) out_matrix[threadIdx.y * 4")],
)  # fmt: skip
def test_a_kernel_that_leaves_something_else_is_not(checkouts, old, new):
    found = try_text(checkouts, TEXT.replace(old, new, 1))
    assert (found.taken, found.sentence) == (False, None)


def test_a_wrong_kernel_with_a_race_is_told_by_it(checkouts):
    text = TEXT.replace("threadIdx.y * 4 + threadIdx.x]", "threadIdx.x]")
    found = try_text(checkouts, text)
    assert (found.taken, found.hazards) == (False, {"race": 1})
    assert "race on out_matrix" in found.sentence
    assert "own.cu:2" in found.sentence


def test_a_kernel_that_is_refused_is_told_by_the_refusal(checkouts):
    found = try_text(checkouts, TEXT.replace("matrix[threadIdx.x * 3", "matrix[1000"))
    assert not found.taken
    assert "illegal address" in found.sentence


def test_what_a_kernel_prints_is_compared(checkouts):
    entry = replace(OWN, kernel="own", block=(16, 1), args=(), reference="simpleCooperativeGroups")
    text = """#include <cstdio>
__global__ void own() {
    if (threadIdx.x) return;
    printf("Ranks 0..%d make %d (expected 120)\\n%d group of 16: ", 15, 120, 1);
    printf("0..15 make 120 (expected %d)\\n", 120);
}
"""
    assert try_text(checkouts, text, entry).taken
    assert not try_text(checkouts, text.replace("15, 120, 1", "15, 121, 1"), entry).taken
    assert not try_text(checkouts, text.replace("expected 120", "expected"), entry).taken


def test_a_folder_that_is_no_checkout(checkouts, capsys):
    assert others.main([str(checkouts), "--only", "adamw"]) == 2
    assert "is no checkout" in capsys.readouterr().err
