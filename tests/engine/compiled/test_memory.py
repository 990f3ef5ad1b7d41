"""Arrays of a launch: who is outside of one is named, and what nobody reads is not kept."""

import subprocess
import sys

import numpy as np
import pytest
from engine.compiled.machine_runs import run, run_ptx, together
from full_tables import some

from softmax_lib.engine.compiled.launching import ReadBack, launch
from softmax_lib.engine.compiled.memory import Memory
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.running import run as run_specs
from softmax_lib.engine.errors import IllegalAddress
from softmax_lib.engine.geometry import Geometry
from softmax_lib.engine.source import Program, Source
from softmax_lib.engine.spec import Unkept
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import kernels, rungs

# ---- lanes whose addresses lie evenly apart are checked by their ends

ROUND = (1 << 62) // 31 + 1
"""Floats apart, so that 31 times as many bytes are once around all addresses, and a little more."""

ENDS = {
    "y[5 * threadIdx.x] = 1;": (26, "byte 520 of array 0"),
    "y[n + threadIdx.x] = 1;": (16, "byte 512 of array 0"),
    "y[-(int)threadIdx.x] = 1;": (1, "address"),
    f"y[threadIdx.x * {ROUND}LL] = 1;": (1, "which no array has"),
    "reinterpret_cast<float*>(reinterpret_cast<char*>(y) + 2)[threadIdx.x] = 1;": (0, "misaligned"),
    "reinterpret_cast<float*>(reinterpret_cast<char*>(y) + 2 * threadIdx.x)[0] = 1;": (1, "misaligned"),
    "if (threadIdx.x < 20) y[120 + threadIdx.x] = 1;": (8, "byte 512 of array 0"),
    "s[2 * threadIdx.x] = n; y[0] = s[n % 32];": (16, "of shared memory"),
    "if (threadIdx.x < 9) reinterpret_cast<float4*>(s)[threadIdx.x] = float4(); y[0] = s[n % 32];":
        (8, "of shared memory"),
}  # fmt: skip
ENDS_TEXT = 'extern "C" __global__ void k%s(float* y, int n) { extern __shared__ float4 room[]; float* s = (float*)room; %s }'
ENDS_SOURCE = together(Source("own.cu", ENDS_TEXT % of) for of in enumerate(ENDS))


@pytest.mark.parametrize("run", [run, run_ptx])
@pytest.mark.parametrize("line", ENDS)
def test_the_first_lane_outside_is_named(line, run):
    thread, what = ENDS[line]
    y = np.zeros(128, np.float32)
    with pytest.raises(IllegalAddress, match=rf"thread {thread} of block .*{what}"):
        run(ENDS_SOURCE, f"k{[*ENDS].index(line)}", (1,), (32,), [y, 112], shared_bytes=128)


# ---- whole matrices: y is as large as x, and is kept for none but a kernel that reads it

READER = "unfused"
"""Its second kernel reads what the first one has written."""

SHAPES = ((40, 96), (5, 1030), (3, 2048))


@pytest.mark.parametrize("name", some([name for name in kernels if name != READER], every=9))
def test_what_is_counted_does_not_depend_on_whether_y_is_kept(name):
    kernel = kernels[name]
    for rows, cols in [(rows, kernel.longer(cols)) for rows, cols in SHAPES]:
        block_size = kernel.settle_block_size(None, cols)
        if cols > kernel.max_cols(block_size):
            continue
        x = noise(rows, cols)
        kept = run_specs(*kernel.launches(x, np.full_like(x, np.nan), block_size), arch=90)
        unkept = kernel.launches(x, Unkept(x.nbytes), block_size)
        for one, other in zip(kept, run_specs(*unkept, arch=90), strict=True):
            assert (one.counts == other.counts).all()
            assert (one.executed == other.executed).all()
        assert (x == noise(rows, cols)).all(), "x-rays of one matrix share it"


def test_the_kernel_that_reads_y_is_stopped():
    kernel, x = kernels[READER], noise(3, 512)
    with pytest.raises(ReadBack):
        run_specs(*kernel.launches(x, Unkept(x.nbytes), kernel.settle_block_size(None, 512)), arch=90)  # fmt: skip


HOWS = {
    "loads": ("y[threadIdx.x] = y[63 - threadIdx.x];", True),
    "a lane loads": ("if (threadIdx.x == 3) y[0] = y[2 * threadIdx.x];", True),
    "adds": ("atomicAdd(y, 1.0f);", True),
    "copies": ("__pipeline_memcpy_async(s + threadIdx.x, y + threadIdx.x, 4);", True),
    "stores": ("y[threadIdx.x] = 1;", False),
    "stores bytes": ("reinterpret_cast<char*>(y)[threadIdx.x] = 1;", False),
    "stores all at one place": ("y[7] = threadIdx.x;", False),
    "stores apart": ("y[threadIdx.x * threadIdx.x % 61] = 1;", False),
    "stores wide": ("reinterpret_cast<float4*>(y)[threadIdx.x % 8] = float4();", False),
}
TEXT = '#include <cuda_pipeline.h>\nextern "C" __global__ void k%s(float* y) { __shared__ float s[32]; %s if (s[0] == 3) y[9] = s[1]; }'
SOURCE = together(Source("own.cu", TEXT % (n, line)) for n, (line, _) in enumerate(HOWS.values()))


@pytest.mark.parametrize("how", HOWS)
def test_who_reads_what_is_not_kept_is_stopped_and_who_writes_is_not(how):
    _, reads = HOWS[how]
    memory = Memory()
    y = memory.place_unkept("y", 64 * 4)
    decoded = decode_program(Program(SOURCE), 90, f"k{[*HOWS].index(how)}")
    words = (decoded, Geometry((1, 1, 1), (32, 1, 1)), [y], memory)
    if reads:
        with pytest.raises(ReadBack):
            launch(*words)
    else:
        assert launch(*words).counts[:, 0]["requests"].sum() == 1


@pytest.mark.full
@pytest.mark.parametrize("name", [kernel.name for kernel in rungs()])
def test_a_whole_matrix_takes_less_than_300_megabytes(name):
    """x has 134 of them, and Python with NumPy some 40."""
    text = f"from softmax_lib import xray\nxray({name!r}, 1024, 32768)"
    told = f"{text}\nprint(open('/proc/self/status').read())"
    out = subprocess.check_output([sys.executable, "-c", told], text=True)
    (most,) = (line.split()[1] for line in out.splitlines() if line.startswith("VmHWM:"))
    assert 134 < int(most) * 1024 / 1e6 < 300
