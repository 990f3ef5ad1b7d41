"""Broken kernels: what the emulator says of them, with block, threads and file:line."""

import pickle
import re
import struct

import numpy as np
import pytest
from emulated import emulate, kernel_of, ones, zeros
from emulated import execute as run
from emulated import trace as run_traced

from softmax_lib.engine.errors import (
    BadInput,
    BarrierFault,
    Deadlock,
    Hang,
    IllegalAddress,
    KernelFault,
    Waiting,
)
from softmax_lib.engine.source import Source
from softmax_lib.engine.written import launching
from softmax_lib.engine.written.process import ProcessEnded, Verb
from softmax_lib.engine.written.structs import StopReason
from softmax_lib.worklog import registry


def execute(x, source, block_size):
    y = np.full_like(x, 7.0)
    try:
        emulate(registry.resolve(source), x, y, block_size)
    finally:
        assert (y == 7.0).all(), "y was touched"


def trace(x, source, block_size):
    run_traced(source, x, block_size)


def caught(fault, body, *, launch=execute, block_size=64, cols=64, rows=1):
    """The `fault` that the kernel with this body must raise."""
    x = np.arange(1, rows * cols + 1, dtype=np.float32).reshape(rows, cols)
    with pytest.raises(fault) as stopped:
        launch(x, kernel_of(body, "broken.cu"), block_size)
    assert type(stopped.value) is fault
    return stopped.value


def message(fault, body, **how):
    """What it says."""
    return str(caught(fault, body, **how))


both = pytest.mark.parametrize("launch", [execute, trace])


# ---- barriers


@both
def test_a_barrier_that_a_thread_has_left_out(launch):
    body = """\
    if (threadIdx.x != 3) {
        y[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
    }
"""
    assert message(BarrierFault, body, launch=launch) == (
        "barrier not reached by every thread of block (0,0,0): thread 3 exited; "
        "threads 0-2,4-63 wait at __syncthreads() broken.cu:4."
    )


@both
def test_two_barriers_that_are_not_the_same(launch):
    body = """\
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
"""
    assert message(BarrierFault, body, launch=launch) == (
        "threads of block (0,0,0) wait at different barriers: threads 0-31 wait at "
        "__syncthreads() broken.cu:3; threads 32-63 wait at __syncthreads() broken.cu:5."
    )


def test_the_lowest_faulty_block_is_reported_every_time():
    body = "    if (blockIdx.x >= 5 && threadIdx.x == 0) return;\n    __syncthreads();\n"
    for _ in range(20):
        assert "of block (5,0,0): thread 0 exited;" in message(BarrierFault, body, rows=40)


# ---- shuffles


@both
def test_a_shuffle_that_half_of_the_lanes_never_come_to(launch):
    body = """\
    float value = x[threadIdx.x];
    if (threadIdx.x % 2 == 0) value += __shfl_down_sync(0xffffffff, value, 1);
    __syncthreads();
    y[threadIdx.x] = value;
"""
    assert message(Deadlock, body, launch=launch) == (
        "deadlock in block (0,0,0): threads 0,2,4,6,8,10,... wait at __shfl_down_sync() mask "
        "0xffffffff broken.cu:3; threads 1,3,5,7,9,11,... wait at __syncthreads() broken.cu:4."
    )


@both
def test_a_shuffle_that_names_a_lane_which_has_exited(launch):
    body = """\
    if (threadIdx.x == 9) return;
    y[threadIdx.x] = __shfl_xor_sync(0xffffffff, x[threadIdx.x], 1);
"""
    assert message(Deadlock, body, launch=launch, block_size=32) == (
        "deadlock in block (0,0,0): thread 9 exited; threads 0-8,10-31 wait at __shfl_xor_sync() "
        "mask 0xffffffff broken.cu:3."
    )


def test_lanes_that_wait_at_different_warp_functions():
    body = """\
    if (threadIdx.x < 16) __syncwarp();
    else __any_sync(0xffffffff, 1);
"""
    assert message(Deadlock, body, block_size=32) == (
        "deadlock in block (0,0,0): threads 0-15 wait at __syncwarp() mask 0xffffffff broken.cu:2; "
        "threads 16-31 wait at __any_sync() mask 0xffffffff broken.cu:3."
    )


def test_a_lane_outside_of_its_own_mask():
    body = "    y[threadIdx.x] = __shfl_sync(0x0000ffff, x[threadIdx.x], 0);\n"
    assert message(KernelFault, body) == (
        "thread 16 of block (0,0,0): a lane calls a warp function whose mask leaves it out at "
        "broken.cu:2."
    )


# ---- addresses


@both
@pytest.mark.parametrize(
    ("statement", "verb", "element"),
    [
        ("y[threadIdx.x] = x[threadIdx.x + 1];", "loads", "x[64], past the end"),
        ("y[threadIdx.x] = x[threadIdx.x + 100000];", "loads", "x[100000], past the end"),
        ("y[threadIdx.x] = x[(int)threadIdx.x - 100000];", "loads", "x[-100000], before the start"),
        ("y[threadIdx.x + 1] = x[threadIdx.x];", "stores", "y[64], past the end"),
        ("y[(int)threadIdx.x - 1] = x[threadIdx.x];", "stores", "y[-1], before the start"),
        ("y[threadIdx.x + (1 << 30)] = x[0];", "stores", "y[1073741824], past the end"),
    ],
)
def test_an_access_outside_of_its_array(launch, statement, verb, element):
    # the array ends 256 bytes before a guard page at most: 64 floats fill them
    thread = 63 if "64]" in element else 0
    assert message(IllegalAddress, f"    int unused;\n    {statement}\n", launch=launch) == (
        f"illegal address: thread {thread} of block (0,0,0) {verb} 4 bytes at {element} of its "
        "64 elements at broken.cu:3."
    )


def test_a_store_into_the_spare_bytes_behind_an_array():
    # 8 floats leave spare bytes before the guard page: no fault of the hardware, found afterwards
    assert message(IllegalAddress, "    y[threadIdx.x + 2] = 1.0f;\n", block_size=8, cols=8) == (
        "illegal address: thread 6 of block (0,0,0) stores 4 bytes at y[8], past the end of its "
        "8 elements at broken.cu:2."
    )


@both
@pytest.mark.parametrize(("vector", "size"), [("float4", 16), ("float2", 8), ("int4", 16)])
def test_a_vector_at_an_address_that_is_no_multiple_of_its_size(launch, vector, size):
    body = f"""\
    const {vector}* vectors = reinterpret_cast<const {vector}*>(x + 1);
    {vector} v = vectors[threadIdx.x];
    y[threadIdx.x] = v.x + v.y;
"""
    assert message(IllegalAddress, body, launch=launch, block_size=8) == (
        f"misaligned address: thread 0 of block (0,0,0) loads {size} bytes at x[1] at broken.cu:3."
    )


@both
def test_a_misaligned_store(launch):
    body = """\
    float4* vectors = reinterpret_cast<float4*>(y + 2);
    vectors[threadIdx.x] = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
"""
    assert message(IllegalAddress, body, launch=launch, block_size=8) == (
        "misaligned address: thread 0 of block (0,0,0) stores 16 bytes at y[2] at broken.cu:3."
    )


def test_elements_of_a_shared_array_are_counted_in_its_own_type():
    body = "    __shared__ double sums[4];\n    sums[threadIdx.x] = 0;\n    y[threadIdx.x] = sums[0];\n"
    assert "sums[4], past the end of its 4 elements" in message(
        IllegalAddress, body, launch=trace, block_size=32
    )


def test_a_trace_finds_what_leaves_a_shared_array():
    body = """\
    __shared__ float tile[64];
    tile[threadIdx.x + 2] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];
"""
    assert message(IllegalAddress, body, launch=trace) == (
        "illegal address: thread 62 of block (0,0,0) stores 4 bytes at tile[64], past the end of "
        "its 64 elements at broken.cu:3."
    )


def test_the_line_is_the_one_in_a_function_that_was_inlined():
    source = """\
__device__ inline float next(const float* x) {
    return x[100000];
}
extern "C" __global__ void broken(const float* x, float* y, int rows, int cols) {
    y[0] = next(x);
}
"""
    with pytest.raises(IllegalAddress, match=r"x\[100000\].* at inlined\.cu:2\.$"):
        execute(zeros(1, 8), Source("inlined.cu", source), 8)


# ---- loops without an end


@pytest.fixture
def patience(monkeypatch):
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", "0.3")


@both
@pytest.mark.usefixtures("patience")
def test_a_thread_that_spins(launch):
    body = """\
    if (threadIdx.x == 5)
        while (true) { }
    y[threadIdx.x] = x[threadIdx.x];
"""
    assert message(Hang, body, launch=launch) == (
        "hang: no thread finished for 0.3 s: thread 5 of block (0,0,0) runs at broken.cu:3; "
        "threads 0-4 exited; threads 6-63 have not started."
    )


def test_a_hang_is_looked_at_again_for_less_than_it_took(monkeypatch):
    monkeypatch.setenv(launching.WATCHDOG_VARIABLE, "1.5")
    limits = []
    plain = launching._wait

    def note(device, limit_s):
        limits.append(limit_s)
        plain(device, limit_s)

    monkeypatch.setattr(launching, "_wait", note)
    assert "no thread finished for 1.5 s" in message(Hang, "while (true) {}")
    assert limits == [1.5, 1.0]


@both
def test_a_thread_that_waits_for_memory_to_change(launch, request):
    if launch is execute:  # traced, it is seen as soon as every thread waits
        request.getfixturevalue("patience")
    body = """\
    const volatile float* flag = x;
    while (flag[0] == 1.0f) { }
    y[threadIdx.x] = 0.0f;
"""
    assert message(Waiting, body, launch=launch) == (
        "thread 0 of block (0,0,0) waits for x[0] at broken.cu:3, which no thread of its own or an "
        "earlier block can write any more; later blocks need not run beside it unless the launch is "
        "cooperative (in block (0,0,0) threads 0-63 wait for a word of memory)."
    )


@pytest.mark.usefixtures("patience")
def test_a_loop_that_spends_its_time_in_a_function_of_the_system():
    body = """\
    float value = x[threadIdx.x];
    while (value != 0.0f)
        value = 1.0f + fabsf(tanf(atanf(expf(sinf(value)))));
    y[threadIdx.x] = value;
"""
    assert re.search(r"thread 0 of block \(0,0,0\) runs at broken\.cu:[34];", message(Hang, body))


@both
@pytest.mark.usefixtures("patience")
def test_a_loop_through_a_barrier(launch):
    body = """\
    for (float sum = 0.0f; sum >= 0.0f; sum = sum > 9.0f ? 0.0f : sum + 1.0f)
        __syncthreads();
    y[threadIdx.x] = 0.0f;
"""
    text = message(Hang, body, launch=launch, block_size=4)
    assert "of block (0,0,0) runs at broken.cu:" in text
    assert "wait at __syncthreads() broken.cu:3" in text


@pytest.mark.usefixtures("patience")
def test_a_loop_through_a_shuffle():
    body = """\
    float value = 1.0f;
    while (value > 0.0f)
        value = __shfl_xor_sync(0xffffffff, value, 1);
    y[threadIdx.x] = value;
"""
    assert "mask 0xffffffff broken.cu:4" in message(Hang, body, block_size=32)


class DeviceThatTakes:
    """Stands in for a device: done after some slices of waiting, or when it was stopped, if it can be."""

    def __init__(self, slices, threads_a_slice, stops=True):
        self.slices, self.threads_a_slice, self.stops = slices, threads_a_slice, stops
        self.waited, self.stopped = 0, None

    def ask(self, verb, *parts):
        if verb == Verb.STOP:
            self.stopped = StopReason(int.from_bytes(parts[0], "little"))
        self.waited += 1
        is_done = self.waited >= self.slices or (self.stops and self.stopped is not None)
        return struct.pack("<QQ", is_done, self.waited * self.threads_a_slice)


@pytest.mark.parametrize(("threads_a_slice", "stopped"), [(1, None), (0, StopReason.HANG)])
def test_a_long_launch_is_a_hang_only_if_no_thread_finishes(threads_a_slice, stopped):
    device = DeviceThatTakes(100_000, threads_a_slice)
    launching._wait(device, launching.WATCHDOG_S)
    assert device.stopped == stopped


def test_a_process_that_cannot_be_stopped_is_ended():
    device = DeviceThatTakes(100_000, 0, stops=False)
    with pytest.raises(ProcessEnded):
        launching._wait(device, launching.WATCHDOG_S)


def test_the_watchdog_takes_a_number(monkeypatch):
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", "soon")
    with pytest.raises(BadInput, match="SOFTMAX_LIB_WATCHDOG_S is 'soon'; it takes a number"):
        execute(zeros(1, 8), kernel_of(""), 8)


# ---- what a thread does to itself


def test_a_failed_assertion():
    assert message(KernelFault, "    assert(threadIdx.x != 7);\n") == (
        "thread 7 of block (0,0,0): assertion `threadIdx.x != 7` failed at broken.cu:2."
    )


def test_a_trap():
    text = message(KernelFault, "    if (x[threadIdx.x] == 4.0f) __trap();\n")
    assert text == "thread 3 of block (0,0,0): __trap() was called at broken.cu:2."


def test_an_integer_division_by_zero():
    text = message(KernelFault, "    y[0] = 12 / (rows - 1);\n")
    assert text == "thread 0 of block (0,0,0) at broken.cu:2: integer division by zero."


def test_local_arrays_that_are_too_large():
    body = """\
    volatile float large[300000];
    for (int i = 0; i < 300000; i++) large[i] = i;
    y[0] = large[rows];
"""
    assert "the local arrays overflow the stack of 512 KiB" in message(KernelFault, body)


def test_a_good_kernel_runs_after_every_kind_of_fault():
    for body in ("    if (threadIdx.x) __syncthreads();\n", "    y[1 << 28] = 1.0f;\n"):
        message(BarrierFault if "sync" in body else IllegalAddress, body)
        good = kernel_of(
            "    __syncthreads();\n    y[threadIdx.x] = x[threadIdx.x];\n    __syncthreads();\n"
        )
        assert (run(good, ones(1, 64), 64) == 1.0).all()


# ---- the fault itself: what the sentence is made of


@both
@pytest.mark.parametrize(
    ("fault", "body", "kind", "line", "thread"),
    [
        (BarrierFault, "    if (threadIdx.x != 3)\n        __syncthreads();\n", "barrier", 3, None),
        (Deadlock, "    if (threadIdx.x < 9) __syncwarp();\n", "deadlock", 2, None),
        (IllegalAddress, "    int at = threadIdx.x + 2;\n    y[at] = 1.0f;\n", "out of bounds", 3, 62),
        (IllegalAddress, "    ((float2*)(y + 1))[threadIdx.x] = make_float2(1, 2);\n", "misaligned", 2, 0),
        (KernelFault, "    assert(threadIdx.x != 7);\n", "fault", 2, 7),
        (KernelFault, "    int none = rows - 1;\n    y[threadIdx.x] = 12 / none;\n", "fault", 3, 0),
    ],
)  # fmt: skip
def test_a_fault_knows_its_kind_line_block_and_thread(launch, fault, body, kind, line, thread):
    found = caught(fault, body, launch=launch)
    assert (found.kind, found.file, found.line, found.block) == (kind, "broken.cu", line, (0, 0, 0))
    assert found.thread == thread
    assert f"broken.cu:{line}" in str(found)


def test_text_of_the_reader_stays_as_it_is_in_the_sentence():
    said = message(KernelFault, '    assert(threadIdx.x != 7 && "{at}");\n')
    assert '"{at}"' in said
    assert said.count("broken.cu:2") == 1


def test_a_fault_survives_being_sent_to_another_process():
    found = caught(IllegalAddress, "    y[threadIdx.x + 2] = 1.0f;\n")
    again = pickle.loads(pickle.dumps(found))
    assert (type(again), str(again), vars(again)) == (type(found), str(found), vars(found))
