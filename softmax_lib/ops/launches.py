"""Launches of the fast kernels, prepared once for a shape: a call writes addresses and asks the driver."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Sequence
from functools import cache

import torch

from softmax_lib.gpu.driver_api import (
    BALANCED,
    CLUSTER,
    CLUSTER_POLICY,
    COOPERATIVE,
    MOST_SHARED_BYTES_A_BLOCK,
    Config,
    attributes,
    driver,
    meaning,
    permit,
    require,
)
from softmax_lib.gpu.presence import arch_of
from softmax_lib.ops import slots
from softmax_lib.ops.binaries import function
from softmax_lib.ops.designs import Design, Task
from softmax_lib.ops.outlines import SLOTS, Outline, build_of, outline_design
from softmax_lib.ops.tables import table_of
from softmax_lib.worklog.errors import NotAvailable

_log = logging.getLogger("softmax_lib")
_NO_CONTEXT = frozenset({201, 709})  # of this thread, or one that is gone

Words = ctypes.Array[ctypes.c_uint64]
"""Arguments of a launch: three addresses, and the numbers of its outline."""


class Launch:
    """One kernel with its grid and all but the addresses of its arguments. One thread at a time.

    Where blocks write to each other, `meet` says at each call in which arguments they find what memory, and returns
    what has to be there until the kernel is queued.
    """

    def __init__(
        self,
        kernel: int,
        outline: Outline,
        device: int,
        meet: Callable[[Words], object] | None = None,
    ) -> None:
        self.device, self.meet = device, meet
        numbers, shared_bytes = outline.numbers, outline.shared_bytes
        self._values: Words = (ctypes.c_uint64 * (3 + len(numbers)))(0, 0, 0, *numbers)
        at, count = ctypes.addressof(self._values), len(self._values)
        self._addresses = (ctypes.c_void_p * count)(*(at + 8 * i for i in range(count)))
        more: dict[int, tuple[int, ...]] = {}
        more |= {CLUSTER: (outline.cluster, 1, 1)} if outline.cluster > 1 else {}
        more |= {CLUSTER_POLICY: (BALANCED,)} if outline.is_balanced else {}
        more |= {COOPERATIVE: (1,)} if outline.is_cooperative else {}
        said = self._attributes = attributes(more)
        blocks, threads = (outline.blocks, 1, 1), (outline.threads, 1, 1)
        self.config = Config(blocks, threads, shared_bytes, None, said, len(said))
        self.told = (kernel, outline.blocks, outline.threads, shared_bytes, bytes(said), numbers)
        self._kernel = ctypes.c_void_p(kernel)
        self._call = driver().cuLaunchKernelEx
        self._arguments = (ctypes.byref(self.config), self._kernel, self._addresses, None)

    def __call__(self, first: int, second: int, result: int) -> None:
        """Launch on the current stream of the GPU that the addresses are of, the current one.

        Raises `NotAvailable` when the driver refuses.
        """
        values = self._values
        values[0], values[1], values[2] = first, second, result
        _held = self.meet(values) if self.meet else None
        self.config.stream = torch._C._cuda_getCurrentRawStream(self.device)
        status = self._call(*self._arguments)
        if status:
            self._again(status)

    def put(self, at: int, word: int) -> None:
        """Another argument, from now on: an address that is none of the three."""
        self._values[at] = word

    def _again(self, status: int) -> None:
        if status in _NO_CONTEXT:
            torch.cuda.set_device(self.device)  # a new thread has none until it asks for one
            status = self._call(*self._arguments)
        if status:
            raise NotAvailable(f"The GPU does not take a launch: {meaning(status)}.")


def launch_of(outline: Outline, device: int) -> Launch:
    """Of a kernel that asks nothing of a GPU. Raises `NotAvailable` where it cannot be had."""
    return Launch(function(outline.build, device), outline, device)


def tell(task: object, design: object) -> None:
    """In the log, at DEBUG, once for each plan: which design serves what."""
    _log.debug("%s: %s", task, design)


def prepare(
    task: Task, strides: Sequence[int], device: int, scaling: Sequence[int] = ()
) -> Launch | None:
    """The launch for rows with these strides (of first, second and result, in numbers); for scores with a `scaling`.

    None where no kernel takes them, as scores that none holds.
    """
    for design in table_of(device).designs(task):
        if launch := prepare_design(design, task, strides, device, scaling):
            tell(task, design)
            return launch
    return None


def prepare_design(
    design: Design, task: Task, strides: Sequence[int], device: int, scaling: Sequence[int] = ()
) -> Launch | None:
    """The launch by this design, which fits; None where the GPU has no room for as many blocks at once."""
    if design.shared_bytes > _most_shared_bytes(device):
        return None
    if design.regime == "cluster" and arch_of(device) < 90:
        return None
    kernel = function(build_of(design, task), device)
    blocks_a_cluster = design.team if design.regime == "cluster" else 1
    require(permit(kernel, design.shared_bytes, blocks_a_cluster), "prepare a kernel")
    if design.regime == "grid":
        at_once = _rows_at_once(design, kernel, device)
        if not at_once:
            return None
        outline = outline_design(design, task, strides, scaling, at_once)

        def meet(values: Words) -> None:
            values[SLOTS] = slots.address(device, design.team, outline.blocks)

        return Launch(kernel, outline, device, meet)
    launch = Launch(kernel, outline_design(design, task, strides, scaling), device)
    if design.regime == "cluster" and not _has_room_for_a_cluster(launch, kernel):
        return None
    return launch


def _has_room_for_a_cluster(launch: Launch, kernel: int) -> bool:
    count = ctypes.c_int()
    asked = (ctypes.byref(count), ctypes.c_void_p(kernel), ctypes.byref(launch.config))
    return not driver().cuOccupancyMaxActiveClusters(*asked) and count.value > 0


def _rows_at_once(design: Design, kernel: int, device: int) -> int:
    """Rows that a grid can have under way."""
    a_multiprocessor, shared_bytes = ctypes.c_int(), ctypes.c_size_t(design.shared_bytes)
    block = (ctypes.c_void_p(kernel), design.threads, shared_bytes)
    ask = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor
    require(ask(ctypes.byref(a_multiprocessor), *block), "prepare a kernel")
    return a_multiprocessor.value * multiprocessors(device) // design.team


@cache
def multiprocessors(device: int) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


@cache
def _most_shared_bytes(device: int) -> int:
    found = ctypes.c_int()
    asked = (ctypes.byref(found), MOST_SHARED_BYTES_A_BLOCK, device)
    require(driver().cuDeviceGetAttribute(*asked), "tell of its shared memory")
    return found.value
