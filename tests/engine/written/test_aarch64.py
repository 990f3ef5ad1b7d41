"""The emulator on 64-bit ARM: cross-compiled, in a process that qemu runs; skipped where these are not installed.

They are Debian's `g++-aarch64-linux-gnu` and `qemu-user-static`.
"""

import shutil

import numpy as np
import pytest
from emulated import execute, kernel_of, ones, softmax, trace

from softmax_lib.engine.errors import BarrierFault, Hang, IllegalAddress
from softmax_lib.engine.written import build, device, process, symbols
from softmax_lib.worklog import registry

COMPILER, MACHINE = "aarch64-linux-gnu-g++", "qemu-aarch64-static"

pytestmark = pytest.mark.skipif(
    not (shutil.which(COMPILER) and shutil.which(MACHINE)),
    reason=f"needs {COMPILER} and {MACHINE}",
)


@pytest.fixture(autouse=True)
def another_machine(monkeypatch, tmp_path):
    """What is compiled is for it, and so is the process that runs it."""
    monkeypatch.setenv("CXX", COMPILER)
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", "5")
    program = tmp_path / "server"
    program.write_text(
        f'#!/bin/sh\nexec {MACHINE} -L /usr/aarch64-linux-gnu {build.server_program()} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(process, "server_program", lambda: program)
    device._idle.end()
    yield
    device._idle.end()


LAUNCHES = [  # barriers and shuffles; 4 lanes a warp; a thousand fibers; 16-byte vectors; a row in registers
    ("shared", (3, 100), 64, 32), ("shuffle", (3, 50), 16, 4), ("shuffle", (2, 3000), 1024, 32),
    ("float4", (5, 77), 64, 32), ("fusion", (5, 77), 64, 32),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "block_size", "warp_size"), LAUNCHES)
def test_rungs_are_right(name, shape, block_size, warp_size):
    x = (np.arange(shape[0] * shape[1]) % 7).reshape(shape).astype(np.float32)
    y = execute(name, x, block_size, warp_size=warp_size)
    np.testing.assert_allclose(y, softmax(x), rtol=1e-5)
    traced = trace(name, x, block_size, warp_size)
    assert (traced.y == y).all()
    assert len(traced) > 2 * x.size


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ("    if (threadIdx.x != 3) __syncthreads();\n", BarrierFault, r"thread 3 exited; threads 0-2,4-63 wait at __syncthreads\(\) broken.cu:2"),
        ("    y[threadIdx.x == 5 ? cols : 0] = 1.0f;\n", IllegalAddress, r"thread 5 .* stores 4 bytes at y\[64\]"),
        ("    if (threadIdx.x == 5) while (true) { }\n", Hang, "thread 5 .* runs"),
        ("    const float4* v = (const float4*)(x + (threadIdx.x == 5));\n    float4 a = v[0];\n    y[0] = a.x + a.w;\n", IllegalAddress, "misaligned address: thread 5"),
    ],
)  # fmt: skip
def test_what_the_hardware_or_the_watchdog_finds(body, error, words):
    with pytest.raises(error, match=words):
        execute(kernel_of(body, "broken.cu"), ones(1, 64), 64)


def test_lines_and_shared_variables_are_found_in_its_tables():
    kernel = registry.kernels["shared"]
    found = symbols.read(build.kernel_library(kernel.program(64, 64), kernel.entries, 32, True))
    assert {file for file, _ in found.places} >= {"05_shared.cu"}
    assert [(v.name, v.bytes, v.element_bytes) for v in found.variables] == [("partial", 256, 4)]
