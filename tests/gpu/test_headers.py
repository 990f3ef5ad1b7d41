"""NVRTC compiles whole files as well: without what the host runs, and with stand-ins for its libraries."""

import pytest
from emulated import WITH_LIBRARIES

from softmax_lib.engine.errors import CompileError
from softmax_lib.engine.source import Program, Source
from softmax_lib.gpu.compile import compile_cubin
from softmax_lib.gpu.headers import options_for, read_headers
from softmax_lib.worklog.registry import kernels

pytestmark = pytest.mark.nvrtc

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


def test_a_whole_file_compiles(whole):
    assert compile_cubin(Program(Source.read(whole)), 90).startswith(b"\x7fELF")


def test_a_mistake_in_it_is_told_at_its_line(whole):
    whole.write_text(WHOLE.replace("FLT_MAX", "missing"))
    with pytest.raises(CompileError, match=r'whole\.cu\(16\): error: identifier "missing"'):
        compile_cubin(Program(Source.read(whole)), 90)


def test_its_headers_are_found_by_the_names_that_they_are_included_by(whole):
    headers = read_headers(Source.read(whole))
    assert headers["own/sizes.h"].count("\n") == SIZES.count("\n")
    assert "rand" not in headers["own/sizes.h"]
    assert "torch/types.h" in headers
    (whole.parent / "own" / "sizes.h").write_text(SIZES.replace("32", "64"))
    assert read_headers(Source.read(whole)) != headers


def test_a_header_of_the_source_comes_before_a_stand_in(tmp_path):
    (tmp_path / "math.h").write_text("#define OWN 1\n")
    (tmp_path / "own.cu").write_text('#include "math.h"\n')
    assert read_headers(Source.read(tmp_path / "own.cu"))["math.h"] == "#define OWN 1\n"


def test_a_kernel_of_the_book_is_compiled_as_before():
    assert options_for(kernels["fusion"].source) == ()


@pytest.mark.nvrtc
def test_headers_of_the_hosts_libraries_go_together_for_nvrtc():
    program = Program(Source("libraries.cu", WITH_LIBRARIES))
    assert compile_cubin(program, 90).startswith(b"\x7fELF")
