"""The machine code and PTX that come along are what NVRTC makes of the book's kernels, and all of it."""

import re
import time
from unittest.mock import Mock

import listings
import pytest
from engine.on_gpu import nvrtc_version
from full_tables import some
from listings import by_file, is_current, is_ptx, packed, ptx_programs, write

from softmax_lib import xray
from softmax_lib.engine.compiled import code
from softmax_lib.engine.compiled.code import (
    TESTED_DISASSEMBLER,
    code_of,
    compile_code,
    files_in,
    find_code,
    read_content,
    read_file,
)
from softmax_lib.engine.compiled.inspection import SHOWN_ARCHS
from softmax_lib.engine.compiled.listing import read_listing
from softmax_lib.engine.compiled.ptx.program import find_ptx, listed_ptx, ptx_of, translate
from softmax_lib.engine.errors import CompileError, NotAvailable
from softmax_lib.engine.folders import listing_folder
from softmax_lib.engine.source import Program, Source
from softmax_lib.gpu import compile as compile_
from softmax_lib.worklog.registry import kernels

WANTED = by_file()
BY_NAME = {f"{path.parent.stem}/{path.stem}": path for path in WANTED if not is_ptx(path)}
PTX = {one.source.file_name: one for one in ptx_programs()}


def test_every_kernel_of_the_book_comes_along_as_it_is_now_and_nothing_else_does():
    held = {
        path: set(read_file(path))
        for archive in listing_folder().iterdir()
        for path in files_in(archive)
    }
    assert held == {path: set(wanted) for path, wanted in WANTED.items()}, "run: make listings"


@pytest.mark.parametrize("name", some(BY_NAME, every=46))
def test_what_comes_along_is_what_nvrtc_makes(name):
    path = BY_NAME[name]
    made_by = f"NVRTC {nvrtc_version()}, nvdisasm {TESTED_DISASSEMBLER}"
    wanted = list(WANTED[path].values())
    for program, arch in wanted[:: max(1, len(wanted) // 2)]:
        held = find_code(program, arch)
        if held.made_by != made_by:
            pytest.skip(f"made by {held.made_by}, this is {made_by}")
        assert held.as_json() == compile_code(program, arch).as_json(), "run: make listings"


@pytest.mark.parametrize("name", some(PTX, every=9))
def test_ptx_that_comes_along_is_what_nvrtc_makes_and_the_same_for_every_gpu(name):
    program = PTX[name]
    held, made = find_ptx(program, 90), listed_ptx(program, 90)
    if held["made_by"] != made["made_by"]:
        pytest.skip(f"made by {held['made_by']}, this is {made['made_by']}")
    assert held == made, "run: make listings"
    for arch in SHOWN_ARCHS:
        other = listed_ptx(program, arch)["text"]
        assert other.replace(f".target sm_{arch}", ".target sm_90") == held["text"]


@pytest.mark.parametrize("path", ["machine", "ptx"])
def test_the_books_kernels_are_counted_alike_without_a_compiler(path, monkeypatch):
    missing = Mock(side_effect=NotAvailable("There is no NVRTC."))
    there = xray("float4", 3, 4096, path=path)
    monkeypatch.setattr(compile_, "nvrtc", missing)
    monkeypatch.setattr(code, "disassembler", lambda: None)
    for cache in (code_of, ptx_of, translate):
        cache.cache_clear()
    found = xray("float4", 3, 4096, path=path)
    assert (found.lines, found.code, found.ptx) == (there.lines, there.code, there.ptx)
    with pytest.raises(NotAvailable, match="no NVRTC"):
        xray("float4", 3, 4096, path=path, arch=86)


def test_nothing_that_comes_along_names_a_folder_of_the_machine_that_made_it():
    for path in WANTED:
        for held in read_file(path).values():
            names = set(re.findall(r'(?:\.file\s+\d+|File|inlined at) "([^"]*)"', held["text"]))
            assert f"{path.stem}.cu" in names, path
            assert not [name for name in names if "/" in name or "\\" in name], path


def test_make_listings_leaves_a_file_alone_whose_sources_and_compiler_are_the_same(
    monkeypatch, tmp_path
):
    path = BY_NAME["sm_90/03_naive"]
    wanted = WANTED[path]
    (made_by,) = {one["made_by"] for one in read_file(path).values()}
    if made_by != listings.made_here(path):
        pytest.skip(f"made by {made_by}")
    assert is_current(path, wanted)
    assert not is_current(path, {**wanted, "of a source that has changed": None})
    assert not is_current(tmp_path / "sm_90.zip" / "03_naive.json", wanted)
    ptx = listings.ptx_file_of(Program(kernels["naive"].source), 90)
    assert is_current(ptx, WANTED[ptx])
    monkeypatch.setattr(listings, "disassembler_version", lambda: "1.0")
    assert not is_current(path, wanted)


def test_a_source_of_which_one_line_is_another_is_compiled_anew():
    kernel = kernels["naive"]
    text = kernel.source.text
    assert find_code(Program(Source("03_naive.cu", text)), 90)
    for other in (f"\n{text}", text.replace("max", "fmin")):
        program = Program(Source("03_naive.cu", other))
        assert (find_code(program, 90), find_ptx(program, 90)) == (None, None)


def test_an_archive_is_written_anew_where_a_file_has_changed_and_has_the_same_bytes_whenever(
    monkeypatch, tmp_path
):
    archive = tmp_path / "sm_90.zip"
    first, second = archive / "03_naive.json", archive / "04_online.json"
    assert write(archive, {first: b"{}", second: b'{"key": 1}'}).startswith("sm_90.zip: 2 files")
    made = archive.read_bytes()
    assert write(archive, {second: b'{"key": 1}', first: b"{}"}) == "sm_90.zip: unchanged"
    monkeypatch.setattr(time, "time", lambda: 2e9)
    assert packed({second.name: b'{"key": 1}', first.name: b"{}"}) == made
    code._open.cache_clear()
    assert write(archive, {first: b"{}"}).startswith("sm_90.zip: 1 file,")
    code._open.cache_clear()
    assert files_in(archive) == {first}
    assert write(archive, {}) == "sm_90.zip: removed"
    assert not archive.exists()


def test_an_archive_that_is_damaged_or_missing_holds_nothing(tmp_path):
    name = "03_naive.json"
    whole = packed({name: read_content(BY_NAME["sm_90/03_naive"])})
    middle = len(whole) // 2
    spoiled = (
        whole[:middle] + bytes(byte ^ 255 for byte in whole[middle:][:40]) + whole[middle:][40:]
    )
    damaged = {"cut": whole[:-40], "spoiled": spoiled, "other": b"no archive", "empty": b""}
    for archive, content in damaged.items():
        (tmp_path / archive).write_bytes(content)
        assert read_file(tmp_path / archive / name) == {}
    (tmp_path / "whole").write_bytes(whole)
    assert read_file(tmp_path / "whole" / name)
    assert read_file(tmp_path / "whole" / "other") == {}
    assert read_file(tmp_path / "missing" / name) == {}


TWO_FILES = """\
#include "helper.cuh"
__global__ void two(const float* x, float* y, int n) {
    float top = helped(x[threadIdx.x]);
    float sum = 0;
    for (int i = 0; i < n; i++) sum += expf(x[i] - top);
    y[threadIdx.x] = sum;
}
"""
HELPER = """\
#pragma once
__device__ float helped(float a) {
    // the last statement is on the same line as the loop that follows
    __syncthreads();
    for (int bit = 16; bit > 0; bit /= 2) a = fmaxf(a, __shfl_xor_sync(~0u, a * a, bit));
    return a;
}
"""


def test_a_line_of_the_source_is_told_from_the_line_of_a_header_with_the_same_number(tmp_path):
    (tmp_path / "helper.cuh").write_text(HELPER)
    source = Source("two.cu", TWO_FILES, tmp_path)
    code = compile_code(Program(source, entry="two"), 90)
    places = {
        (one.opcode, one.places[0])
        for one in read_listing(code.text, code.entry).statements
        if one.places
    }
    assert ("FMNMX", ("helper.cuh", 5)) in places
    assert {place for opcode, place in places if opcode == "LDG"} == {("two.cu", 3), ("two.cu", 5)}


def test_a_mistake_in_a_header_is_told_at_its_own_line(tmp_path):
    (tmp_path / "helper.cuh").write_text(HELPER.replace("a * a", "a * b"))
    with pytest.raises(CompileError, match=r'helper\.cuh\(5\): error: identifier "b"'):
        compile_code(Program(Source("two.cu", TWO_FILES, tmp_path), entry="two"), 90)
