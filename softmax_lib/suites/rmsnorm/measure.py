"""The kernels of the page Your own kernel, each beside the others, torch, Liger and a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from softmax_lib.engine.source import Program
from softmax_lib.suites.cells import Progress, run_cells
from softmax_lib.suites.rmsnorm.operator_times import Call, kernel_call, time_calls
from softmax_lib.worklog.checking import check_operator
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.files import KERNEL_FOLDER
from softmax_lib.worklog.operators import Operator, read_operator

PROTOCOL = (
    "Microseconds of one call: median of CUDA graph replays, L2 cold; all take turns in one run. copy_us is the "
    "faster of torch's copy and ours, of as many bytes."
)
CELLS = [
    (rows, cols, dtype)
    for dtype in ("float32", "bfloat16")
    for rows, cols in ((8192, 4096), (32768, 1024))
]
EPS = 1e-6
STEPS = {"float32": ("naive", "shuffle", "float4", "fused"), "bfloat16": ("fused_bf16",)}
FITTED = ("fused", "fused_bf16")
"""Each thread holds 16 numbers of its row, and a row is a multiple of a warp's 512."""


def reference(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """RMSNorm of each row of x (Zhang and Sennrich, 2019)."""
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + eps) * weight


def step(name: str) -> Operator:
    """One kernel of the page."""
    is_naive = name == "naive"
    return read_operator(
        KERNEL_FOLDER / "rmsnorm" / f"{name}.cu",
        reference,
        (lambda rows, cols, block: -(-rows // block)) if is_naive else None,
        lambda cols: block_size_of(name, cols),
        {
            "inputs": {"x": "rows cols", "weight": "cols"},
            "scalars": {"eps": EPS},
            "leave_out": ("both ends of float32", "all near -3e38"),
            "vector": 512 if name in FITTED else 4,
        },
    )


def block_size_of(name: str, cols: int) -> int:
    """Threads of a block."""
    if name in FITTED:
        return cols // 16
    return 32 if name == "naive" else 256


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each kernel and peer `{"name", "rows", "cols", "dtype", "bytes", "us", "copy_us"}`, and `digests`
    what was compiled; the rest is as in `cells.run_cells`. Raises `NotAvailable` where a kernel is wrong here.
    """
    names = [name for steps in STEPS.values() for name in steps]
    found = run_cells(CELLS, lambda cell, skipped: {"times": _time_cell(*cell, skipped)}, progress)
    rows = [row for cell in found.pop("rows") for row in cell["times"]]
    digests = {name: Program(step(name).source).digest for name in names}
    return {"protocol": PROTOCOL, "rows": rows, **found, "digests": digests}


def _time_cell(rows: int, cols: int, dtype: str, skipped: dict[str, str]) -> list[dict[str, Any]]:
    calls: dict[str, Call] = {}
    for name in STEPS[dtype]:
        operator = step(name)
        result = check_operator(operator, "cuda", (cols,))
        if not result.ok:
            raise NotAvailable(result.failures[0])
        calls[name] = kernel_call(operator, rows, cols)
    calls["torch"] = _torch
    calls |= _others(skipped)
    times = time_calls(step(STEPS[dtype][-1]), rows, cols, calls)
    return [
        {
            **{field: getattr(one, field) for field in ("name", "rows", "cols", "dtype", "bytes")},
            "us": round(one.us, 3),
            "copy_us": round(one.copy_us, 3),
        }
        for one in times
    ]


def _torch(x: Any, weight: Any, eps: float) -> Any:
    return torch.nn.functional.rms_norm(x, x.shape[1:], weight, eps)


def _others(skipped: dict[str, str]) -> dict[str, Call]:
    """Other people's kernels, those that are installed."""
    compiled = torch.compile(_torch)
    found: dict[str, Call] = {"torch.compile": lambda x, weight, eps: compiled(x, weight, eps)}
    try:
        from liger_kernel.transformers.functional import liger_rms_norm

        found["Liger"] = lambda x, weight, eps: liger_rms_norm(x, weight, eps, in_place=False)
    except ImportError:
        skipped["Liger"] = "liger-kernel is not installed"
    try:
        from quack.rmsnorm import rmsnorm

        found["QuACK"] = lambda x, weight, eps: rmsnorm(x, weight, eps=eps)
    except ImportError:
        skipped["QuACK"] = "quack-kernels is not installed"
    return found
