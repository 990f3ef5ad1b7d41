"""The emulator on 64-bit ARM, cross-compiled and run by qemu; skipped where these are not installed.

They are Debian's `g++-aarch64-linux-gnu` and `qemu-user-static`.
"""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from emulated import kernel_of, softmax

from softmax_lib import engine
from softmax_lib.engine.written import build, flags, symbols
from softmax_lib.engine.written.structs import FaultKind
from softmax_lib.worklog import registry

COMPILER, MACHINE = "aarch64-linux-gnu-g++", "qemu-aarch64-static"

pytestmark = pytest.mark.skipif(
    not (shutil.which(COMPILER) and shutil.which(MACHINE)),
    reason=f"needs {COMPILER} and {MACHINE}",
)


@pytest.fixture(autouse=True)
def cross_compiler(monkeypatch):
    monkeypatch.setenv("CXX", COMPILER)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    out = tmp_path_factory.mktemp("aarch64") / "drive_emulator"
    source = Path(__file__).parent / "cpp" / "drive_emulator.cpp"
    includes = (f"-I{flags.CPP_FOLDER}", f"-I{engine.CPP_FOLDER}")
    subprocess.run(
        [COMPILER, "-std=c++17", "-O1", *includes, source, "-o", out, "-ldl"], check=True
    )
    return out


def launch(driver, kernel, shape, block_size, warp_size=32, traced=False):
    """Fault kind, its thread and text, the number of records, and y."""
    path = build.kernel_library(
        kernel.program(block_size, shape[1]), kernel.entries, warp_size, traced
    )
    sizes = (*shape, block_size, warp_size, int(traced))
    command = [MACHINE, driver, build.runtime_library(), path, *sizes]
    environment = {**os.environ, "QEMU_LD_PREFIX": "/usr/aarch64-linux-gnu"}
    words, how = [str(word) for word in command], {"capture_output": True, "text": True}
    done = subprocess.run(words, env=environment, timeout=120, **how)
    assert done.returncode == 0, done.stderr
    fault, records, y = done.stdout.splitlines()
    kind, thread, text = fault.split(" ", 2)
    numbers = np.array([float(word) for word in y.split()]).reshape(shape)
    return int(kind), int(thread), text, int(records), numbers


def broken(body):
    return registry.resolve(kernel_of(body, "broken.cu"))


LAUNCHES = [  # barriers and shuffles; 4 lanes a warp; a thousand fibers; 16-byte vectors; a row in registers
    ("shared", (3, 100), 64, 32), ("shuffle", (3, 50), 16, 4), ("shuffle", (2, 3000), 1024, 32),
    ("float4", (5, 77), 64, 32), ("fusion", (5, 77), 64, 32),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "block_size", "warp_size"), LAUNCHES)
@pytest.mark.parametrize("traced", [False, True])
def test_rungs_are_right(driver, name, shape, block_size, warp_size, traced):
    kernel = registry.kernels[name]
    kind, _, _, records, y = launch(driver, kernel, shape, block_size, warp_size, traced)
    x = (np.arange(shape[0] * shape[1]) % 7).reshape(shape)
    assert kind == 0
    assert (records > 2 * x.size) == traced
    np.testing.assert_allclose(y, softmax(x), rtol=1e-5)


def test_a_barrier_that_a_thread_has_left_out(driver):
    kernel = broken("    if (threadIdx.x != 3) __syncthreads();\n")
    kind, _, text, *_ = launch(driver, kernel, (1, 64), 64)
    assert kind == FaultKind.BARRIER
    assert text == (
        "barrier not reached by every thread of block (0,0,0): thread 3 exited; "
        "threads 0-2,4-63 wait at __syncthreads() broken.cu:2"
    )


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("    y[threadIdx.x == 5 ? cols : 0] = 1.0f;\n", FaultKind.ADDRESS),
        ("    if (threadIdx.x == 5) while (true) { }\n", FaultKind.HANG),
        (
            "    const float4* v = (const float4*)(x + (threadIdx.x == 5));\n"
            "    float4 a = v[0];\n    y[0] = a.x + a.w;\n",
            FaultKind.ADDRESS,
        ),
    ],
)
def test_what_the_hardware_or_the_watchdog_finds(driver, body, kind):
    found, thread, *_ = launch(driver, broken(body), (1, 64), 64)
    assert (found, thread) == (kind, 5)


def test_lines_and_shared_variables_are_found_in_its_tables():
    kernel = registry.kernels["shared"]
    found = symbols.read(build.kernel_library(kernel.program(64, 64), kernel.entries, 32, True))
    assert {file for file, _ in found.places} >= {"05_shared.cu"}
    assert [(v.name, v.bytes, v.element_bytes) for v in found.variables] == [("partial", 256, 4)]
