"""Which ranks have the shards of a row, that they were all asked for the same, and what they tell one another."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from softmax_lib.distributed.rooms import Room, known_room, room_of
from softmax_lib.ops.arguments import check_tensor
from softmax_lib.worklog.errors import BadInput, NotAvailable, RankLost, SoftmaxLibError, WrongType

TIMEOUT_S = 60.0
"""Seconds after which a rank that has not come is given up, unless a call says another number."""

_CALLS = ("softmax", "log_softmax", "topk", "argmax", "log_probabilities", "cross_entropy")
_DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
_REFUSED = -1

T = TypeVar("T")


@dataclass(frozen=True)
class Shards:
    """This rank's place among those of `group`, whose shards have `cols` columns each.

    A result that waits for its gradient keeps these, and not the group: one that is destroyed has to end its threads
    then, for at the process's end those would bring it down.
    """

    group: weakref.ReferenceType[dist.ProcessGroup]
    rank: int
    ranks: int
    cols: int
    timeout_s: float
    room: Room | None = None

    @property
    def first(self) -> int:
        """The column of the row that this rank's shard begins with."""
        return self.rank * self.cols

    def gather(self, mine: Tensor) -> Tensor:
        """What each rank has, (ranks, ...), the same on all of them. Raises `RankLost`; `NotAvailable` of no group."""
        group = self.group()
        if group is None:
            raise NotAvailable("The process group is destroyed; take gradients before.")
        return _gather(mine, group, self.ranks, self.timeout_s)


def agree(
    call: str, x: object, group: dist.ProcessGroup | None, timeout_s: float, check: Callable[[Tensor, int], int] | None = None,
) -> Shards:  # fmt: skip
    """This rank's place, once all ranks were found to call the same; `check` gives what else has to be one number on all.

    It gets the shard and the length of the whole row. Raises `NotAvailable` where there is no group, `RankLost` where
    a rank does not come, what is wrong with this rank's own arguments, and `BadInput` on all ranks where they differ.
    """
    room = known_room(x, group)
    if room is not None:  # kernels find out whether all ranks call the same
        assert isinstance(x, Tensor)
        if check:
            check(x, room.ranks * x.shape[-1])
        return Shards(
            weakref.ref(_group(group)), room.rank, room.ranks, x.shape[-1], timeout_s, room
        )
    group = _group(group)
    ranks, refused, said = dist.get_world_size(group), None, [_REFUSED, 0, 0, 0, 0]
    try:
        shard = _checked(x, group)
        rows, cols = shard.numel() // max(shard.shape[-1], 1), shard.shape[-1]
        more = check(shard, ranks * cols) if check else 0
        said = [_CALLS.index(call), rows, cols, _DTYPES.index(shard.dtype), more]
    except SoftmaxLibError as error:
        refused = error
    header = torch.tensor(said, device=_device(x, group))
    heard = _gather(header, group, ranks, timeout_s, is_polled=True).tolist()
    if refused is not None:
        raise refused
    _compare(heard)
    shards = Shards(weakref.ref(group), dist.get_rank(group), ranks, said[2], timeout_s)
    return replace(shards, room=room_of(shard, group, shards.gather))


def _group(group: dist.ProcessGroup | None) -> dist.ProcessGroup:
    if not dist.is_available() or not dist.is_initialized():
        raise NotAvailable("There is no process group; call torch.distributed.init_process_group in each process first, as torchrun starts them.")  # fmt: skip
    found = dist.group.WORLD if group is None else group
    if not isinstance(found, dist.ProcessGroup):
        raise WrongType(f"group is {found!r}; it has to be a process group that this rank is in.")
    return found


def _checked(x: object, group: dist.ProcessGroup) -> Tensor:
    check_tensor("x_shard", x)
    assert isinstance(x, Tensor)
    if x.dtype not in _DTYPES:
        raise WrongType(
            f"x_shard is {x.dtype}; it has to be one of {', '.join(map(str, _DTYPES))}."
        )
    if not x.dim():
        raise BadInput("x_shard has no dimension; its last one is cut into shards.")
    if x.device.type not in _backends(group):
        kinds = " and ".join(_backends(group))
        raise BadInput(f"x_shard is on {x.device}; this group's backend is for {kinds}.")
    return x


def _backends(group: dist.ProcessGroup) -> dict[str, str]:
    """By kind of device: {"cuda": "nccl"}."""
    told = dist.get_backend_config(group)
    return dict(one.split(":") for one in told.split(",")) if ":" in told else {"cpu": told}


def _device(x: object, group: dist.ProcessGroup) -> torch.device:
    """Of what is told beside tensors: a CPU where the group has a backend for one."""
    if "cpu" in _backends(group):
        return torch.device("cpu")
    if isinstance(x, Tensor) and x.is_cuda:
        return x.device
    return torch.device("cuda", torch.cuda.current_device())


def _compare(heard: Sequence[Sequence[int]]) -> None:
    refusing = [rank for rank, (call, *_) in enumerate(heard) if call == _REFUSED]
    if refusing:
        raise BadInput(f"Rank {refusing[0]} refused its arguments, and its own error says why.")
    told: list[tuple[str, Callable[[int], Any]]] = [
        ("called {}", _CALLS.__getitem__),
        ("has {} rows", int),
        ("has a shard of {} columns", int),
        ("has {}", _DTYPES.__getitem__),
        ("was asked for {}", int),
    ]
    for n, (words, name) in enumerate(told):
        for rank, one in enumerate(heard):
            if one[n] != heard[0][n]:
                here, there = (words.format(name(that[n])) for that in (heard[0], one))
                hint = " Shards are of one length; pad the last with -inf." if n == 2 else ""
                raise BadInput(
                    f"Rank 0 {here}, and rank {rank} {there}; all have to do the same.{hint}"
                )


def _gather(
    mine: Tensor, group: dist.ProcessGroup, ranks: int, timeout_s: float, is_polled: bool = False
) -> Tensor:
    with _telling(timeout_s):
        made = mine.new_empty((ranks, *mine.shape))
        parts = list(made.unbind(0))
        work = dist.all_gather(parts, mine.contiguous(), group=group, async_op=True)
        if not mine.is_cuda:
            work.wait(timedelta(seconds=timeout_s))
        elif is_polled:
            _poll(work, timeout_s)
        else:
            work.wait()  # of the stream, not of the host
    return made


def _poll(work: dist.Work, timeout_s: float) -> None:
    """Until it is done, at most so long: NCCL's own patience ends with the process."""
    end = time.monotonic() + timeout_s
    while not work.is_completed():
        if time.monotonic() > end:
            raise RuntimeError("NCCL is still waiting")
        time.sleep(1e-5)
    work.wait()


@contextmanager
def _telling(timeout_s: float) -> Any:
    try:
        yield
    except RuntimeError as error:
        why = str(error).strip().splitlines()[0]
        raise RankLost(
            f"A rank is gone, or has not come within {timeout_s:g} s; make a new process group to go on. ({why})"
        ) from error
