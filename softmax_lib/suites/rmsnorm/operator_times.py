"""The time of a reader's own operator beside others and a copy of as many bytes, by the protocol of `timing`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from softmax_lib.gpu.calls import launch
from softmax_lib.gpu.facts import today
from softmax_lib.records.measurement import Case
from softmax_lib.suites import timing
from softmax_lib.suites.rmsnorm.record import OperatorTime, OperatorTimes
from softmax_lib.worklog.checking import check_operator, place
from softmax_lib.worklog.errors import BadInput, NotAvailable
from softmax_lib.worklog.operators import Operator, named

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
    return OperatorTimes(
        OperatorTime(name, rows, cols, operator.result_dtype, bytes_, time, copy_us, source)
        for name, time in us.items()
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
    count = max(1, timing.pairs_needed(operator.bytes_moved(rows, cols), l2_bytes))

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
