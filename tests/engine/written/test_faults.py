"""Broken kernels: what the emulator says of them, with block, threads and file:line."""

import pickle
import re
import struct
from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from emulated import HEAD, emulate, kernel_of, trace, zeros

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
from softmax_lib.engine.spec import WATCHDOG_S, WATCHDOG_VARIABLE, LaunchSpec
from softmax_lib.engine.written import launching, running, tracing
from softmax_lib.engine.written.process import ProcessEnded, Verb
from softmax_lib.worklog import registry


def execute(source, x, block_size):
    y = np.full_like(x, 7.0)
    try:
        emulate(registry.resolve(source), x, y, block_size)
    finally:
        assert (y == 7.0).all(), "y was touched"


def caught(fault, body, *, launch=execute, block_size=64, cols=64, rows=1):
    """The `fault` that the kernel with this body must raise."""
    x = np.arange(1, rows * cols + 1, dtype=np.float32).reshape(rows, cols)
    with pytest.raises(fault) as stopped:
        launch(kernel_of(body, "broken.cu"), x, block_size)
    assert type(stopped.value) is fault
    return stopped.value


def message(fault, body, **how):
    """What it says."""
    return str(caught(fault, body, **how))


both = pytest.mark.parametrize("launch", [execute, trace])


# ---- the sentence of each fault, and its kind, line and thread

THREE_OUT = "    if (threadIdx.x != 3) {\n        y[threadIdx.x] = x[threadIdx.x];\n        __syncthreads();\n    }\n"
OTHER_BARRIERS = (
    "    if (threadIdx.x < 40)\n        __syncthreads();\n    else\n        __syncthreads();\n"
)
HALF_SHUFFLES = """\
    float value = x[threadIdx.x];
    if (threadIdx.x % 2 == 0) value += __shfl_down_sync(0xffffffff, value, 1);
    __syncthreads();
"""
PAST = "    if (threadIdx.x != 9)\n        y[threadIdx.x] = __shfl_xor_sync(0xffffffff, x[threadIdx.x], 1);\n"
OTHER_CALLS = "    if (threadIdx.x < 16) __syncwarp();\n    else __any_sync(0xffffffff, 1);\n"
TOLD = {
    "a barrier left out": (BarrierFault, THREE_OUT, "barrier", 4, None, "barrier not reached by every thread of block (0,0,0): thread 3 exited; threads 0-2,4-63 wait at __syncthreads() broken.cu:4."),
    "barriers that are not the same": (BarrierFault, OTHER_BARRIERS, "barrier", 3, None, "threads of block (0,0,0) wait at different barriers: threads 0-39 wait at __syncthreads() broken.cu:3; threads 40-63 wait at __syncthreads() broken.cu:5."),
    "a shuffle of half of the lanes": (Deadlock, HALF_SHUFFLES, "deadlock", 3, None, "deadlock in block (0,0,0): threads 0,2,4,6,8,10,... wait at __shfl_down_sync() mask 0xffffffff broken.cu:3; threads 1,3,5,7,9,11,... wait at __syncthreads() broken.cu:4."),
    "a shuffle with a lane that has come past it": (Deadlock, PAST, "deadlock", 3, None, "deadlock in block (0,0,0): threads 9,32-63 exited; threads 0-8,10-31 wait at __shfl_xor_sync() mask 0xffffffff broken.cu:3."),
    "different functions of a warp": (Deadlock, OTHER_CALLS, "deadlock", 2, None, "deadlock in block (0,0,0): threads 32-63 exited; threads 0-15 wait at __syncwarp() mask 0xffffffff broken.cu:2; threads 16-31 wait at __any_sync() mask 0xffffffff broken.cu:3."),
    "a lane outside of its mask": (KernelFault, "    y[threadIdx.x] = __shfl_sync(0x0000ffff, x[threadIdx.x], 0);\n", "fault", 2, 16, "thread 16 of block (0,0,0): a lane calls a warp function whose mask leaves it out at broken.cu:2."),
    **{
        f"{array}[{index}]": (IllegalAddress, f"    int unused;\n    {statement}\n", "out of bounds", 3, thread, f"illegal address: thread {thread} of block (0,0,0) {verb} 4 bytes at {array}[{index}], {where} of its 64 elements at broken.cu:3.")
        for array, index, thread, verb, where, statement in (
            ("x", 64, 63, "loads", "past the end", "y[threadIdx.x] = x[threadIdx.x + 1];"),
            ("x", 100000, 0, "loads", "past the end", "y[threadIdx.x] = x[threadIdx.x + 100000];"),
            ("x", -100000, 0, "loads", "before the start", "y[threadIdx.x] = x[(int)threadIdx.x - 100000];"),
            ("y", 64, 63, "stores", "past the end", "y[threadIdx.x + 1] = x[threadIdx.x];"),
            ("y", -1, 0, "stores", "before the start", "y[(int)threadIdx.x - 1] = x[threadIdx.x];"),
            ("y", 1 << 30, 0, "stores", "past the end", "y[threadIdx.x + (1 << 30)] = x[0];"),
        )
    },
    "a load in a function that was inlined": (IllegalAddress, "    auto next = [=] {\n        return x[99999];\n    };\n    y[0] = next();\n", "out of bounds", 3, 0, "illegal address: thread 0 of block (0,0,0) loads 4 bytes at x[99999], past the end of its 64 elements at broken.cu:3."),
    **{
        f"a misaligned {vector}": (IllegalAddress, f"    {vector} v = reinterpret_cast<const {vector}*>(x + 1)[threadIdx.x];\n    y[threadIdx.x] = v.x + v.y;\n", "misaligned", 2, 0, f"misaligned address: thread 0 of block (0,0,0) loads {size} bytes at x[1] at broken.cu:2.")
        for vector, size in (("float4", 16), ("float2", 8), ("int4", 16))
    },
    "a misaligned store": (IllegalAddress, "    reinterpret_cast<float4*>(y + 2)[threadIdx.x] = make_float4(1, 2, 3, 4);\n", "misaligned", 2, 0, "misaligned address: thread 0 of block (0,0,0) stores 16 bytes at y[2] at broken.cu:2."),
    "a failed assertion": (KernelFault, '    assert(threadIdx.x != 7 && "{at}");\n', "fault", 2, 7, 'thread 7 of block (0,0,0): assertion `threadIdx.x != 7 && "{at}"` failed at broken.cu:2.'),
    "a trap": (KernelFault, "    if (x[threadIdx.x] == 4.0f) __trap();\n", "fault", 2, 3, "thread 3 of block (0,0,0): __trap() was called at broken.cu:2."),
    **{
        f"a free of {given}": (KernelFault, f"    float own = 0;\n    void* twice = malloc(8);\n    free(twice);\n    free({given});\n", "fault", 5, 0, "thread 0 of block (0,0,0) at broken.cu:5: free() of what malloc() has not given, or has had back.")
        for given in ("&own", "y", "twice")
    },
    "a division by zero": (KernelFault, "    int none = rows - 1;\n    y[0] = 12 / none;\n", "fault", 3, 0, "thread 0 of block (0,0,0) at broken.cu:3: integer division by zero."),
}  # fmt: skip


ENTRIES = tuple(f"broken_{number}" for number in range(len(TOLD)))
ALL_TOLD = Source("broken.cu", "\n".join(
    "#line 1\n" + HEAD.replace("mine", entry) + body + "}" for entry, (_, body, *_) in zip(ENTRIES, TOLD.values(), strict=True)
))  # fmt: skip
"""All in one file, since compiling takes longest: each begins at line 1."""


@pytest.mark.parametrize("start", [running.launch, tracing.trace])
@pytest.mark.parametrize("name", TOLD)
def test_a_fault_says_what_it_is_and_where(start, name):
    fault, _, kind, line, thread, sentence = TOLD[name]
    x, y = np.arange(1, 65, dtype=np.float32), np.full(64, 7, np.float32)
    entry = ENTRIES[[*TOLD].index(name)]
    spec = LaunchSpec.of(ALL_TOLD, 1, 64, [x, y, 1, 64], kernel=entry)
    with pytest.raises(fault) as stopped:
        start(replace(spec, entries=ENTRIES))
    found = stopped.value
    assert (type(found), str(found)) == (fault, sentence)
    assert (found.kind, found.file, found.line, found.block) == (kind, "broken.cu", line, (0, 0, 0))
    assert found.thread == thread
    assert (y == 7).all(), "y was touched"


def test_the_lowest_faulty_block_is_reported_every_time():
    body = "    if (blockIdx.x >= 5 && threadIdx.x == 0) return;\n    __syncthreads();\n"
    for _ in range(20):
        assert "of block (5,0,0): thread 0 exited;" in message(BarrierFault, body, rows=40)


def test_a_store_into_the_spare_bytes_behind_an_array():
    # 8 floats leave spare bytes before the guard page: no fault of the hardware, found afterwards
    assert message(IllegalAddress, "    y[threadIdx.x + 2] = 1.0f;\n", block_size=8, cols=8) == (
        "illegal address: thread 6 of block (0,0,0) stores 4 bytes at y[8], past the end of its "
        "8 elements at broken.cu:2."
    )


@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_trace_finds_what_leaves_a_shared_array_and_counts_in_its_own_type(kind):
    body = f"""\
    __shared__ {kind} tile[64];
    tile[threadIdx.x + 2] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];
"""
    assert message(IllegalAddress, body, launch=trace) == (
        f"illegal address: thread 62 of block (0,0,0) stores {4 + 4 * (kind == 'double')} bytes at tile[64], "
        "past the end of its 64 elements at broken.cu:3."
    )


# ---- loops without an end


@pytest.fixture
def patience(monkeypatch):
    monkeypatch.setenv(WATCHDOG_VARIABLE, "0.3")


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
    monkeypatch.setenv(WATCHDOG_VARIABLE, "1.5")
    wait = Mock(wraps=launching._wait)
    monkeypatch.setattr(launching, "_wait", wait)
    assert "no thread finished for 1.5 s" in message(Hang, "while (true) {}")
    assert [call.args[1] for call in wait.call_args_list] == [1.5, 1.0]


@both
def test_a_thread_that_waits_for_memory_to_change(launch, monkeypatch):
    if launch is execute:  # looked at again, traced, for as long: until every thread waits
        monkeypatch.setenv(WATCHDOG_VARIABLE, "1")
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


IN_A_FUNCTION = """\
    float value = x[threadIdx.x];
    while (value != 0.0f)
        value = 1.0f + fabsf(tanf(atanf(expf(sinf(value)))));
    y[threadIdx.x] = value;
"""
THROUGH_A_BARRIER = """\
    for (float sum = 0.0f; sum >= 0.0f; sum = sum > 9.0f ? 0.0f : sum + 1.0f)
        __syncthreads();
    y[threadIdx.x] = 0.0f;
"""
THROUGH_A_SHUFFLE = """\
    float value = 1.0f;
    while (value > 0.0f)
        value = __shfl_xor_sync(0xffffffff, value, 1);
    y[threadIdx.x] = value;
"""


@both
@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize(
    ("body", "block_size", "words"),
    [
        (IN_A_FUNCTION, 64, r"thread 0 of block \(0,0,0\) runs at broken\.cu:[34];"),
        (THROUGH_A_BARRIER, 4, r"of block \(0,0,0\) runs at broken\.cu:.*wait at __syncthreads\(\) broken\.cu:3"),
        (THROUGH_A_SHUFFLE, 32, r"mask 0xffffffff broken\.cu:4"),
    ],
    ids=["in a function", "through a barrier", "through a shuffle"],
)  # fmt: skip
def test_a_loop_that_does_something_is_a_hang_too(launch, body, block_size, words):
    assert re.search(words, message(Hang, body, launch=launch, block_size=block_size))


class DeviceThatTakes:
    """Stands in for a device: done after some slices of waiting, or when it was stopped, if it can be."""

    def __init__(self, slices, threads_a_slice, stops=True):
        self.slices, self.threads_a_slice, self.stops = slices, threads_a_slice, stops
        self.waited, self.stopped = 0, False

    def ask(self, verb, *parts):
        if verb == Verb.STOP:
            self.stopped = True
        self.waited += 1
        is_done = self.waited >= self.slices or (self.stops and self.stopped)
        return struct.pack("<QQ", is_done, int(self.waited * self.threads_a_slice))


@pytest.mark.parametrize(("threads_a_slice", "stopped"), [(1, False), (0, True)])
def test_a_long_launch_is_a_hang_only_if_no_thread_finishes(threads_a_slice, stopped):
    device = DeviceThatTakes(100_000, threads_a_slice)
    launching._wait(device, WATCHDOG_S)
    assert device.stopped == stopped


def test_a_process_that_cannot_be_stopped_is_ended():
    device = DeviceThatTakes(100_000, 0, stops=False)
    with pytest.raises(ProcessEnded):
        launching._wait(device, WATCHDOG_S)


@pytest.mark.parametrize(("done", "threads", "is_refused"), [(1 << 24, 1 << 41, True), (0, 1 << 31, True), (1 << 30, 1 << 33, False), (1, 1 << 20, False)])  # fmt: skip
def test_a_launch_that_would_take_far_too_long_is_refused(done, threads, is_refused):
    refused = pytest.raises(BadInput, match=f"has {threads} threads, too many to be run here")
    with refused if is_refused else nullcontext():
        launching._wait(DeviceThatTakes(300, done / 200), 100.0, threads)


@pytest.mark.parametrize("given", ["soon", "nan", "-1", "0", "inf", "1e400", ""])
def test_the_watchdog_takes_a_number_of_seconds(monkeypatch, given):
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", given)
    with pytest.raises(BadInput, match=f"SOFTMAX_LIB_WATCHDOG_S is '{given}'; it takes a number"):
        execute(kernel_of(""), zeros(1, 8), 8)


# ---- what a thread does to itself


def test_local_arrays_that_are_too_large():
    body = """\
    volatile float large[300000];
    for (int i = 0; i < 300000; i++) large[i] = i;
    y[0] = large[rows];
"""
    assert "the local arrays overflow the stack of 512 KiB" in message(KernelFault, body)


def test_a_fault_survives_being_sent_to_another_process():
    found = caught(IllegalAddress, "    y[threadIdx.x + 2] = 1.0f;\n")
    again = pickle.loads(pickle.dumps(found))
    assert (type(again), str(again), vars(again)) == (type(found), str(found), vars(found))
