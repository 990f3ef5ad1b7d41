"""Executing a kernel on tensors: copy in, launch its steps, copy out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from softmax_lib.emulator import build, faults, tracing
from softmax_lib.emulator.launching import Geometry, check_sizes, launch, watchdog_s
from softmax_lib.emulator.memory import EmulatedArray, device_arrays
from softmax_lib.emulator.native import FAULT_ADDRESS, Fault
from softmax_lib.errors import IllegalAddress
from softmax_lib.registry import Kernel, Step

_MOST_RECHECKED = 1 << 24
"""Elements of x up to which a whole launch is repeated to find who wrote next to an array."""


def execute(
    kernel: Kernel,
    x: torch.Tensor,
    y: torch.Tensor,
    block_size: int,
    *,
    warp_size: int = 32,
    grid: int | None = None,
) -> None:
    """Run every step of `kernel` in the emulator: y = kernel(x).

    `x` and `y` are contiguous float32 CPU tensors of shape (rows, cols); `y` may be `x`. `grid`
    replaces the number of blocks that the kernel's launch facts give. When anything is raised
    (`KernelFault`, `CompileError`, `NotAvailable`, `BadInput`), `y` is untouched.
    """
    if x.numel() == 0:
        return
    check_sizes(block_size, warp_size)
    rows, cols = x.shape
    path = build.kernel_library(kernel.program(block_size, cols), kernel.steps, warp_size, False)
    with device_arrays(kernel, x, y) as arrays:
        execution = _Execution(kernel, path, arrays, rows, cols)
        for step in kernel.steps:
            blocks = step.blocks(rows, cols, block_size) if grid is None else grid
            execution.run(step, Geometry(blocks, block_size, warp_size))
        arrays["y"].copy_to(y)


class _Execution:
    """One kernel on one set of arrays."""

    def __init__(
        self, kernel: Kernel, path: Path, arrays: Mapping[str, EmulatedArray], rows: int, cols: int
    ):
        self.kernel, self.path, self.arrays = kernel, path, arrays
        self.rows, self.cols = rows, cols

    def run(self, step: Step, geometry: Geometry) -> None:
        """Launch a step; raise what went wrong."""
        fault = launch(self.path, step, geometry, self.arrays, self.rows, self.cols)
        if fault is not None:
            raise self._explain(fault, step, geometry)
        for array in self.arrays.values():
            element = array.damage()
            if element is not None:
                raise self._explain_damage(array, element, step, geometry)

    def _explain(self, fault: Fault, step: Step, geometry: Geometry) -> Exception:
        """What happened; of an illegal address a traced run of the same block knows more."""
        exact = None
        if fault.kind == FAULT_ADDRESS:
            exact = self._recheck(step, geometry.only(fault.block))
        return exact or faults.exception_for(fault, self.path, self.arrays, watchdog_s())

    def _explain_damage(
        self, array: EmulatedArray, element: int, step: Step, geometry: Geometry
    ) -> Exception:
        """A store has hit the few bytes between an array and its guard zone: whose was it?"""
        exact = None
        if self.rows * self.cols <= _MOST_RECHECKED:
            exact = self._recheck(step, geometry)
        side = "before the start" if element < 0 else "past the end"
        return exact or IllegalAddress(
            f"illegal address: a thread stored at {array.name}[{element}], {side} of its "
            f"{array.elements} elements."
        )

    def _recheck(self, step: Step, geometry: Geometry) -> Exception | None:
        return tracing.find_fault(self.kernel, step, geometry, self.arrays, self.rows, self.cols)
