"""What the emulator lacks is named at its line; and nothing else is taken for that."""

import pytest
from launched import run, zeros

from softmax_lib.engine.errors import CompileError, NotAvailable

LACKING = [
    ("int lane; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane)); a[0] = lane;", "", "inline PTX \\(asm\\)"),
    ("asm volatile(\"bar.sync 0;\" ::: \"memory\");", "", "inline PTX \\(asm\\)"),
    ("", "#include <mma.h>", "tensor cores"),
    ("wmma::fragment<wmma::matrix_a, 16, 16, 16, float> f;", "", "tensor cores"),
    ("", "#include <cute/tensor.hpp>", "CUTLASS and CuTe"),
    ("", "#include <cuda/ptx>", "PTX as functions"),
    ("const CUtensorMap* map = 0;", "#include <cuda.h>", "tensor maps"),
    ("auto grid = cooperative_groups::this_multi_grid();", "#include <cooperative_groups.h>", "groups of several GPUs"),
    ("", "#include <cuda_fp8.h>", "floats of 8 bits and fewer"),
    ("", "#include <cub/cub.cuh>", "CUB and Thrust"),
    ("", "#include <thrust/device_vector.h>", "CUB and Thrust"),
    ("", "#include <curand_kernel.h>", "random numbers"),
    ("surf2Dwrite(1, cudaSurfaceObject_t(), 0, 0);", "", "textures and surfaces"),
    ("a[0] = tex2D<float>(0, 1, 2);", "", "textures and surfaces"),
    ("body<<<1, 1>>>(a);", "", "graphs and launches from code"),
    ("a[0] = __isConstant(a);", "", "__isConstant\\(\\)"),
    ("", "#include <cuda/annotated_ptr>", "this part of CUDA's C\\+\\+ library"),
    ("", "#include <cuda/std/mdspan>", "this part of CUDA's C\\+\\+ library"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "include", "words"), LACKING)
def test_what_the_emulator_lacks_is_named_at_its_line(body, include, words):
    number = 3 if body else 1
    with pytest.raises(
        NotAvailable, match=rf"^kernel\.cu:{number} uses {words}, which the emulator"
    ):
        run(body, zeros("int", 1), before=include)


MISTAKES = [
    ("for (int half = 16; half; half /= 2) a[0] = typo;", "typo"),
    ("int wmma = 3; a[0] = wmma + typo;", "typo"),
    ("const char* text = \"asm tex2D ptx\"; a[0] = typo;", "typo"),
    ("int cluster_x = 1, ptx = 2, tex2D = 3; a[0] = cluster_x + ptx + typo;", "typo"),
    ("int asm_count = typo;", "typo"),
    ("a[0] = typo; // asm, wmma, tex2D", "typo"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), MISTAKES)
def test_a_mistake_beside_such_a_word_is_the_compilers_to_tell(body, words):
    with pytest.raises(CompileError, match=rf"kernel\.cu:3:\d+: error: .*{words}"):
        run(body, zeros("int", 1))


def test_ptx_in_a_comment_or_a_string_is_none():
    body = 'const char* text = "asm"; // asm\na[0] = text[0];'
    assert run(body, zeros("int", 1)).tolist() == [ord("a")]


def test_a_refusal_is_told_beside_other_errors():
    body = "atomicMax((float*)a, 1.0f);\na[0] = typo;\natomicAdd((short*)a, 1);"
    with pytest.raises(CompileError) as caught:
        run(body, zeros("int", 1))
    lines = str(caught.value).splitlines()
    assert [line.split(" ")[0].rpartition(":")[0].rpartition(":")[0] for line in lines] == [
        "kernel.cu:3",
        "kernel.cu:4",
        "kernel.cu:5",
    ]
    assert all("error: " in line for line in lines)


@pytest.mark.parametrize("body", ["if (a > 0) return a;", "a += 1;"])
def test_a_function_without_its_return_is_named_at_its_line(body):
    before = f"__device__ int mine(int a) {{ {body}\n}}"
    words = r"kernel\.cu:2:1: error: a function that gives back a value ends here without `return`"
    with pytest.raises(CompileError, match=words) as told:
        run("a[0] = mine(a[0]);", zeros("int", 1), before=before)
    assert "-Werror" not in str(told.value)
    assert "cc1plus" not in str(told.value)
