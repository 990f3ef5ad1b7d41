"""One kernel of any source, by its C++ name, through NVRTC, which needs no GPU."""

import pytest

from softmax_lib.engine.compiled.nvdisasm import disassemble
from softmax_lib.engine.errors import CompileError
from softmax_lib.engine.source import Program, Source
from softmax_lib.gpu import compile
from softmax_lib.gpu.compile import compile_cubin, compile_kernel

pytestmark = pytest.mark.nvrtc

TEXT = """#include <cooperative_groups.h>
#include <cuda_fp16.h>
namespace own {
__device__ float offset = 1.0f;
template <class T> __global__ void scale(T* x, float by) {
    auto block = cooperative_groups::this_thread_block();
    x[block.thread_rank()] = T(float(x[block.thread_rank()]) * by + offset);
}
}
"""


@pytest.mark.parametrize("element", ["float", "__half", "int"])
def test_a_template_is_found_by_its_name(element):
    source = Source("own.cu", TEXT)
    cubin, entry = compile_kernel(Program(source, entry=f"own::scale<{element}>"), 90)
    assert cubin.startswith(b"\x7fELF")
    assert entry.startswith("_ZN3own5scale")
    assert entry.encode() in cubin
    assert b"softmax_lib_signature" in cubin


def test_it_is_compiled_once(monkeypatch):
    source = Source("own.cu", TEXT)
    first = compile_kernel(Program(source, entry="own::scale<float>"), 90)
    monkeypatch.setattr(compile, "run_nvrtc", None)
    assert compile_kernel(Program(source, entry="own::scale<float>"), 90) == first


def test_small_numbers_stay_what_they_are():
    source = Source("own.cu", TEXT)
    cubin, _ = compile_kernel(Program(source, entry="own::scale<float>"), 90)
    instructions = disassemble(cubin, 90)
    assert "FFMA" in instructions
    assert ".FTZ" not in instructions


def test_a_kernel_that_is_not_there_is_told():
    source = Source("own.cu", TEXT)
    with pytest.raises(CompileError, match="missing"):
        compile_kernel(Program(source, entry="missing<float>"), 90)


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
    source = Source("own.cu", text)
    program = Program(source, entry="k")
    assert compile_kernel(program, 90)[1]
    assert compile_cubin(program, 90)
