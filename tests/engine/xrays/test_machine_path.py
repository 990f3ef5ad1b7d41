"""X-rays of machine code: the source's lines, with what the hardware counts."""

import json
import re
from unittest.mock import Mock

import numpy as np
import pytest

from softmax_lib import xray
from softmax_lib.cli import main
from softmax_lib.engine.compiled import code as machine_code
from softmax_lib.engine.compiled.ptx.program import translate
from softmax_lib.engine.compiled.running import run
from softmax_lib.engine.errors import Deadlock, Hang, IllegalAddress, NotAvailable, NotEmulated
from softmax_lib.engine.source import Source
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.gpu import compile as compile_
from softmax_lib.worklog.reference import noise, softmax
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.xray import xray_launch


@pytest.fixture
def said(capsys):
    """What the command line answers when all is well."""

    def run(*words):
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    return run


def test_lines_arrays_and_operations_are_those_of_the_source():
    written, machine = (xray("shuffle", 8, 512, path=path) for path in ("written", "machine"))
    keys = [
        {(line.file, line.line, line.space, line.operation, line.array) for line in found.lines}
        for found in (written, machine)
    ]
    assert keys[0] == keys[1]
    assert machine.written == written.lines
    assert machine.changes == ()
    assert machine.hazards == written.hazards == ()


def test_instructions_are_counted_by_line_and_kind():
    found = xray("naive", 32, 64, path="machine")
    assert found.total["instructions"] == sum(one.warps for one in found.instructions)
    kinds = {one.kind for one in found.instructions}
    assert {"memory", "floats", "special functions", "whole numbers", "control"} <= kinds
    loads = [one for one in found.instructions if one.kind == "memory" and one.line == 18]
    assert [(one.warps, one.lanes) for one in loads] == [(64, 64 * 32)]


MERGED = """
extern "C" __global__ void softmax_sums(const float* x, float* y, int rows, int cols) {
    __shared__ float s[64];
    s[threadIdx.x] = x[blockIdx.x * cols + threadIdx.x];
    __syncthreads();
    float sum = s[threadIdx.x / 2 * 2] + s[threadIdx.x / 2 * 2 + 1];
    y[blockIdx.x * cols + threadIdx.x] = sum;
}
"""


def test_two_loads_that_the_compiler_merges_are_one_and_the_difference_is_told(tmp_path, said):
    path = tmp_path / "merged.cu"
    path.write_text(MERGED)
    found = xray(path, 2, 64, 64, path="machine")
    (change,) = found.changes
    assert change.key == ("merged.cu", 6, "shared", "load")
    # pairs want the same: halves go together
    assert (change.written, change.executed) == ((8, 8), (4, 4))
    told = said("xray", path, "--rows", 2, "--cols", 64, "--block-size", 64, "--as", "machine")
    assert "merged.cu:6: merged into loads of 8 bytes: as written 8 requests to load shared memory and 8 wavefronts, as machine code 4 and 4." in told  # fmt: skip


@pytest.mark.parametrize("arch", [75, 80, 86, 89, 90])
def test_every_arch_loads_a_float4_kernels_row_with_as_few_requests(arch):
    found = xray("float4", 4, 4096, 256, path="machine", arch=arch)
    assert found.total["global_load_requests"] == 2 * 4 * 4096 // 4 // 32
    assert found.arch == arch


def test_a_launch_that_faults_is_counted_as_it_is_written():
    source = MERGED.replace("x[blockIdx.x * cols + threadIdx.x]", "x[1 << 28]")
    found = xray(source, 2, 64, 64, path="machine")
    assert found.path == "written"
    assert found.hazards[0].kind == "out of bounds"


@pytest.mark.parametrize("path", ["written", "machine"])
def test_any_kernel_leaves_the_callers_arrays_as_one_launch_leaves_them(path):
    source = "__global__ void add(int* a, int n) { atomicAdd(a + threadIdx.x % n, 1); }"
    a = np.zeros(4, np.int32)
    found = xray_launch(source, 1, 64, [a, 4], path=path)
    assert (found.hazards, a.tolist()) == ((), [16] * 4)
    (line,) = (line for line in found.lines if line.operation == "atomic")
    assert (line.requests, line.lanes, line.array) == (2, 64, "a")


TWO_RESULTS = {  # by name an element's C++ type, its dtype, a body, and how the note begins
    "a wrong byte": ("unsigned char", "u1", "y[t] = SOURCE;", "Machine code leaves 0 in y[0], the source as it is written 1,"),
    "a small number beside a large one": ("float", "f4", "y[t] = t ? SOURCE + 2 : 1e4f;", "Machine code leaves 2.0 in y[1]"),
    "no number": ("float", "f4", "y[t] = SOURCE ? 0 : __int_as_float(0x7fffffff);", "Machine code leaves nan in y[0]"),
    "bits that are halves, and close": ("__half", "u2", "y[t] = __float2half(10.0f + SOURCE * 0.01f);", ""),
    "bits that are halves, and differ": ("__half", "u2", "y[t] = __float2half(10.0f + SOURCE);", "Machine code leaves 10.0 in y[0]"),
    "structures whose numbers are close": ("int2", "i4, f4", "y[t] = make_int2(t, __float_as_int(10 + SOURCE * 0.001f));", ""),
    "structures whose whole numbers differ": ("int2", "i4, f4", "y[t] = make_int2(SOURCE, 0);", "Machine code leaves (0, 0"),
    "what is left of a sum that cancels": ("float", "f4", "y[t] = SOURCE * 1e-7f;", ""),
    "a compaction": ("int", "i4", "y[atomicAdd(y, 1)] = SOURCE ? t : 31 - t;", ""),
    "a clock": ("int", "i4", "y[t] = clock() + SOURCE;", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", TWO_RESULTS)
def test_where_compiled_code_leaves_another_result_a_note_says_the_first_of_it(name):
    of, dtype, does, said = TWO_RESULTS[name]
    source = f"""#include <cuda_fp16.h>
#ifdef EMULATOR_API
constexpr int SOURCE = 1;
#else
constexpr int SOURCE = 0;
#endif
__global__ void k(const float* x, {of}* y) {{ int t = threadIdx.x; {does} }}"""
    x, y = np.ones(32, np.float32), np.ones(40, dtype)
    notes = [note for note in xray_launch(source, 1, 32, [x, y]).notes if " leaves " in note]
    assert [note.startswith(said) for note in notes] == [True] * bool(said)


VARIABLES = """
__constant__ float factor[2];
__device__ int seen[4];
__global__ void scale(const float* const* tables, float* y) {
    y[threadIdx.x] = tables[1][threadIdx.x] * factor[threadIdx.x % 2];
    seen[threadIdx.x % 4] = threadIdx.x;
}
"""


def test_tables_of_arrays_and_variables_reach_machine_code_and_come_back():
    tables = [np.zeros(32, np.float32), np.arange(32, dtype=np.float32)]
    y, factor, seen = np.zeros(32, np.float32), np.array([2, 3], np.float32), np.zeros(4, np.int32)
    spec = LaunchSpec.of(VARIABLES, 1, 32, [tables, y], symbols={"factor": factor, "seen": seen})
    run(spec, arch=90)
    assert y.tolist() == [n * (3 if n % 2 else 2) for n in range(32)]
    assert seen.tolist() == [28, 29, 30, 31]


def test_a_table_of_constants_in_the_source_is_read_as_written_and_as_machine_code():
    source = """__device__ const int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
        __global__ void look_up(int* y) { y[threadIdx.x] = squares[threadIdx.x % 8]; }"""
    y = np.zeros(32, np.int32)
    for path in ("written", "machine"):
        for _ in range(2):  # the second time its first values are known
            found = xray_launch(source, 1, 32, [y], path=path)
            assert found.hazards == ()
    assert y.tolist() == [(n % 8) ** 2 for n in range(32)]


# ---- what cannot be done


PRINTS = '#include <cstdio>\n__global__ void say(int n) { printf("%d", n); }'


def test_a_call_of_the_devices_library_is_refused_where_it_is_made_and_counted_as_written():
    with pytest.raises(NotAvailable, match=r"The machine code of kernel\.cu:2 has CALL"):
        run(LaunchSpec.of(PRINTS, 1, 1, [3]), arch=90)
    with pytest.raises(NotAvailable, match=r"The PTX of kernel\.cu:2 has call\.uni"):
        run(LaunchSpec.of(PRINTS, 1, 1, [3]), arch=90, decoder=translate)
    found = xray_launch(PRINTS, 1, 1, [3])
    assert found.path == "written"
    assert "has CALL" in found.notes[-1]


def test_an_endless_loop_hangs_in_one_sentence(monkeypatch):
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", "0.2")
    source = "__global__ void wait(volatile int* a) { while (a[0] == 0) {} }"
    with pytest.raises(Hang, match=r"the kernel hangs: no thread has finished for 0\.2 s"):
        run(LaunchSpec.of(source, 1, 32, [np.zeros(1, np.int32)]), arch=90)


def test_blocks_that_wait_for_each_other_get_their_turns():
    source = """__global__ void pass(volatile int* flag, int* y) {
        if (blockIdx.x == 0) { while (flag[0] == 0) {} y[0] = 5; } else flag[0] = 1;
    }"""
    flag, y = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(LaunchSpec.of(source, 2, 1, [flag, y]), arch=90)
    assert y[0] == 5


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name, kernel in kernels.items() if not kernel.flaw])
def test_what_a_rung_computes_is_a_softmax_on_every_arch(name):
    kernel = kernels[name]
    x = noise(5, kernel.longer(1030))
    for arch in (75, 80, 86, 87, 89, 90):
        y = np.full_like(x, np.nan)
        run(*kernel.launches(x, y, kernel.settle_block_size(None, x.shape[1])), arch=arch)
        np.testing.assert_allclose(y, softmax(x), rtol=1e-5, atol=1e-9)


# ---- where it is not to be had


def test_without_nvdisasm_a_kernel_of_ones_own_is_counted_in_ptx_and_a_note_says_why(monkeypatch):
    monkeypatch.setattr(machine_code, "disassembler", lambda: None)
    source = MERGED.replace("softmax_sums", "softmax_other")
    found = xray(source, 2, 64, 64)
    assert (found.path, found.arch, found.steps) == ("ptx", 90, ())
    assert "in PTX for sm_90, before the assembler" in found.counted
    assert found.notes[-1].startswith("Counted in PTX, before the assembler. nvdisasm is missing")
    assert found.total == xray(source, 2, 64, 64, path="ptx").total
    assert "instructions" not in found.total  # which the assembler alone decides


def test_without_nvrtc_either_it_is_counted_as_it_is_written_and_a_note_says_why(monkeypatch):
    missing = Mock(side_effect=NotAvailable("There is no NVRTC."))
    monkeypatch.setattr(machine_code, "disassembler", lambda: None)
    monkeypatch.setattr(compile_, "nvrtc", missing)
    source = MERGED.replace("softmax_sums", "softmax_third")
    found = xray(source, 2, 64, 64)
    assert (found.path, found.steps, found.changes) == ("written", (), ())
    assert found.notes[-1] == "Counted as it is written. There is no NVRTC."
    assert found.total == xray(source, 2, 64, 64, path="written").total
    with pytest.raises(NotAvailable, match="no NVRTC"):
        xray(source, 2, 64, 64, path="ptx")


def test_a_matrix_too_large_for_the_source_is_counted_in_machine_code_with_progress(said):
    heard = []
    found = xray("fusion", 513, 8192, progress=lambda done, total: heard.append((done, total)))
    assert (found.path, found.written, found.changes) == ("machine", (), ())
    assert not found.hazards_sought
    assert found.total["global_load_sectors"] == 513 * 8192 * 4 // 32
    assert "hazards were not looked for" in found.notes[-1]
    assert all(0 <= done <= total == 513 * found.block_size for done, total in heard)
    assert heard
    assert "hazard found" not in said("xray", "fusion", "--rows", 513, "--cols", 8192)


@pytest.mark.parametrize(
    ("path", "arch", "line", "keys"),
    [
        ("machine", 90, r"LDG\.E", {"address", "text", "line", "warps", "live", "in_flight"}),
        ("ptx", 90, r"^ +18 +16  \$L__BB0_4: ld\.global\.nc\.f32 ", {"entry", "label", "text", "file", "line", "warps", "lanes"}),
        ("written", None, None, None),
    ],
)  # fmt: skip
def test_the_listing_is_printed_and_in_the_json_on_request(path, arch, line, keys, said):
    words = ("xray", "naive", "--rows", 32, "--cols", 64, "--as", path)
    told, plain = said(*words, "--listing"), json.loads(said(*words, "--json"))
    assert (plain["path"], plain["arch"]) == (path, arch)
    assert "code" not in plain
    for other, name in {"machine": "machine code for sm_90", "ptx": "PTX for sm_90"}.items():
        assert (name in told) == (other == path)
    if line:
        assert re.search(line, told, re.MULTILINE)
        assert plain["written"] == plain["lines"]
        assert keys <= json.loads(said(*words, "--json", "--listing"))["code"][0].keys()


# ---- warps whose lanes part

GROUPS = {
    "three votes, matches and sums": (
        "unsigned m = __match_any_sync(~0u, t % 3); y[t] = __popc(__match_any_sync(m, t / 6)) "
        "+ 100 * __reduce_add_sync(m, 1) + 10000 * __popc(__ballot_sync(m, t < 16));",
        (61102, 51102, 51002)),
    "some of whose lanes have left": (
        "unsigned m = __match_any_sync(~0u, t % 3); if (t >= 20) { y[t] = 1; return; } "
        "y[t] = __popc(__ballot_sync(m, 1)) + 10 * __any_sync(m, t == 4) + __shfl_sync(m, t, t % 3);",
        (7, 18, 8)),
    "partitions by label": (
        "auto g = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), t % 3); "
        "y[t] = g.size() + 100 * g.any(t == 7) + 1000 * g.thread_rank();",
        (11, 111, 10)),
}  # fmt: skip
"""What lanes of a warp compute in groups, and what the first three have: of votes as an H200 does."""


@pytest.mark.parametrize(("path", "arch"), [("written", 90), ("ptx", 90), ("machine", 80), ("machine", 90)])  # fmt: skip
@pytest.mark.parametrize("groups", GROUPS)
def test_groups_of_a_warp_exchange_apart(groups, path, arch):
    body, first = GROUPS[groups]
    head = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
    y = np.zeros(32, np.int32)
    source = f"{head}__global__ void k(int* y) {{ int t = threadIdx.x; {body} }}"
    found = xray_launch(source, 1, 32, [y], path=path, arch=arch)
    assert (found.path, found.hazards, tuple(y[:3])) == (path, (), first)


def test_barriers_of_two_branches_are_one_and_the_launch_goes_on():
    source = """__global__ void k(int* y) {
        __shared__ int s[64];
        int t = threadIdx.x;
        if (t < 32) { s[t] = 1; __syncthreads(); y[t] = s[t + 32]; }
        else { s[t] = 2; __syncthreads(); y[t] = s[t - 32]; }
    }"""
    y = np.zeros(64, np.int32)
    found = xray_launch(source, 1, 64, [y], path="machine")
    assert found.hazards == ()
    assert "at two barriers, kernel.cu:4 and kernel.cu:5" in "".join(found.notes)
    assert (found.path, y.tolist()) == ("machine", [2] * 32 + [1] * 32)


def test_lanes_that_wait_at_a_barrier_keep_a_vote_waiting_that_names_them():
    does = "if (threadIdx.x % 2) lane = __any_sync(~0u, lane > 3); __syncthreads();"
    source = BY_PTX.replace("y[", f"{does}\n    y[", 1)
    with pytest.raises(Deadlock):
        xray_launch(source, 1, 32, [np.zeros(64, np.float32)])


# ---- sources that the emulator refuses

LANES = """__global__ void k(float* y) {
    int lane;
    %s
    y[threadIdx.x * 2] = lane;
}
"""
BY_PTX = LANES % 'asm("mov.u32 %0, %%laneid;" : "=r"(lane));'
LACKING = "kernel.cu:3 uses inline PTX"


@pytest.mark.parametrize("path", [None, "machine", "ptx"])
def test_a_kernel_with_inline_ptx_is_counted_as_one_without_and_what_it_writes_is_the_result(path):
    twin, own = np.full((2, 128), -1, np.float32)
    expected = xray_launch(LANES % "lane = threadIdx.x % 32;", 1, 64, [twin], path=path)
    found = xray_launch(BY_PTX, 1, 64, [own], path=path)
    assert (found.path, found.hazards_sought, found.written) == (path or "machine", False, ())
    assert found.notes[0].startswith(
        f"The compiled code alone is run: hazards were not looked for. {LACKING}"
    )
    assert (own == twin).all()
    ours, due = ([line.sectors for line in one.lines] for one in (found, expected))
    assert ours == due == [16]


def test_a_softmax_with_inline_ptx_is_counted_too(tmp_path, said):
    file = tmp_path / "mine.cu"
    words = "const float* x, float* y, int rows, int cols"
    file.write_text(BY_PTX.replace("k(float* y)", f"mine({words})"))
    told = said("xray", file, "--rows", 1, "--cols", 64, "--block-size", 32)
    assert "hazards were not looked for" in told
    assert "o hazard found" not in told


@pytest.mark.parametrize("path", ["machine", "ptx"])
@pytest.mark.parametrize("linkage", ["", 'extern "C" '])
def test_a_softmax_whose_name_cpp_has_mangled_is_counted(linkage, path):
    words = "const float* x, float* y, int rows, int cols"
    text = f"{linkage}__global__ void own({words}) {{ y[threadIdx.x] = x[threadIdx.x]; }}"
    found = xray(Source("own.cu", text), 1, 32, 32, path=path)
    assert found.total["global_load_sectors"] == found.total["global_store_sectors"] == 4


def test_as_it_is_written_inline_ptx_is_refused():
    with pytest.raises(NotEmulated, match=LACKING):
        xray_launch(BY_PTX, 1, 64, [np.zeros(128, np.float32)], path="written")


def test_a_fault_of_what_is_only_compiled_is_raised_and_leaves_arrays_alone():
    y = np.full(128, -1, np.float32)
    with pytest.raises(IllegalAddress, match="thread 64 of block"):
        xray_launch(BY_PTX, 1, 96, [y])
    assert (y == -1).all()


@pytest.mark.parametrize("path", ["machine", "ptx"])
@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("__shared__ float a[3]; __shared__ volatile int s2[2][4]; a[lane % 3] = 1; s2[1][lane] = a[lane % 2];", "thread 4 of .* reaches s2\\[8], past the end of its 8 elements"),
        ("__shared__ double s[4]; s[lane - 3] = 1; __syncthreads(); lane = s[lane % 4];", "thread 0 of .* reaches s\\[-3], before the start of its 4 elements"),
        ("extern __shared__ float4 s[]; ((float*)s)[lane] = 1; __syncthreads(); lane = s[lane % 2].y;", "thread 8 of .* reaches s\\[2], past the end of its 2 elements"),
        ("struct P { int a, b; }; __shared__ P s[4]; s[lane].b = 1; __syncthreads(); lane = s[lane % 4].b;", "thread 4 of .* reaches byte 36 of s, outside of its 32 bytes"),
    ],
)  # fmt: skip
def test_an_array_in_shared_memory_is_named_by_what_is_only_compiled(does, said, path):
    source, y = BY_PTX.replace("y[", f"{does}\n    y[", 1), np.zeros(64, np.float32)
    with pytest.raises(IllegalAddress, match=said):
        xray_launch(source, 1, 32, [y], path=path, shared_bytes=32 * ("extern" in does))


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        ("lane = tex1Dfetch<float>(lane, 1);", "TLD"),
        ('asm("move.u32 %0, %%laneid;" : "=r"(lane));', "ptxas"),
    ],
)
def test_what_is_not_run_either_way_is_refused_in_one_line_with_both_reasons(line, lacks):
    y = np.full(128, -1, np.float32)
    with pytest.raises(NotEmulated, match=f"^kernel.cu:3 uses .*{lacks}") as caught:
        xray_launch(LANES % line, 1, 64, [y])
    assert "\n" not in str(caught.value)
    assert (y == -1).all()
