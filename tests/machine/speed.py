"""How long machine code takes to be decoded and counted here, beside what was aimed at: python tests/machine/speed.py"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from unittest.mock import patch

import numpy as np

from softmax_lib.engine.compiled import program
from softmax_lib.engine.compiled.library import library
from softmax_lib.engine.compiled.running import run
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import kernels, rungs

NAMES = (*(kernel.name for kernel in rungs()), "chunked")
TIMES = 15
COUNTED_MS, COLD_MS, CACHED_MS, WHOLE_S, WHOLE_MB = 10, 600, 5, 4, 300
"""At 64x4096; of the decoding the first time and later; and of 1024x32768, the whole command."""


def best_ms(run: Callable[[], object]) -> float:
    """The shortest of some times, in ms."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3


def counted_ms(name: str) -> float:
    """All blocks of a kernel on a (64, 4096) matrix, all counted."""
    kernel, x = kernels[name], noise(64, 4096)
    y, block_size = np.empty_like(x), kernel.settle_block_size(None, 4096)
    return best_ms(lambda: run(*kernel.launches(x, y, block_size), arch=90))


def decoding_ms(name: str) -> tuple[float, float]:
    """Of a kernel's listing: with nothing kept, and from the disk."""
    kernel = kernels[name]
    source = kernel.program(kernel.settle_block_size(None, 4096), 4096)
    step = kernel.steps[0].entry

    def decode() -> None:
        program.decode.cache_clear()
        program.decode_program(source, 90, step)

    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, XDG_CACHE_HOME=folder):
        began = time.perf_counter()
        decode()
        return (time.perf_counter() - began) * 1e3, best_ms(decode)


def megabytes_of(text: str) -> float:
    """Of memory that Python has taken at most when it has run a text in a process of its own."""
    told = f"{text}\nprint(open('/proc/self/status').read())"
    out = subprocess.check_output([sys.executable, "-c", told], text=True)
    (most,) = (line.split()[1] for line in out.splitlines() if line.startswith("VmHWM:"))
    return int(most) * 1024 / 1e6


def whole(name: str) -> tuple[float, float]:
    """Seconds and MB of the command that counts a (1024, 32768) matrix."""
    words = ["xray", name, "--rows", "1024", "--cols", "32768"]
    began = time.perf_counter()
    megabytes = megabytes_of(f"from softmax_lib.cli import main\nmain({words})")
    return time.perf_counter() - began, megabytes


if __name__ == "__main__":
    library()
    print(
        f"{'':8} {'64x4096':>9} {'decoded':>9} {'cached':>9} {'1024x32768':>11} {'of memory':>10}"
    )
    print(
        f"{'goal':8} {COUNTED_MS:6} ms {COLD_MS:6} ms {CACHED_MS:6} ms {WHOLE_S:9} s {WHOLE_MB:7} MB"
    )
    for name in NAMES:
        cold, cached = decoding_ms(name)
        seconds, megabytes = whole(name)
        print(
            f"{name:8} {counted_ms(name):6.1f} ms {cold:6.0f} ms {cached:6.1f} ms {seconds:9.2f} s {megabytes:7.0f} MB",
            flush=True,
        )
