"""Kernels that meet those of other ranks in memory that all their GPUs reach, while rows stay on chip."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
import torch.distributed as dist
from torch import Tensor

from softmax_lib.engine.source import WARP
from softmax_lib.gpu.driver_api import permit, require
from softmax_lib.ops.arguments import DTYPES
from softmax_lib.ops.binaries import function
from softmax_lib.ops.designs import CUDA_TYPES, Design, Task
from softmax_lib.ops.launches import Launch, multiprocessors
from softmax_lib.ops.outlines import Build, Outline
from softmax_lib.ops.plans import dtype_name, layout, needs_edges, row_stride
from softmax_lib.worklog.errors import BadInput, RankLost

MOST_RANKS = 32
"""A lane of a warp tells each rank, and hears of it."""
BLOCKS_AT_MOST = 2304
"""That meet: ROOM_BLOCKS of ranks.cuh."""
BLOCKS_AN_SM = 16
"""Of a warp each, for the first numbers of rows."""
SETS, SLOT_BYTES = 2, 16
CALLED = 256
"""What sharded.cu adds where a rank is there and called something else."""

HELD = (
    *(Design("block", 1, threads) for threads in (64, 128, 256)),
    Design("block", 1, 512, shared=8),
    Design("block", 1, 1024, shared=12),
)
"""Who holds a shard, the first that can; two blocks of 512 on a multiprocessor hold 32,768 floats each."""
STREAMED = Design("block", 1, 1024, streamed=True)


_PAIRS, _TOLD = 8, 9
"""Of sharded_first.cu's arguments those that say where these are."""
_WHOLES, _GRADS, _THREADS = 7, 8, 512
"""The same of sharded_loss.cu's, and its threads."""


def design_of(task: Task) -> Design:
    """For shards of this length, wherever they begin: all ranks have as many blocks."""
    for design in HELD:
        fitting = design.fit(task)
        if fitting:
            return fitting
    return STREAMED


@dataclass
class Room:
    """Memory in which this rank's blocks meet those of `ranks` in all: of each rank where its slots are, as this GPU sees them.

    `held` is what has to stay while it is used. Calls follow one another, on whatever stream.
    """

    device: int
    rank: int
    ranks: int
    addresses: Sequence[int]
    held: object = None

    def __post_init__(self) -> None:
        place = torch.device("cuda", self.device)
        self.slots = torch.tensor(self.addresses, dtype=torch.int64, device=place)
        self.turns = torch.zeros(BLOCKS_AT_MOST, dtype=torch.int64, device=place)
        self.trouble = torch.zeros(1, dtype=torch.int32, pin_memory=True)
        self.launches: dict[tuple, Launch] = {}
        self.stream = -1  # that the last call went to
        self.last: torch.cuda.Stream | None = None
        self._trouble = ctypes.c_uint.from_address(self.trouble.data_ptr())

    def run(
        self, first: Tensor, second: Tensor | None, result: Tensor, log: bool, timeout_s: float
    ) -> None:
        """Softmax, or its logarithm, of sharded rows; with `second`, the gradient for a result `first`.

        Rows of all tensors lie in one piece. Raises what `check` does, of calls before.
        """
        self.check(timeout_s)
        key = (log, timeout_s, *(layout(one) for one in (first, second, result) if one is not None))
        launch = self.launches.get(key)
        if launch is None:
            launch = self.launches[key] = self._prepare(first, second, result, log, timeout_s)
        self._in_turn()
        launch(first.data_ptr(), 0 if second is None else second.data_ptr(), result.data_ptr())

    def _prepare(
        self, first: Tensor, second: Tensor | None, result: Tensor, log: bool, timeout_s: float
    ) -> Launch:
        cols = first.shape[-1]
        rows = [(one, row_stride(one, one.dim() - 1)) for one in (first, second, result) if one is not None]  # fmt: skip
        strides = [stride for _, stride in rows]
        edges = needs_edges(cols * first.itemsize, rows)  # type: ignore[arg-type]
        task = Task(first.numel() // cols, cols, dtype_name(first), dtype_name(result), second is not None, log, True)  # fmt: skip
        design = design_of(task)
        at_once = design.blocks_an_sm(task)
        blocks = self._blocks(task.rows, at_once)
        row = design.row(replace(task, edges=edges))
        build = Build("sharded", f"softmax_sharded<{row}, {design.threads}, {at_once}>", task.flags)
        strides = [*strides[:-1], *[0] * (3 - len(strides)), strides[-1]]
        called = (str(task), cols, task.to, blocks)
        numbers = (task.rows, cols, *strides, *self._words(called, cols, timeout_s))
        outline = Outline(build, blocks, design.threads, numbers, design.shared_bytes, is_cooperative=True)  # type: ignore[arg-type]  # fmt: skip
        return self._launch(outline)

    def find(
        self, x: Tensor, places: Tensor, pairs: Tensor, values: Tensor, told: Tensor, timeout_s: float, log: bool = False
    ) -> None:  # fmt: skip
        """Of whole rows the softmax `values` (..., k) of the k first, and `told` where they are.

        x is this rank's shards, `places` (..., few) where its own few first are, as `pairs` says of its rows. With `log`
        the logarithm at one column a row, which is `places`; `told` (..., 2) are each row's maximum and the logarithm of
        its sum. Raises what `check` does, of calls before.
        """
        self.check(timeout_s)
        key = (log, timeout_s, *(layout(one) for one in (x, places, values)))
        launch = self.launches.get(key)
        if launch is None:
            launch = self.launches[key] = self._prepare_find(x, places, values, log, timeout_s)
        launch.put(_PAIRS, pairs.data_ptr())
        launch.put(_TOLD, told.data_ptr())
        self._in_turn()
        launch(x.data_ptr(), places.data_ptr(), values.data_ptr())

    def _prepare_find(
        self, x: Tensor, places: Tensor, values: Tensor, log: bool, timeout_s: float
    ) -> Launch:
        cols, k, rows = x.shape[-1], values.shape[-1], x.numel() // x.shape[-1]
        blocks = self._blocks(rows, BLOCKS_AN_SM)
        of, to = (CUDA_TYPES[dtype_name(one)] for one in (x, values))
        deep = next(deep for deep in (1, 2, 4) if k <= WARP * deep)
        build = Build("sharded_first", f"softmax_sharded_first<{of}, {to}, {deep}, {str(log).lower()}>")  # fmt: skip
        words = self._words((rows, cols, k, of, to, log, blocks), cols, timeout_s)
        stride = row_stride(x, x.dim() - 1)
        numbers = (rows, cols, stride, places.shape[-1], k, 0, 0, *words)
        return self._launch(Outline(build, blocks, WARP, numbers, is_cooperative=True))  # type: ignore[arg-type]

    def lose(self, x: Tensor, tokens: Tensor, made: Tensor, wholes: Tensor, grads: Tensor) -> None:
        """The gradient `made` of such logarithms at `tokens`, whose own are `grads` in float32; nobody is met."""
        key = ("lose", layout(x), layout(made))
        launch = self.launches.get(key)
        if launch is None:
            cols = x.shape[-1]
            build = Build("sharded_loss", f"softmax_sharded_loss<{CUDA_TYPES[dtype_name(x)]}, {_THREADS}>")  # fmt: skip
            rows, stride = x.numel() // cols, row_stride(x, x.dim() - 1)
            numbers = (rows, cols, stride, self.rank * cols, 0, 0)
            launch = self.launches[key] = self._launch(Outline(build, rows, _THREADS, numbers))  # type: ignore[arg-type]  # fmt: skip
        launch.put(_WHOLES, wholes.data_ptr())
        launch.put(_GRADS, grads.data_ptr())
        launch(x.data_ptr(), tokens.data_ptr(), made.data_ptr())

    def _blocks(self, rows: int, at_once: int) -> int:
        """Of a launch: the same on all ranks, whatever their memory's layout."""
        return min(rows, at_once * multiprocessors(self.device), BLOCKS_AT_MOST)

    def _words(self, called: tuple, cols: int, timeout_s: float) -> tuple[int, ...]:
        """`Ranks` of ranks.cuh."""
        places = (self.slots, self.turns, self.turns[-1:], self.trouble)
        told = (self.rank, self.ranks, number_of(called), int(1e9 * timeout_s), self.ranks * cols)
        return (*(one.data_ptr() for one in places), *told)

    def _launch(self, outline: Outline) -> Launch:
        kernel = function(outline.build, self.device)
        require(permit(kernel, outline.shared_bytes, 1), "prepare a kernel")
        return Launch(kernel, outline, self.device)

    def _in_turn(self) -> None:
        """After the calls before, where these went to another stream."""
        stream = torch._C._cuda_getCurrentRawStream(self.device)
        if stream == self.stream or torch.cuda.is_current_stream_capturing():
            return
        now = torch.cuda.current_stream(self.device)
        if self.last is not None:
            now.wait_stream(self.last)
        self.stream, self.last = stream, now

    def check(self, timeout_s: float) -> None:
        """Raise `RankLost` or `BadInput` where a call before was left alone; its results are NaN."""
        found = self._trouble.value
        if not found:
            return
        rank = found % CALLED - 1
        if found >= CALLED:
            raise BadInput(f"Rank {rank} called something else than rank {self.rank}, or with other rows; make a new process group to go on.")  # fmt: skip
        raise RankLost(f"Rank {rank} is gone, or has not come within {timeout_s:g} s; make a new process group to go on. Results since are NaN.")  # fmt: skip


def in_rows(x: Tensor) -> Tensor:
    """x, or a copy, with its rows in one piece and one step from each to the next."""
    return x if x.dim() and row_stride(x, x.dim() - 1) is not None else x.contiguous()


def number_of(words: object) -> int:
    """63 bits that differ where words do."""
    return int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:8], "big") >> 1


def slot_bytes(ranks: int) -> int:
    """Of a rank's slots."""
    return (SETS * ranks * (1 + WARP) + 1) * SLOT_BYTES * BLOCKS_AT_MOST


_rooms: dict[tuple[dist.ProcessGroup, int], Room | None] = {}


def known_room(x: object, group: dist.ProcessGroup | None) -> Room | None:
    """The one that ranks of this group have for calls with x, if they have met before and x is for a kernel."""
    if not _rooms or not isinstance(x, Tensor) or not x.is_cuda or x.dtype not in DTYPES:
        return None
    of = group or dist.group.WORLD
    return _rooms.get((of, x.get_device())) if of else None


def room_of(x: Tensor, group: dist.ProcessGroup, gather: Callable[[Tensor], Tensor]) -> Room | None:
    """The same for the first call with x, of which all ranks take part; None where their GPUs don't reach one another."""
    if not x.is_cuda or x.dtype not in DTYPES:
        return None
    key = (group, x.get_device())
    if key not in _rooms:
        made = _make(key[1], group)
        says = torch.tensor([made is not None], device=x.device)
        _rooms[key] = made if gather(says).all() else None  # which waits until all slots are zeros
    return _rooms[key]


def _make(device: int, group: dist.ProcessGroup) -> Room | None:
    ranks = dist.get_world_size(group)
    if ranks > MOST_RANKS:
        return None
    try:
        import torch.distributed._symmetric_memory as symmetric

        slots = symmetric.empty(slot_bytes(ranks), dtype=torch.uint8, device=torch.device("cuda", device))  # fmt: skip
        slots.zero_()
        handle = symmetric.rendezvous(slots, group)
        torch.cuda.synchronize(device)
        return Room(device, dist.get_rank(group), ranks, list(handle.buffer_ptrs), (slots, handle))
    except (ImportError, RuntimeError):
        return None


def synchronize(group: dist.ProcessGroup | None = None) -> None:
    """Wait for this rank's GPUs, and raise `RankLost` or `BadInput` where a call of this group was left alone."""
    for (of, device), room in _rooms.items():
        if of == (group or dist.group.WORLD) and room is not None:
            torch.cuda.synchronize(device)
            room.check(float("nan"))
