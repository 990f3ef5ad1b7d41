"""The time of a reader's own operator beside others and a copy of as many bytes; and the kernels of the page Your own kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from softmax_lib.engine.source import Program
from softmax_lib.gpu.calls import launch
from softmax_lib.gpu.facts import today
from softmax_lib.records.measurement import Case
from softmax_lib.suites import timing
from softmax_lib.suites.cells import Progress, run_cells
from softmax_lib.suites.rmsnorm.record import OperatorTime, OperatorTimes
from softmax_lib.worklog.checking import check_operator, place
from softmax_lib.worklog.errors import BadInput, NotAvailable
from softmax_lib.worklog.files import KERNEL_FOLDER
from softmax_lib.worklog.operators import Operator, named, read_operator

SAMPLE_ROWS = 64
FAR_OFF = 0.02
"""Of the largest number due: another program's result may be off by so much, and is still the same operator."""

Call = Callable[..., Any]
"""A function of some of an operator's names; it gets tensors and numbers, and returns results or writes outputs."""


def measure_operator(
    operator: Operator, rows: int, cols: int, beside: Mapping[str, Call]
) -> OperatorTimes:
    """Times of an operator's kernel, and of the functions `beside` it.

    Raises `BadInput` for a kernel that is wrong, a function that computes something else, or a matrix without
    elements, and `NotAvailable` where the memory is too small.
    """
    if rows < 1 or cols < 1 or cols % operator.vector:
        raise BadInput(f"{operator.name} takes no matrix of shape ({rows}, {cols}).")
    result = check_operator(operator, "cuda", (cols,))
    if not result.ok:
        raise BadInput(f"It is not timed, for it is wrong: {result.failures[0]}.")
    for name, call in beside.items():
        _check_same(operator, name, call, cols)
    calls = {operator.name: kernel_call(operator, rows, cols), **beside}
    try:
        return time_calls(operator, rows, cols, calls)
    except torch.OutOfMemoryError:
        raise NotAvailable(f"The memory of this GPU has no room for ({rows}, {cols}).") from None


def kernel_call(operator: Operator, rows: int, cols: int) -> Call:
    """A launch of the operator's kernel on arrays by their names."""
    return lambda **arrays: launch(
        **operator.launch_words(
            {n: a for n, a in arrays.items() if n in (*operator.inputs, *operator.outputs)},
            rows, cols,
        )
    )  # fmt: skip


def time_calls(
    operator: Operator, rows: int, cols: int, calls: Mapping[str, Call]
) -> OperatorTimes:
    """Times of `calls` on the operator's arrays, taking turns. Raises torch's OutOfMemoryError."""
    numbers = {**operator.scalars, "rows": rows, "cols": cols}
    bytes_ = operator.bytes_moved(rows, cols)
    halves, sets = timing.pairs(_half(bytes_)), _sets(operator, rows, cols)
    # whoever comes first finds an idle GPU, and is slower: a copy, of which there are two
    graphs: dict[Any, timing.Graph] = {
        case: timing.capture(copy, halves) for case, copy in timing.copies(_half(bytes_)).items()
    }
    copies = list(graphs)
    graphs |= {
        name: timing.capture(partial(_call, call, numbers), sets) for name, call in calls.items()
    }
    us = {one: found.median_us for one, found in timing.time_graphs(graphs).items()}
    copy_us = min(us.pop(case) for case in copies)
    source = f"live on {torch.cuda.get_device_name()}, {today()}"
    made = partial(OperatorTime, dtype=operator.result_dtype, bytes=bytes_, source=source)
    return OperatorTimes(
        made(name, rows=rows, cols=cols, us=time, copy_us=copy_us) for name, time in us.items()
    )


def _call(call: Call, numbers: dict[str, Any], inputs: dict, outputs: dict) -> Any:
    return call(**named("A function beside it", call, inputs | outputs | numbers))


def _check_same(operator: Operator, name: str, call: Call, cols: int) -> None:
    sizes = {"rows": SAMPLE_ROWS, "cols": cols}
    inputs = operator.make_inputs(SAMPLE_ROWS, cols)
    due = next(iter(operator.due(inputs, SAMPLE_ROWS, cols).values()))
    tensors = {
        what: place(array, "cuda", operator.dtype_of(what)) for what, array in inputs.items()
    }
    given = named(name, call, {**tensors, **operator.scalars, **sizes})
    try:
        found = call(**given)
    except (RuntimeError, TypeError, ValueError) as error:
        said = str(error).splitlines()[0]
        raise BadInput(f"{name} raised {type(error).__name__}: {said}") from None
    got = found[0] if isinstance(found, (tuple, list)) else found
    if not isinstance(got, torch.Tensor) or tuple(got.shape) != due.shape:
        shape = tuple(got.shape) if hasattr(got, "shape") else f"a {type(got).__name__}"
        raise BadInput(f"{name} returns {shape}; {operator.name} makes {due.shape}.")
    far = np.abs(got.detach().double().cpu().numpy() - due).max()
    if not far <= FAR_OFF * np.abs(due).max():
        raise BadInput(
            f"{name} computes something else than the reference: it is off by {far:.3g}."
        )


def _half(bytes_: int) -> Case:
    """What a copy of half of `bytes_` reads, in words of 16 bytes; a copy is never long enough to be timed alone."""
    return Case("", 1, max(1, round(bytes_ / 32)) * 4)


def _sets(operator: Operator, rows: int, cols: int) -> timing.Walk:
    """Inputs and outputs of an operator, so many of each that L2 is cold when one comes again."""
    torch.manual_seed(0)
    l2_bytes = torch.cuda.get_device_properties().L2_cache_size
    count = timing.pairs_needed(operator.bytes_moved(rows, cols), l2_bytes)

    def make(names: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        return {
            name: torch.randn(operator.sizes(name, rows, cols), device="cuda").to(
                getattr(torch, operator.dtype_of(name))
            )
            for name in names
        }

    inputs = [make(operator.inputs) for _ in range(count)]

    def empty_l2() -> None:
        """Read all inputs: then L2 holds the last ones."""
        for one in inputs:
            for array in one.values():
                array.sum()

    return timing.Walk(inputs, [make(operator.outputs) for _ in range(count)], empty_l2)


# ---- the page Your own kernel: each kernel beside the others, torch, Liger and a copy

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
        lambda cols: cols // 16 if name in FITTED else 32 if is_naive else 256,
        {
            "inputs": {"x": "rows cols", "weight": "cols"},
            "scalars": {"eps": EPS},
            "leave_out": ("both ends of float32", "all near -3e38"),
            "vector": 512 if name in FITTED else 4,
        },
    )


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
