"""Whole matrices: y is as large as x, and is kept for none but a kernel that reads it."""

import subprocess
import sys

import numpy as np
import pytest
from engine.compiled.machine_runs import axes, together
from full_tables import some

from softmax_lib.engine.compiled.launching import ReadBack, Threads, launch
from softmax_lib.engine.compiled.memory import Memory
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.running import run
from softmax_lib.engine.source import Program, Source
from softmax_lib.engine.spec import Unkept
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import kernels, rungs

READERS = {"unfused"}
"""Its second kernel reads what the first one has written."""

SHAPES = ((40, 96), (5, 1030), (3, 2048))


@pytest.mark.parametrize("name", some(kernels, every=9))
def test_what_is_counted_does_not_depend_on_whether_y_is_kept(name):
    kernel = kernels[name]
    for rows, cols in [(rows, kernel.longer(cols)) for rows, cols in SHAPES]:
        block_size = kernel.settle_block_size(None, cols)
        if cols > kernel.max_cols(block_size):
            continue
        x = noise(rows, cols)
        kept = run(*kernel.launches(x, np.full_like(x, np.nan), block_size), arch=90)
        unkept = kernel.launches(x, Unkept(x.nbytes), block_size)
        if name in READERS:
            with pytest.raises(ReadBack):
                run(*unkept, arch=90)
            continue
        for one, other in zip(kept, run(*unkept, arch=90), strict=True):
            assert (one.counts == other.counts).all()
            assert (one.executed == other.executed).all()
        assert (x == noise(rows, cols)).all(), "x-rays of one matrix share it"


def test_the_kernel_that_reads_y_is_among_those_that_are_tried():
    x = noise(3, 512)
    (block_size,) = {kernels[name].settle_block_size(None, 512) for name in READERS}
    (name,) = READERS
    with pytest.raises(ReadBack):
        run(*kernels[name].launches(x, Unkept(x.nbytes), block_size), arch=90)


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
    if reads:
        with pytest.raises(ReadBack):
            launch(decoded, Threads(axes(1), axes(32)), [y], memory)
    else:
        counted = launch(decoded, Threads(axes(1), axes(32)), [y], memory)
        assert counted.counts[:, 0]["requests"].sum() == 1


def megabytes_of(text):
    """Of memory that Python has taken at most when it has run a text in a process of its own."""
    told = f"{text}\nprint(open('/proc/self/status').read())"
    out = subprocess.check_output([sys.executable, "-c", told], text=True)
    (most,) = (line.split()[1] for line in out.splitlines() if line.startswith("VmHWM:"))
    return int(most) * 1024 / 1e6


@pytest.mark.full
@pytest.mark.parametrize("name", [kernel.name for kernel in rungs()])
def test_a_whole_matrix_takes_less_than_300_megabytes(name):
    """x has 134 of them, and Python with NumPy some 40."""
    assert 134 < megabytes_of(f"from softmax_lib import xray\nxray({name!r}, 1024, 32768)") < 300
