"""The emulator runs the unmodified .cu files: right, repeatably, and without touching anything else."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from emulated import HEAD, emulate, execute, kernel_of, noise, softmax, zeros

from softmax_lib.engine.geometry import Call, Geometry
from softmax_lib.engine.written import device, launching, session
from softmax_lib.worklog import registry


# One worker, as many as there are cores, and more than there are blocks.
@pytest.mark.parametrize("workers", [1, 2, 3, 100])
@pytest.mark.parametrize("name", ["naive", "shared", "shuffle", "float4", "fusion"])
def test_results_have_the_same_bits_on_any_number_of_os_threads(name, workers, monkeypatch):
    x = noise(37, 333, scale=4)
    expected = execute(name, x, 64)
    monkeypatch.setattr(launching, "cores", lambda: workers)
    y = execute(name, x, 64)
    assert (y == expected).all()
    np.testing.assert_allclose(y, softmax(x), rtol=1e-5, atol=1e-7)


# 4 lanes a warp and 8 or 16 threads are the worked examples of chapters 5 and 6; the kernel takes
# as many warps as a warp has lanes.
@pytest.mark.parametrize(
    ("warp_size", "block_size"),
    [(1, 1), (2, 4), (4, 8), (4, 16), (8, 8), (8, 64), (16, 256), (32, 32), (32, 1024)],
)
def test_warps_and_blocks_can_be_small(warp_size, block_size):
    x = noise(3, 50)
    y = execute("shuffle", x, block_size, warp_size=warp_size)
    np.testing.assert_allclose(y, softmax(x), rtol=1e-5)


def test_shared_memory_that_no_thread_of_the_block_wrote_reads_as_nan():
    source = kernel_of("""\
    __shared__ float once[64];
    y[blockIdx.x * cols + threadIdx.x] = once[threadIdx.x];
    once[threadIdx.x] = 1.0f;
""")
    assert np.isnan(execute(source, zeros(50, 64), 64)).all()


def test_two_block_sizes_of_a_template_do_not_share_its_shared_memory():
    # g++ would merge such variables of two libraries into one, of the size that came first
    source = """
template <int THREADS> __device__ void reverse(const float* x, float* y) {
    __shared__ float row[THREADS * 8];
    for (int i = threadIdx.x; i < THREADS * 8; i += THREADS) row[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < THREADS * 8; i += THREADS) y[i] = row[THREADS * 8 - 1 - i];
}
extern "C" __global__ void run(const float* x, float* y, int rows, int cols) {
    reverse<BLOCK>(x, y);
}
"""
    for block_size in (32, 1024, 64):
        x = noise(1, 8 * block_size)
        assert (execute(source, x, block_size) == x[:, ::-1]).all()


def test_the_grid_can_be_chosen():
    source = kernel_of("if (threadIdx.x == 0) y[blockIdx.x] = gridDim.x;\n")
    y = zeros(1, 8)
    emulate(registry.resolve(source), zeros(1, 8), y, 32, grid=5)
    assert y[0].tolist() == [5.0] * 5 + [0.0] * 3


# 131101 x 16381 is the smallest product of two primes above 2^31. Only the pages of the last rows
# are ever touched; the others take no memory.
FAR_ROWS, FAR_COLS = 131101, 16381


def launch_last_blocks(kernel, block_size):
    """Runs the last block; returns x and y of its rows, and the fault."""
    step = kernel.steps[0]
    library = session.Library(kernel.program(block_size, FAR_COLS), kernel.entries)
    path = library.path(traced=False)
    grid = step.blocks(FAR_ROWS, FAR_COLS, block_size)
    rows = FAR_ROWS - (grid - 1) * block_size if step.grid == "thread a row" else 1
    with device.open_device(path) as far:
        x, y = (far.memory.array(name, FAR_ROWS * FAR_COLS) for name in "xy")
        x_rows, y_rows = last_rows(x, rows), last_rows(y, rows)
        x_rows[:] = np.random.default_rng(0).standard_normal(x_rows.shape)
        y_rows[:] = np.nan
        geometry = Geometry((grid, 1, 1), (block_size, 1, 1)).only(grid - 1)
        sizes = [int(n).to_bytes(4, "little") for n in (FAR_ROWS, FAR_COLS)]
        last = Call(step.entry, 0, geometry, ("x", "y", *sizes))
        outcome = launching.launch(far, path, last, {"x": x, "y": y})
        return x_rows.copy(), y_rows.copy(), outcome.fault


def last_rows(array, rows):
    return array.content[-4 * rows * FAR_COLS :].view(np.float32).reshape(rows, FAR_COLS)


FAR = {"naive": 32, "online": 32, "shared": 64, "shuffle": 64, "float4": 64, "fusion": 256}


@pytest.mark.parametrize(("name", "block_size"), FAR.items())
def test_rows_beyond_two_to_the_31_elements_are_right(name, block_size):
    x, y, fault = launch_last_blocks(registry.kernels[name], block_size)
    assert fault is None
    np.testing.assert_allclose(y, softmax(x), rtol=2e-5, atol=1e-7)


def test_an_offset_that_overflows_an_int_is_found():
    source = kernel_of("""\
    int row = blockIdx.x;
    for (int col = threadIdx.x; col < cols; col += blockDim.x) y[row * cols + col] = x[row * cols + col];
""")
    _, y, fault = launch_last_blocks(registry.resolve(source), 64)
    assert fault is not None
    assert np.isnan(y).all()


WAITS_FOR_CTRL_C = """
import os, signal, sys
import numpy as np
from softmax_lib.worklog import launch, registry

# a shell's background job, and all that it starts, ignores Ctrl-C until told otherwise
signal.signal(signal.SIGINT, signal.default_int_handler)

kernel = registry.resolve(sys.argv[1])
def run(value):
    return launch.run(kernel, np.full((2, 32), value, np.float32), block_size=32)

run(0.0)
threads = len(os.listdir("/proc/self/task"))
try:
    print("ready", flush=True)
    run(1.0)
except KeyboardInterrupt:
    assert len(os.listdir("/proc/self/task")) == threads, "a worker is left"
    assert (run(0.0) == 2).all()
    print("interrupted", flush=True)
"""

ENDLESS = [
    f"{HEAD}while (((const volatile float*)x)[threadIdx.x] == 1.0f) {turn}\ny[blockIdx.x * cols + threadIdx.x] = 2.0f;}}\n"
    for turn in ("{ }", "__syncthreads();")
]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
@pytest.mark.parametrize("source", ENDLESS, ids=["spins", "meets"])
def test_ctrl_c_stops_a_launch_and_leaves_nothing_behind(source):
    command = [sys.executable, "-c", WAITS_FOR_CTRL_C, source]
    environment = {**os.environ, "SOFTMAX_LIB_WATCHDOG_S": "100"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)  # it is in the endless loop by now; if not, it is interrupted all the same
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "interrupted\n"


def test_the_signal_handlers_of_others_are_back_after_a_launch():
    # faulthandler, as pytest uses it, has handlers of its own; a crash elsewhere must reach them
    code = (
        "import ctypes, faulthandler; import numpy as np; from softmax_lib import run;"
        "faulthandler.enable(); run('naive', np.zeros((1, 1), 'f4')); ctypes.string_at(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in done.stderr
