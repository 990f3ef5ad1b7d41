"""What the emulator lacks is named at its line; and nothing else is taken for that."""

import re

import pytest
from engine.launched import run, zeros

from softmax_lib.engine.errors import CompileError, KernelFault, NotAvailable

BARRIER = "#include <cuda/barrier>\n"
CG = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
"""
GROUPS = "auto block = cg::this_thread_block(); auto warp = cg::tiled_partition<32>(block);\n"
BAR = """__shared__ cuda::barrier<cuda::thread_scope_block> bar;
alignas(16) __shared__ float tile[8];
if (threadIdx.x == 0) init(&bar, blockDim.x);
__syncthreads();
"""
LACKING = [  # what the emulator does not have
    ("", 'int lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); a[0] = lane;', r"inline PTX \(asm\)"),
    ("", 'asm volatile("bar.sync 0;" ::: "memory");', r"inline PTX \(asm\)"),
    ("", 'asm volatile("" ::: "memory"); asm volatile("nop");', r"inline PTX \(asm\)"),  # the host's own
    ("", 'float v; asm("ex2.approx.f32 %0, %1;" : "=f"(v) : "f"(1.0f)); a[0] = v;', r"inline PTX \(asm\)"),
    ("#include <mma.h>", "", "tensor cores"),
    ("", "wmma::fragment<wmma::matrix_a, 16, 16, 16, float> f;", "tensor cores"),
    ("#include <cute/tensor.hpp>", "", "CUTLASS and CuTe"),
    ("#include <cuda/ptx>", "", "PTX as functions"),
    ("#include <cuda.h>", "const CUtensorMap* map = 0;", "tensor maps"),
    ("#include <cooperative_groups.h>", "auto grid = cooperative_groups::this_multi_grid();", "groups of several GPUs"),
    ("#include <cuda_fp8.h>", "", "floats of 8 bits and fewer"),
    ("#include <cub/cub.cuh>", "", "CUB and Thrust"),
    ("#include <thrust/device_vector.h>", "", "CUB and Thrust"),
    ("#include <curand_kernel.h>", "", "random numbers"),
    ("", "surf2Dwrite(1, cudaSurfaceObject_t(), 0, 0);", "textures and surfaces"),
    ("", "a[0] = tex2D<float>(0, 1, 2);", "textures and surfaces"),
    ("", "body<<<1, 1>>>(a);", "graphs and launches from code"),
    ("", "a[0] = __isConstant(a);", r"__isConstant\(\)"),
    ("#include <cuda/annotated_ptr>", "", r"this part of CUDA's C\+\+ library"),
    ("#include <cuda/std/mdspan>", "", r"this part of CUDA's C\+\+ library"),
]  # fmt: skip
MISTAKEN = [  # what does not compile, also beside words of what is lacking
    *(("", body, ".*typo") for body in (
        "for (int half = 16; half; half /= 2) a[0] = typo;", "int wmma = 3; a[0] = wmma + typo;",
        'const char* text = "asm tex2D ptx"; a[0] = typo;', "int cluster_x = 1, ptx = 2, tex2D = 3; a[0] = cluster_x + ptx + typo;",
        "int asm_count = typo;", "a[0] = typo; // asm, wmma, tex2D",
    )),
    (BARRIER, BAR + "while (!bar.try_wait(bar.arrive())) { }", ".*no member named 'try_wait'"),
    *(("", f"auto r = {call}; a[0] = *(int*)&r;", "") for call in (
        "__reduce_add_sync(0xffffffff, 1.0f)", "__reduce_min_sync(0xffffffff, 1ll)", "__match_any_sync(0xffffffff, make_float2(1, 2))",
    )),
    ("", "int own[blockDim.x]; own[0] = 1; a[0] = own[0];", "an array's length has to be a constant"),
    ("", "float4 v = {}; a[0] = __shfl_sync(0xffffffff, v, 1).x;", "a shuffle moves at most 8 bytes"),
    ("#include <cuda/atomic>\n", "struct Big { double v[2]; };\ncuda::atomic_ref<Big> big(*(Big*)a); big.load();",
     "the emulator has atomics on 1, 2, 4 and 8 bytes"),
]  # fmt: skip
REFUSED_ATOMICS = {
    "atomicAdd((long long*)a, 1ll)": "int, unsigned,", "atomicAdd((unsigned long*)a, 1ul)": "",
    "atomicSub((float*)a, 1.0f)": "int and unsigned", "atomicMax((float*)a, 1.0f)": "", "atomicMin_block((double*)a, 1.0)": "",
    "atomicInc(a, 3)": "unsigned", "atomicExch((double*)a, 1.0)": "", "atomicCAS((float*)a, 1.0f, 2.0f)": "",
    "atomicAnd((short*)a, 1)": "", "atomicAdd((char*)a, 1)": "",
}  # fmt: skip
"""Calls, and what CUDA has them on instead."""
REFUSED_OF_GROUPS = {
    "cg::tiled_partition<3>(block).sync();": r"a tile has 1, 2, 4, 8, \.\.\. or 1024 threads",
    "cg::reduce(block, 1, cg::plus<int>());": "a tile or a coalesced_group is reduced or scanned",
    "cg::reduce(warp, 1, cg::plus<float>());": "the operator is for another type than the value's",
    "cg::tiled_partition<32>(cg::tiled_partition<16>(block));": "a part has fewer threads than the whole",
    "cg::labeled_partition(warp, 1.5f);": "a label is an integer or a pointer",
    "struct Big { char c[40]; }; warp.shfl(Big(), 1);": "a group exchanges values of at most 32 bytes",
    "cg::invoke_one_broadcast(warp, [] {});": "what returns nothing is for invoke_one",
    "cg::thread_group any = block; any = block;": ".*protected",
}  # fmt: skip
FAULTS = [  # what a launch runs into
    (BARRIER, BAR + "cuda::device::memcpy_async_tx(tile + 1, (float*)a, cuda::aligned_size_t<16>(16), bar);",
     "a bulk copy takes addresses and a size that are multiples of 16 at "),
    (BARRIER, BAR + "(void)bar.arrive(65);", "more threads arrive at a barrier than it expects at "),
    (BARRIER, BAR + "init(&bar, 1 << 20);", "a barrier expects 0 to 1048575 threads at "),
    (BARRIER, BAR + "if (threadIdx.x != 3)\n    bar.arrive_and_wait();", ""),
    ("#include <cuda_pipeline.h>\n", "__shared__ int tile[8];\n__pipeline_memcpy_async(tile, a, 12);",
     r"__pipeline_memcpy_async\(\) copies 4, 8 or 16 bytes.* at "),
    ("#include <cuda_pipeline.h>\n", "__shared__ int tile[8];\n__pipeline_memcpy_async(tile + 1, a, 16);", ""),
    *((CG, f"{GROUPS}auto part = cg::tiled_partition({whole}, a[0] + {size});", "takes a power of two .* ")
      for whole in ("cg::thread_group(block)", "cg::coalesced_threads()") for size in (0, 3, 64)),
    (CG, GROUPS + "auto tile = cg::tiled_partition<16>(warp);\nif (threadIdx.x != 3) tile.sync();", r"__syncwarp\(\) mask 0x0000ffff "),
    ("", "if (threadIdx.x < 8) a[0] = __match_any_sync(0xffff, 1);", r"threads 0-7 wait at __match_any_sync\(\).*"),
    ("", "__shared__ int tile[32];\na[0] = *(int*)__cluster_map_shared_rank(tile, 2);", "the cluster has no block of this rank.*"),
    ("", "__shared__ int tile[32];\na[0] = *(int*)__cluster_map_shared_rank(a, 1);", "only an address of shared memory can be mapped.*"),
]  # fmt: skip
SENTENCES = {
    NotAvailable: r"^kernel\.cu:{line} uses {words}, which the emulator",
    CompileError: r"kernel\.cu:{line}:\d+: error: {words}",
    KernelFault: r"{words}kernel\.cu:{line}",
}
TABLE = [(NotAvailable, *row) for row in LACKING]
TABLE += [(CompileError, *row) for row in MISTAKEN] + [(KernelFault, *row) for row in FAULTS]


@pytest.mark.parametrize(("error", "before", "body", "words"), TABLE)
def test_what_cannot_be_done_is_said_at_its_line(error, before, body, words, monkeypatch):
    """The last of the body, or the line of the header where there is none."""
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", "1")
    line = before.count("\n") + 3 + body.count("\n") if body else 1
    how = {"grid": 2, "cluster": 2} if "cluster_map" in body else {}
    with pytest.raises(error, match=SENTENCES[error].format(line=line, words=words)):
        run(body, zeros("int", 64), before=before, **how)


ATOMICS = {
    f"{call};": rf"CUDA has no {call.partition('(')[0].removesuffix('_block')}\(\) on this type, but on {on}"
    for call, on in REFUSED_ATOMICS.items()
}


@pytest.mark.parametrize(("before", "first", "refused"), [("", "", ATOMICS), (CG, GROUPS, REFUSED_OF_GROUPS)])  # fmt: skip
def test_all_that_a_header_refuses_is_said_at_once(before, first, refused):
    with pytest.raises(CompileError) as caught:
        run(first + "\n".join(refused), zeros("int", 64), before=before)
    line = before.count("\n") + 3 + first.count("\n")
    for number, words in enumerate(refused.values(), line):
        assert re.search(rf"kernel\.cu:{number}:\d+: error: {words}", str(caught.value)), words


def test_ptx_in_a_comment_or_a_string_is_none():
    body = 'const char* text = "asm"; // asm\na[0] = text[0];'
    assert run(body, zeros("int", 1)).tolist() == [ord("a")]


def test_a_refusal_is_told_beside_other_errors():
    body = "atomicMax((float*)a, 1.0f);\na[0] = typo;\natomicAdd((short*)a, 1);"
    with pytest.raises(CompileError) as caught:
        run(body, zeros("int", 1))
    lines = str(caught.value).splitlines()
    told = [re.match(r"kernel\.cu:(\d+):\d+: error: ", line)[1] for line in lines]
    assert told == ["3", "4", "5"]


@pytest.mark.parametrize("body", ["if (a > 0) return a;", "a += 1;"])
def test_a_function_without_its_return_is_named_at_its_line(body):
    before = f"__device__ int mine(int a) {{ {body}\n}}"
    words = r"kernel\.cu:2:1: error: a function that gives back a value ends here without `return`"
    with pytest.raises(CompileError, match=words) as told:
        run("a[0] = mine(a[0]);", zeros("int", 1), before=before)
    assert "-Werror" not in str(told.value)
    assert "cc1plus" not in str(told.value)
