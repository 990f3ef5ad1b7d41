"""What the x-ray page claims, of the emulator as it is and of the book's record."""

import json
import re

import nbformat
import pytest
from address import ROOT
from machine.hard_launches import HARD, KINDS
from machine.test_gpu_agreement import KNOWN, RECORD, TURNS
from recorded_facts import us
from subjects import CASES
from subjects_on_gpu import SUMMARY
from test_any_kernel import words_of

from softmax_lib import hardware, xray, xray_launch
from softmax_lib.errors import NotAvailable
from softmax_lib.gpu import compile as compile_
from softmax_lib.gpu import machine_code
from softmax_lib.launch_spec import specify
from softmax_lib.machine.calls import run_call
from softmax_lib.machine.code import find_code
from softmax_lib.machine.counters import COUNTERS as COUNTERS_OF_MACHINE_CODE
from softmax_lib.records.measurement import Case
from softmax_lib.registry import rungs
from softmax_lib.source import Source
from softmax_lib.xrays.agreement import COUNTERS, Comparison, compare, compare_profile, profiles
from softmax_lib.xrays.code_agreement import ARBITERS, compare_code
from softmax_lib.xrays.flows import flows_of

pytestmark = pytest.mark.full  # of its parts tests/xrays and tests/machine take samples

KERNEL = 'extern "C" __global__ void own(const float* x, float* y, int, int) {\n%s\n}'
BOOK = ROOT / "book"
SHARED = """
    __shared__ float4 s[32];
    int t = threadIdx.x;
    s[t] = make_float4(x[t], 0, 0, 0);
    __syncwarp();
    float4 v = make_float4(0, 0, 0, 0);
"""


def asked(body, space, operation="load"):
    """What a kernel with this body asks of global or shared memory in one warp as it is written, line by line."""
    found = xray(KERNEL % body, 1, 1024, 32, path="written")
    return [line for line in found.lines if (line.space, line.operation) == (space, operation)]


def counters_of(name):
    """Of the first case of a subject in subjects.py: the counters as it is written, and those that ncu read on an H200."""
    at = [subject.name for subject, _ in CASES].index(name)
    subject, dtype = CASES[at]
    words = words_of(subject, dtype)
    counted = xray_launch(args=subject.arguments(dtype), **words, path="written").total
    return counted, json.loads(SUMMARY.read_text(encoding="utf-8"))["cases"][at]["counters"]


def test_arbiter():
    """Tests allow three per cent more shared wavefronts on the GPU, and nothing for other counters."""
    ours = dict.fromkeys(COUNTERS, 100)
    for name in COUNTERS:
        more = Comparison(Case("naive", 8, 8, block_size=32), ours, {**ours, name: 103})
        is_noisy = name in ("shared_load_wavefronts", "shared_store_wavefronts")
        assert (more.verdict == "equal but for the arbiter") == is_noisy, name


def test_ragged_rows_agree():
    """On 1000 x 1001 only shared wavefronts differ from the profiler's, which may have a few more."""
    found = compare(1000, 1001, "naive", "online", "shared", "shuffle", "float4", "fusion")
    assert len(found) == 6
    differs = [(name, *pair) for one in found for name, pair in one.differences.items()]
    assert all(name.startswith("shared") and ours < ncus for name, ours, ncus in differs)
    assert not any(one.unexplained for one in found)


def test_noise_between_recordings():
    """Where something differs it is shared wavefronts, by five at most, and mostly another number the second time."""
    differing = [one for one in compare_code() if one.differences]
    assert len(differing) == 8
    for one in differing:
        for name, (ours, *theirs) in one.differences.items():
            assert name.startswith("shared")
            assert name in ARBITERS
            assert all(0 <= count - ours <= 5 for count in theirs)
    assert sum(bool(one.launch.counted_again) for one in differing) > len(differing) / 2


# ---- the memory chart

LARGE = (1024, 32768)
MATRIX_BYTES = 4 * 1024 * 32768


def charted(name):
    """Of a kernel on the large matrix all flows, and those of loads by memory."""
    found = flows_of(xray(name, *LARGE))
    return found, {one.level: one for one in found.flows if one.kind == "loads"}


def test_chart_shares():
    """Bytes over the time of the launch, over what all multiprocessors read; tests/drawings has every number."""
    for name in ("naive", "fusion"):
        found, loads = charted(name)
        assert found.timed_by == "ncu"
        for level, one in loads.items():
            peak_bytes = hardware().levels[level].gb_per_s * 1e3 * found.time_us
            assert one.share == pytest.approx(one.bytes / peak_bytes)


def test_naive_chart():
    """L1 has 7 of 8 sectors; DRAM reads three matrices, within 1 %, of sectors that hold 24."""
    found, loads = charted("naive")
    assert found.l1_hits == pytest.approx(7 / 8, abs=0.001)
    assert loads["L1"].units * 32 == 24 * MATRIX_BYTES
    assert loads["DRAM"].bytes == pytest.approx(3 * MATRIX_BYTES, rel=0.01)
    assert pytest.approx(134e6, rel=0.01) == MATRIX_BYTES


def test_chunked_chart():
    """It asks for two matrices in sectors that hold 16; L1 hits less often than of naive, and L2 gives more than three."""
    found, loads = charted("chunked")
    assert loads["L1"].bytes == 2 * MATRIX_BYTES
    assert loads["L1"].units * 32 == 16 * MATRIX_BYTES
    assert found.l1_hits < charted("naive")[0].l1_hits - 0.05
    assert 3 * MATRIX_BYTES < loads["L2"].bytes < 3.5 * MATRIX_BYTES


def test_dram_shares():
    """Of the cell's kernels in its order; of no other memory a third of its peak is asked for."""
    names = ("naive", "chunked", "shared", "float4", "fusion")
    page = nbformat.read(BOOK / "xray.ipynb", as_version=4)
    (cell,) = (one.source for one in page.cells if one.get("id") == "chart")
    assert re.findall(r'"([a-z]\w+)"', cell) == ["kernel", *names, "matrix"]
    shares = [charted(name)[0].dram_share for name in names]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.01, abs=0.005)
    assert shares[-1] == pytest.approx(0.8, abs=0.02)
    for name in names:
        others = [one.share for one in charted(name)[0].flows if one.level != "DRAM" and one.share]
        assert max(others) < 1 / 3


def test_equal_counters():
    """shuffle and constant_stride have equal counters of memory, shuffles and barriers, and one takes half as long again."""
    slow, fast = (xray(name).total for name in ("shuffle", "constant_stride"))
    names = (*COUNTERS, "shuffles", "barriers")
    assert [slow[name] for name in names] == [fast[name] for name in names]
    assert us("shuffle") / us("constant_stride") == pytest.approx(1.5, abs=0.1)


NOT_LOOKED_FOR = {
    "a branch that no thread takes": (1, "", "if (x[0] > 100) y[-1] = 0;"),
    "a missing wait for a copy": (
        1,
        "#include <cuda_pipeline.h>",
        "__shared__ float s[128]; float* mine = s + threadIdx.x;\n"
        "__pipeline_memcpy_async(mine, x + threadIdx.x, 4); __pipeline_commit(); y[threadIdx.x] = *mine;",
    ),
    "a variable of which the compiler does not warn": (
        1,
        "__device__ void set(float& v, bool on) { if (on) v = 3; }",
        "float v; set(v, x[0] > 100); y[threadIdx.x] = v;",
    ),
    "the scope of an atomic variable": (
        2,
        "#include <cuda/atomic>\n__device__ float sum;",
        "cuda::atomic_ref<float, cuda::thread_scope_block>(sum).fetch_add(x[0]);",
    ),
}
"""How many blocks there are, what stands before the kernel, and its body."""


@pytest.mark.parametrize("name", NOT_LOOKED_FOR)
def test_hazards_not_looked_for(name):
    """Each of these mistakes goes unnoticed, as the page says."""
    blocks, before, body = NOT_LOOKED_FOR[name]
    assert not xray(f"{before}\n{KERNEL % body}", blocks, 512, 128).hazards


def test_a_line_is_one_request():
    """Two branches on one line that each load for half of the lanes count as one request."""
    branches = "int t = threadIdx.x; float v;\nif (t < 16) { v = x[t]; } else { v = 2 * x[t + 512]; }\ny[t] = v;"
    (load,) = asked(branches, "global")
    assert (load.requests, load.lanes) == (1, 32)


def test_quarters_are_merged_on_a_gpu():
    """Eight lanes, two of each quarter, that want 32 words of 32 banks: four wavefronts, two on an H200."""
    counted, recorded = counters_of("quarters")
    assert counted["shared_load_requests"] == recorded["shared_load_requests"] == 1
    assert counted["shared_load_wavefronts"] == 4
    assert recorded["shared_load_wavefronts"] == 2


def test_groups_are_not_merged():
    """All lanes reading the same 16 bytes take four wavefronts."""
    (load,) = asked(SHARED + "v = s[0];\ny[t] = v.x + v.y + v.z + v.w;", "shared")
    assert (load.requests, load.wavefronts) == (1, 4)


def test_local_arrays_are_absent():
    """An array of a thread's own, indexed by what only the run knows, asks for nothing."""
    local = """
    int t = threadIdx.x;
    float own[64];
    for (int i = 0; i < 64; i++)
        own[i] = x[i + t];
    int at = (int)(x[t] * 1e-9f) & 63;
    y[t] = own[(at + t) & 63];"""
    found = xray(KERNEL % local, 1, 1024, 32, path="written")
    assert [line.line for line in found.lines] == [6, 7, 8]
    assert sum(line.requests for line in found.lines) == 64 + 1 + 1


def test_waiting_loads():
    """Of a row across blocks that wait for each other, only how often the waiting word is read differs."""
    counted, recorded = counters_of("row across blocks")
    differ = {name for name, count in recorded.items() if counted[name] != count}
    assert differ == {"global_load_requests", "global_load_sectors"}


def test_constants_are_not_counted():
    """Lanes that read four words of a __constant__ array: only the store is counted."""
    text = (
        "__constant__ float taps[4] = {1, 2, 3, 4};\n"
        + KERNEL % "y[threadIdx.x] = taps[threadIdx.x % 4];"
    )
    assert [(line.space, line.operation) for line in xray(text, 1, 32, 32).lines] == [
        ("global", "store")
    ]


def test_returned_threads_are_missed():
    """A warp that has returned before a barrier ends the launch."""
    text = (
        KERNEL
        % "if (threadIdx.x >= 32) return;\n__syncthreads();\ny[threadIdx.x] = x[threadIdx.x];"
    )
    (hazard,) = xray(text, 1, 64, 64).hazards
    assert hazard.kind == "barrier"
    assert "threads 32-63 exited" in hazard.message


def test_remote_shared_memory_is_counted():
    """Each of 4 warps of 8 blocks reads a word of each of the 3 other blocks of its cluster."""
    counted, recorded = counters_of("cluster")
    for name in ("shared_load_requests", "shared_load_wavefronts"):
        assert counted[name] - recorded[name] == 4 * 8 * 3


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("wmma::mma_sync(a, b, c, d);", "tensor cores"),
        ("y[0] = tex2D<float>(cols, 0, 0);", "textures"),
    ],
)
def test_refused_at_their_line(line, what):
    text = KERNEL.replace("int, int", "int rows, int cols") % f"    {line}"
    with pytest.raises(NotAvailable, match=rf"own\.cu:2 uses .*{what}"):
        xray(Source("own.cu", text), 1, 32, 32)


def test_inline_ptx_is_counted_alone():
    """As the same kernel without it, with a note in place of hazards."""
    text = KERNEL.replace("int, int", "int rows, int cols") % "    LANE\n    y[rows] = 1;"
    by_ptx = text.replace("LANE", 'asm("mov.u32 %0, %%laneid;" : "=r"(rows));')
    by_cpp = text.replace("LANE", "rows = threadIdx.x % 32;")
    found, twin = (xray(Source("own.cu", one), 1, 32, 32) for one in (by_ptx, by_cpp))
    assert found.total["global_store_sectors"] == twin.total["global_store_sectors"] == 4
    assert (found.hazards_sought, twin.hazards_sought) == (False, True)
    assert "own.cu:2 uses inline PTX" in found.notes[-1]


# ---- the machine code


def test_two_sources():
    """Counted are the machine code's requests; a race that it has no trace of is still found."""
    race = "    __shared__ int s[1];\n    s[0] = threadIdx.x;\n    y[threadIdx.x] = x[threadIdx.x];"
    found = xray(KERNEL % race, 1, 64, 64)
    assert found.path == "machine"
    assert {line.space for line in found.lines} == {"global"}
    assert [hazard.kind for hazard in found.hazards] == ["race"]


def test_lists_come_along():
    """What the x-ray of each rung runs has been committed."""
    for kernel in rungs():
        program = kernel.program(kernel.choose_block_size(4096), 4096)
        assert find_code(program, 90)


def test_without_nvdisasm(monkeypatch):
    """PTX is counted then, the source without NVRTC, and a note says so; a path that is asked for is what is counted."""

    def missing():
        raise NotAvailable("There is no NVRTC.")

    text = KERNEL % "y[threadIdx.x] = x[threadIdx.x] + 1.5f;"
    monkeypatch.setattr(machine_code, "disassembler", lambda: None)
    found = xray(text, 1, 64, 32)
    assert (found.path, found.notes[-1][:14]) == ("ptx", "Counted in PTX")
    assert xray(text, 1, 64, 32, path="written").path == "written"
    monkeypatch.setattr(compile_, "nvrtc", missing)
    found = xray(text.replace("1.5f", "2.5f"), 1, 64, 32)
    assert (found.path, found.notes[-1][:24]) == ("written", "Counted as it is written")


def test_written_agrees():
    """Every profile of the record that an x-ray can take has the source's counts, but for the arbiter."""
    assert {
        name for profile in profiles() for name in compare_profile(profile, "written").unexplained
    } == set()


def test_own_memory_is_counted():
    """An array of a thread's own, indexed by what only the run knows: stores and a load of local memory."""
    body = """
    int t = threadIdx.x;
    float own[16] = {};
    for (int i = 0; i < 64; i++)
        own[(int)x[i + t] & 15] += i;
    y[t] = own[t & 15];"""
    found = xray(KERNEL % body, 1, 1024, 32, path="machine")
    assert {line.operation for line in found.lines if line.space == "local"} == {"load", "store"}
    assert {one.line for one in found.instructions} >= {3, 4, 6, 7}


def test_machine_code_agrees():
    """The kernels that tests allow another counter than the H200's are few, and none computes anything else."""
    assert len(KNOWN) == 5
    assert 280 < len(HARD) < 300
    special = re.compile(r"\b(__)?(expf?|exp2f|logf?|log2f|sinf?|cosf?|tanhf?|rsqrtf|sincosf)\(")
    assert all(special.search(hard.source.text) for hard in HARD.values() if hard.approx)
    assert set(COUNTERS_OF_MACHINE_CODE) >= {
        "instructions",
        "shared_load_conflicts",
        "local_load_sectors",
    }


def hard_table():
    """By what is hard how many kernels there are, and how many have the H200's counters; then who has not."""
    yield "| what is hard | kernels | all counters equal |"
    yield "|---|---:|---:|"
    for kind, names in KINDS.items():
        yield f"| {kind} | {len(names)} | {len(set(names) - set(KNOWN))} |"
    yield ""
    for name, counters in KNOWN.items():
        words = ", ".join(sorted(counters)).replace("_", " ")
        yield f"- not of `{name}`: {'all that a turn of its loop asks for' if counters == TURNS else words}"


def test_hard_table():
    """The page's rows are those of the tests, which hold each kernel against the record of an H200."""
    assert RECORD["gpu"]["name"] == "NVIDIA H200"
    assert {sum(map(len, KINDS.values())), len(RECORD["kernels"])} == {291}
    assert all("counted_again" in one for one in RECORD["kernels"].values())
    assert len(COUNTERS_OF_MACHINE_CODE) == 21
    page = nbformat.read(BOOK / "xray.ipynb", as_version=4)
    table = "\n".join(hard_table())
    assert any(table in cell.source for cell in page.cells), table


def test_machine_code_refuses():
    """printf, in words that name the call."""
    say = '#include <cstdio>\n__global__ void say(int n) { printf("%d", n); }'
    with pytest.raises(NotAvailable, match="has CALL"):
        run_call(specify(say, 1, 1, [3]), 90)
    assert xray_launch(say, 1, 1, [3]).path == "written"
