"""Launches of the fast kernels, prepared once for a shape: a call writes addresses and asks the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache

import torch

from softmax_lib.errors import NotAvailable
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
from softmax_lib.ops.binaries import Build, function
from softmax_lib.ops.designs import Design, Strided, Task, Tile
from softmax_lib.ops.tables import strided_design, table_of

_NO_CONTEXT = frozenset({201, 709})  # of this thread, or one that is gone
SLOTS = 8
"""Of a grid's arguments the one that says where its slots are."""


class Launch:
    """One kernel with its grid and all but the addresses of its arguments. One thread at a time."""

    def __init__(
        self,
        kernel: int,
        blocks: int,
        threads: int,
        numbers: Sequence[int],
        device: int,
        shared_bytes: int = 0,
        said: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self.device = device
        self._values = (ctypes.c_uint64 * (3 + len(numbers)))(0, 0, 0, *numbers)
        at = ctypes.addressof(self._values)
        self._addresses = (ctypes.c_void_p * len(self._values))(
            *(at + 8 * i for i in range(len(self._values)))
        )
        self._attributes = attributes(said or {})
        self.config = Config(
            (blocks, 1, 1),
            (threads, 1, 1),
            shared_bytes,
            None,
            self._attributes,
            len(self._attributes),
        )
        self.told = (kernel, blocks, threads, shared_bytes, bytes(self._attributes), tuple(numbers))
        self._kernel = ctypes.c_void_p(kernel)
        self._call = driver().cuLaunchKernelEx
        self._arguments = (ctypes.byref(self.config), self._kernel, self._addresses, None)

    def __call__(self, first: int, second: int, result: int) -> None:
        """Launch on the current stream of the GPU that the addresses are of, the current one.

        Raises `NotAvailable` when the driver refuses.
        """
        values = self._values
        values[0], values[1], values[2] = first, second, result
        self.config.stream = torch._C._cuda_getCurrentRawStream(self.device)
        status = self._call(*self._arguments)
        if status:
            self._again(status)

    def _again(self, status: int) -> None:
        if status in _NO_CONTEXT:
            torch.cuda.set_device(self.device)  # a new thread has none until it asks for one
            status = self._call(*self._arguments)
        if status:
            raise NotAvailable(f"The GPU does not take a launch: {meaning(status)}.")


class GridLaunch(Launch):
    """One whose blocks write to each other."""

    team: int

    def __call__(self, first: int, second: int, result: int) -> None:
        self._values[SLOTS] = slots.address(self.device, self.team, self.config.grid[0])
        super().__call__(first, second, result)


def prepare(task: Task, strides: Sequence[int], device: int, scaling: Sequence[int] = ()) -> Launch:
    """The launch for rows with these strides (of first, second and result, in numbers); for scores with a `scaling`.

    Raises `NotAvailable` where no kernel takes them.
    """
    launch = prepare_if_held(task, strides, device, scaling)
    if launch is None:
        raise NotAvailable(f"This GPU takes no kernel for rows of {task.cols} numbers.")
    return launch


def prepare_if_held(
    task: Task, strides: Sequence[int], device: int, scaling: Sequence[int] = ()
) -> Launch | None:
    """The same; None for scores that no kernel holds, which none reads twice."""
    for design in table_of(device).designs(task):
        launch = prepare_design(design, task, strides, device, scaling)
        if launch:
            return launch
    return None


def prepare_strided(task: Task, outer: int, inner: int, device: int) -> Launch:
    """The launch for a contiguous (outer, cols, inner) tensor."""
    design: Strided = strided_design(task, inner)
    kernel = function(Build("strided", design.expression(task), task.flags), device)
    numbers = (task.cols, inner)
    return Launch(kernel, design.blocks(outer, inner), design.threads, numbers, device)


def prepare_tile(design: Tile, task: Task, device: int) -> Launch:
    """The launch for short rows, one behind another, whose tensors begin at 16 bytes."""
    kernel = function(Build("tile", design.expression(task), task.flags), device)
    blocks, shared_bytes = design.blocks(task.rows), design.shared_bytes(task)
    return Launch(kernel, blocks, design.threads, (task.rows, task.cols), device, shared_bytes)


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
    place_of_slots = (0,) if design.regime == "grid" else ()
    numbers = (task.rows, task.cols, *strides, *place_of_slots, *scaling)
    if design.regime == "cluster":
        return _prepare_cluster(design, task.rows, kernel, numbers, device)
    if design.regime == "grid":
        return _prepare_grid(design, task.rows, kernel, numbers, device)
    return Launch(
        kernel, design.blocks(task.rows), design.threads, numbers, device, design.shared_bytes
    )


def build_of(design: Design, task: Task) -> Build:
    """The kernel of a design that fits."""
    return Build(design.regime, design.expression(task), task.flags)


def _prepare_cluster(
    design: Design, rows: int, kernel: int, numbers: Sequence[int], device: int
) -> Launch | None:
    said: dict[int, tuple[int, ...]] = {CLUSTER: (design.team, 1, 1)}
    if design.balanced:
        said[CLUSTER_POLICY] = (BALANCED,)
    launch = Launch(
        kernel, design.blocks(rows), design.threads, numbers, device, design.shared_bytes, said
    )
    count = ctypes.c_int()
    status = driver().cuOccupancyMaxActiveClusters(
        ctypes.byref(count), ctypes.c_void_p(kernel), ctypes.byref(launch.config)
    )
    return launch if not status and count.value else None


def _prepare_grid(
    design: Design, rows: int, kernel: int, numbers: Sequence[int], device: int
) -> Launch | None:
    a_multiprocessor = ctypes.c_int()
    status = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(a_multiprocessor),
        ctypes.c_void_p(kernel),
        design.threads,
        ctypes.c_size_t(design.shared_bytes),
    )
    require(status, "prepare a kernel")
    at_once = a_multiprocessor.value * multiprocessors(device) // design.team
    if not at_once:
        return None
    blocks = design.blocks(min(rows, at_once))
    said = {COOPERATIVE: (1,)}
    launch = GridLaunch(kernel, blocks, design.threads, numbers, device, design.shared_bytes, said)
    launch.team = design.team
    return launch


@cache
def multiprocessors(device: int) -> int:
    """Of a GPU."""
    return torch.cuda.get_device_properties(device).multi_processor_count


@cache
def _most_shared_bytes(device: int) -> int:
    found = ctypes.c_int()
    asked = (ctypes.byref(found), MOST_SHARED_BYTES_A_BLOCK, device)
    require(driver().cuDeviceGetAttribute(*asked), "tell of its shared memory")
    return found.value
