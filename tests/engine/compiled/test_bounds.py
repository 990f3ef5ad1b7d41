"""Lanes whose addresses lie evenly apart are checked by their ends: who is outside is still named."""

import numpy as np
import pytest
from engine.compiled.machine_runs import run, run_ptx, together

from softmax_lib.engine.errors import IllegalAddress
from softmax_lib.engine.source import Source

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
TEXT = 'extern "C" __global__ void k%s(float* y, int n) { extern __shared__ float4 room[]; float* s = (float*)room; %s }'
SOURCE = together(Source("own.cu", TEXT % of) for of in enumerate(ENDS))


@pytest.mark.parametrize("run", [run, run_ptx])
@pytest.mark.parametrize("line", ENDS)
def test_the_first_lane_outside_is_named(line, run):
    thread, what = ENDS[line]
    y = np.zeros(128, np.float32)
    with pytest.raises(IllegalAddress, match=rf"thread {thread} of block .*{what}"):
        run(SOURCE, f"k{[*ENDS].index(line)}", (1,), (32,), [y, 112], shared_bytes=128)


@pytest.mark.parametrize("run", [run, run_ptx])
def test_lanes_backwards_and_lanes_within_are_not(run):
    text = 'extern "C" __global__ void k(float* y, int n) { y[31 - threadIdx.x] = n; y[33 + 3 * threadIdx.x] = threadIdx.x; }'
    y = np.zeros(127, np.float32)
    run(Source("own.cu", text), "k", (1,), (32,), [y, 112])
    assert (y[:32] == 112).all()
    assert (y[33::3] == np.arange(32)).all()
