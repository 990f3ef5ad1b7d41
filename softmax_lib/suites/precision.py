"""Chapter 13: what its order-free sum costs and how far off exponentials are."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from softmax_lib.gpu import launch
from softmax_lib.records.measurement import Case
from softmax_lib.suites.cells import Progress, call_of, require_right, run_cells, time_beside_copies
from softmax_lib.suites.plan import WORKLOG
from softmax_lib.worklog.registry import kernels

NAME = "precision"
PROTOCOL = (
    "Microseconds of one call at the block size that a kernel chooses: median of CUDA graph replays, L2 cold; all take their "
    "turns in one run. copy_us is the fastest copy of the matrix. Powers: of 2^24 numbers, evenly from -`reach` to 0, the "
    "largest error in units of float32's last place, against float64; ex2 is held against a power of two."
)
MATRICES = WORKLOG, (4096, 8192), (16384, 1024)
OTHERS = ("fusion", "torch")
"""Who is timed beside the chapter's kernel and its controls."""
REACHES = (1.0, 10.0, 87.0)
POWERS = """
__device__ float ex2(float t) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(t));
    return power;
}

extern "C" __global__ void powers(const float* x, float* of_e, float* fast, float* of_2) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    of_e[i] = expf(x[i]), fast[i] = __expf(x[i]), of_2[i] = ex2(x[i]);
}
"""
NUMBERS, THREADS = 1 << 24, 256


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every matrix timed on this GPU, and exponentials held against float64, as JSON has it.

    `rows` has for each matrix `{"rows", "cols", "copy_us", "times": [{"who", "us"}]}`, `powers` `{"power", "reach", "ulp"}`
    each, and `digests` what was compiled; the rest is as in `cells.run_cells`. Raises
    `NotAvailable` where a kernel is wrong here.
    """
    ours = {name: kernel for name, kernel in kernels.items() if kernel.suite == NAME}
    require_right(name for name, kernel in ours.items() if not kernel.flaw)
    cases = [Case(NAME, *matrix) for matrix in MATRICES]
    timed = run_cells(cases, lambda case, _: time_cell(case, [*ours, *OTHERS]), progress)
    digests = {name: kernel.digest for name, kernel in ours.items()}
    return {"protocol": PROTOCOL, **timed, "powers": errors(), "digests": digests}


def time_cell(case: Case, names: list[str]) -> dict[str, Any]:
    """One row of the suite."""
    us, copy_us = time_beside_copies(case, {name: call_of(name) for name in names})
    times = [{"who": name, "us": round(took, 3)} for name, took in us.items()]
    return {"rows": case.rows, "cols": case.cols, "copy_us": round(copy_us, 3), "times": times}


def errors() -> list[dict[str, Any]]:
    """The largest error of each exponential from minus each of `REACHES` up to 0."""
    found = []
    for reach in REACHES:
        x = torch.linspace(-reach, 0, NUMBERS, device="cuda")
        got = [torch.empty_like(x) for _ in range(3)]
        launch(POWERS, NUMBERS // THREADS, THREADS, [x, *got])
        due = [x.double().exp(), x.double().exp(), x.double().exp2()]
        for power, y, right in zip(("expf", "__expf", "ex2"), got, due, strict=True):
            found.append({"power": power, "reach": reach, "ulp": round(ulps(y, right), 2)})
    return found


def ulps(y: Tensor, due: Tensor) -> float:
    """The largest distance of float32 numbers from float64 ones, in units of the last place of these in float32."""
    unit = torch.ldexp(torch.ones_like(due), torch.frexp(due)[1] - 24)
    return float(((y.double() - due).abs() / unit).max())
