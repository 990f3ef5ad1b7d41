"""NVRTC needs no GPU: every compilation that the registry allows, kernels of any source, whole files, and what comes of them."""

import sys

import pytest
from emulated import WITH_LIBRARIES
from full_tables import some

from softmax_lib import kernels
from softmax_lib.engine import caches
from softmax_lib.engine.compiled.code import disassemble
from softmax_lib.engine.compiled.inspection import inspect, occupancy
from softmax_lib.engine.errors import CompileError, NotAvailable
from softmax_lib.engine.grids import REGISTERS_A_BLOCK
from softmax_lib.engine.source import Program, Source
from softmax_lib.gpu import compile
from softmax_lib.gpu.compile import (
    compile_cubin,
    compile_kernel,
    nvrtc,
    options_for,
    read_headers,
    resources,
    supported_archs,
)

ARCHS = supported_archs()
EVERYDAY_ARCHS = (75, 90, ARCHS[-1])
"""Those of `make test`: Colab's T4, the H200 of the book's record, and the newest; the rest in `make test-all`."""

pytestmark = pytest.mark.nvrtc


def compilations():
    """Every program that the registry allows, once, with the largest block that it is launched with."""
    for kernel in kernels.values():
        if kernel.of:
            continue
        programs = {}
        for size in kernel.block_sizes:
            lengths = [size * floats for floats in kernel.per_thread] or [kernel.longer(1)]
            for cols in lengths:
                if cols <= kernel.max_cols(size):
                    program = kernel.program(size, cols)
                    programs[program.digest] = (program, size)
        for program, size in programs.values():
            values = "-".join(str(value) for _, value in program.defines)
            yield pytest.param(program, size, id=f"{kernel.name}-{values}".rstrip("-"))


def test_the_archs_reach_from_turing_to_hopper_and_on():
    assert {75, 80, 90} <= set(ARCHS)


@pytest.mark.parametrize(("program", "block_size"), some(compilations(), every=18))
@pytest.mark.parametrize(
    "archs",
    [
        pytest.param(EVERYDAY_ARCHS, id="everyday"),
        pytest.param(sorted({*ARCHS} - {*EVERYDAY_ARCHS}), id="others", marks=pytest.mark.full),
    ],
)
def test_it_compiles_without_a_spill_and_a_block_fits(program, block_size, archs):
    for arch in archs:
        for found in resources(program, arch):
            assert found.spill_bytes == found.stack_bytes == 0, (arch, found)
            assert found.registers * block_size <= REGISTERS_A_BLOCK, (arch, found)
            assert found.shared_bytes <= 48 * 1024, (arch, found)


@pytest.mark.parametrize(
    "name", some((kernel.name for kernel in kernels.values() if kernel.of), every=3)
)
def test_a_control_takes_no_more_registers_than_a_block_has_where_it_was_measured(name):
    control = kernels[name]
    cols = min(32768, max(map(control.max_cols, control.block_sizes)))
    block_size = control.choose_block_size(cols)
    cols = min(cols, control.max_cols(block_size))
    for found in resources(control.program(block_size, cols), 90):
        assert found.spill_bytes == 0
        assert found.registers * block_size <= REGISTERS_A_BLOCK


def test_a_cubin_is_a_whole_elf_file_and_comes_from_the_cache_the_second_time(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = kernels["fusion"].program(256, 1000)
    first = compile_cubin(program, 90)
    assert first.startswith(b"\x7fELF")
    (path,) = tmp_path.rglob("*.cubin")
    path.unlink()
    caches.read_or_make(path, lambda: b"\0\0from the cache")
    assert compile_cubin(program, 90) == b"from the cache"


def test_what_was_compiled_before_still_has_its_report():
    program = kernels["fusion"].program(256, 1000)
    compile_cubin(program, 90)
    first, again = resources(program, 90), resources(program, 90)
    assert [entry.entry for entry in first] == ["softmax_fusion"]
    assert again == first


def test_without_cupy_one_sentence_says_what_to_install(monkeypatch):
    nvrtc.cache_clear()
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setitem(sys.modules, "cupy.cuda", None)
    with pytest.raises(NotAvailable, match="pip install cupy-cuda12x"):
        nvrtc()


def test_the_prelude_shifts_no_line():
    text = 'extern "C" __global__ void f() {\n    float top = INFINITY;\n    nonsense;\n}\n'
    with pytest.raises(CompileError, match=r"mine\.cu\(3\): error.*nonsense"):
        compile_cubin(Program(Source("mine.cu", text)), 90)


def test_the_digest_follows_code_and_macros_and_ignores_comments():
    def digest(text: str, **defines: int) -> str:
        return Program(Source("k.cu", text), tuple(defines.items())).digest

    assert digest("int a;  // one") == digest("// two\n\nint a;")
    assert digest("int a;") != digest("int b;")
    assert digest("int a;", BLOCK=32) != digest("int a;", BLOCK=64)
    assert digest('#include "block_reduce.cuh"') != digest("")


# ---- one kernel of any source, by its C++ name

OWN = Source(
    "own.cu",
    """#include <cooperative_groups.h>
#include <cuda_fp16.h>
namespace own {
__device__ float offset = 1.0f;
template <class T> __global__ void scale(T* x, float by) {
    auto block = cooperative_groups::this_thread_block();
    x[block.thread_rank()] = T(float(x[block.thread_rank()]) * by + offset);
}
}
""",
)


@pytest.mark.parametrize("element", ["float", "__half", "int"])
def test_a_template_is_found_by_its_name(element):
    cubin, entry = compile_kernel(Program(OWN, entry=f"own::scale<{element}>"), 90)
    assert cubin.startswith(b"\x7fELF")
    assert entry.startswith("_ZN3own5scale")
    assert entry.encode() in cubin
    assert b"softmax_lib_signature" in cubin


def test_it_is_compiled_once_and_small_numbers_stay_what_they_are(monkeypatch):
    cubin, _ = first = compile_kernel(Program(OWN, entry="own::scale<float>"), 90)
    monkeypatch.setattr(compile, "run_nvrtc", None)
    assert compile_kernel(Program(OWN, entry="own::scale<float>"), 90) == first
    instructions = disassemble(cubin, 90)
    assert "FFMA" in instructions
    assert ".FTZ" not in instructions


def test_a_kernel_that_is_not_there_is_told():
    with pytest.raises(CompileError, match="missing"):
        compile_kernel(Program(OWN, entry="missing<float>"), 90)


def test_headers_are_found_from_where_they_are_included(tmp_path):
    for name, text in {
        "own/a.h": '#include "deep/b.h"\n#include "../side/c.h"\n',
        "own/deep/b.h": "#define B 2\n",
        "side/c.h": "#define C 3\ninline int host() { return rand(); }\n",
        "nested.cu": '#include "own/a.h"\n__global__ void k(float* x) { x[0] = B + C; }\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert compile_kernel(Program(Source.read(tmp_path / "nested.cu"), entry="k"), 90)[1]


def test_a_source_may_have_a_warp_of_its_own():
    text = "constexpr int WARP = 32;\n__global__ void k(float* x) { x[WARP] = 1; }"
    assert all(compile_kernel(Program(Source("own.cu", text), entry="k"), 90))


# ---- whole files: without what the host runs, and with stand-ins for its libraries

WHOLE = """#include <cuda_runtime.h>
#include <helper_functions.h>
#include <curand.h>
#include <cstdio>
#include <float.h>
#include <iostream>
#include <math.h>
#include <string>
#include <vector>
#include "own/sizes.h"

const char* title = "whole";
StopWatchInterface* timer;
static int count = 3;

__global__ void scale(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]) + FLT_MAX * M_PI; }

void say(const std::string& what) { std::cout << what; }

int main() {
    std::vector<float> kept(N);
    scale<<<1, N>>>(kept.data());
    printf("%d\\n", count);
}
"""
SIZES = "#define N 32\n__device__ inline float twice(float x) { return 2 * x; }\ninline int host() { return rand(); }\n"


@pytest.fixture
def whole(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sizes.h").write_text(SIZES)
    (tmp_path / "whole.cu").write_text(WHOLE)
    return tmp_path / "whole.cu"


def test_a_whole_file_compiles_and_a_mistake_in_it_is_told_at_its_line(whole):
    assert compile_cubin(Program(Source.read(whole)), 90).startswith(b"\x7fELF")
    whole.write_text(WHOLE.replace("FLT_MAX", "missing"))
    with pytest.raises(CompileError, match=r'whole\.cu\(16\): error: identifier "missing"'):
        compile_cubin(Program(Source.read(whole)), 90)


def test_its_headers_are_found_by_the_names_that_they_are_included_by(whole):
    assert options_for(kernels["fusion"].source) == ()  # it includes none of these
    headers = read_headers(Source.read(whole))
    assert headers["own/sizes.h"].count("\n") == SIZES.count("\n")
    assert "rand" not in headers["own/sizes.h"]
    assert "torch/types.h" in headers
    (whole.parent / "own" / "sizes.h").write_text(SIZES.replace("32", "64"))
    assert read_headers(Source.read(whole)) != headers
    # one of the source comes before a stand-in
    (whole.parent / "math.h").write_text("#define OWN 1\n")
    whole.write_text('#include "math.h"\n')
    assert read_headers(Source.read(whole))["math.h"] == "#define OWN 1\n"


def test_headers_of_the_hosts_libraries_go_together_for_nvrtc():
    program = Program(Source("libraries.cu", WITH_LIBRARIES))
    assert compile_cubin(program, 90).startswith(b"\x7fELF")


# ---- widths in the machine code, registers, and how many blocks fit


@pytest.mark.parametrize("arch", [75, 80, 90])
def test_vector_loads_are_128_bits_wide_in_the_machine_code(arch):
    (scalar,) = inspect(kernels["shuffle"].program(256, 4096), 256, [arch])
    (vector,) = inspect(kernels["float4"].program(256, 4096), 256, [arch])
    assert set(scalar.accesses) == {"LDG 32", "LDS 32", "STG 32", "STS 32"}
    assert vector.accesses["LDG 128"] >= 2
    assert vector.accesses["STG 128"] >= 1


@pytest.mark.parametrize(
    ("arch", "block_size", "registers", "shared_bytes", "wanted"),
    [
        (90, 1024, 32, 0, (2, "threads")),
        (90, 1024, 64, 0, (1, "registers")),
        (90, 32, 16, 0, (32, "blocks")),
        (90, 128, 32, 50 * 1024, (4, "shared memory")),
        (75, 1024, 32, 0, (1, "threads")),
    ],
)
def test_occupancy_is_what_the_scarcest_resource_allows(
    arch, block_size, registers, shared_bytes, wanted
):
    assert occupancy(arch, block_size, registers, shared_bytes) == wanted


def test_an_nvrtc_that_does_not_come_back_is_left_behind(monkeypatch):
    monkeypatch.setattr(compile, "COMPILE_S", 0.0)
    with pytest.raises(CompileError, match="did not come to an end"):
        compile_cubin(Program(Source("late.cu", "__global__ void late(int* n) { *n = 77; }")), 90)
