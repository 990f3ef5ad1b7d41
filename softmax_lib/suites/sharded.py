"""Rows that are cut over 1, 2, 4 and 8 GPUs of a machine: `softmax_lib.distributed` beside what torch's collectives make."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from softmax_lib import distributed
from softmax_lib.ops.functional import softmax
from softmax_lib.suites.cells import TOO_LARGE, Progress, run_cells
from softmax_lib.suites.times import CONTENDERS, RANKS, UNTOLD
from softmax_lib.worklog.errors import NotAvailable

PROTOCOL = (
    "Microseconds of one call on the slowest rank: median of calls between two events, of matrices that L2 no longer holds. "
    "The GPUs begin each call together, and their hosts are ahead of them, unless a call waits for its GPU: then that is part of "
    "its time. A cross-entropy is timed with its gradient. copy_us copies one shard, read_us takes its maximum, on all GPUs at once."
)
ROWS, COLS, DTYPES, K = (4096, 1024, 64), (32768, 16032), ("float32", "bfloat16"), 8
OPERATORS = ("softmax", "topk", "log_probabilities", "cross_entropy")
OURS, ALL_REDUCES, GATHERED, LIGER = CONTENDERS
ALONE = "softmax() of the shard"
"""What ours takes with nothing exchanged."""

CALLS, LONG_CALLS, LONG_US, WARM = 25, 7, 5000.0, 3
WALK_BYTES, HEAD_START_CYCLES, PATIENCE_S = 500_000_000, 1_000_000, 300
"""Of matrices, so that L2 is cold; that a GPU sleeps before each call, so that its host is ahead; of NCCL with a rank."""

Call = Callable[[Tensor, Tensor], Any]
Reduce = Callable[[Tensor, Any], Tensor]
_ENVIRONMENT = {"TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NCCL_NVLS_ENABLE": "0"}


def run_suite(progress: Progress) -> dict[str, Any]:
    """All that was timed with each number of this machine's GPUs, as JSON has it.

    `rows` has for each number `{"ranks", "times"}`, of which each is
    `{"operator", "rows", "cols", "dtype", "us", "copy_us", "read_us", "bits"}`; the rest is as in `cells.run_cells`. Raises
    `NotAvailable` where ranks fail.
    """
    many = [ranks for ranks in RANKS if ranks <= torch.cuda.device_count()]
    timed = run_cells(many, _start, progress)
    return {"protocol": PROTOCOL, **timed}


def _start(ranks: int, skipped: dict[str, str]) -> dict[str, Any]:
    """Start so many processes by torchrun, and read what rank 0 of them has written."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "times.json"
        words = ["torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}", "-m", __name__, path]  # fmt: skip
        done = subprocess.run([sys.executable, "-m", *map(str, words)], env=os.environ | _ENVIRONMENT, text=True, capture_output=True)  # fmt: skip
        if not path.exists():
            lines = [line for line in done.stderr.splitlines() if "Error" in line] or [done.stderr]
            raise NotAvailable(f"{ranks} ranks were not timed: {lines[0].strip()[-500:]}")
        found = json.loads(path.read_text())
    skipped |= found["skipped"]
    return {"ranks": ranks, "times": found["times"]}


# ---- contenders: each gives a tuple of tensors, of a shard and a token a row; a loss with its gradient


def contenders(operator: str) -> dict[str, Call]:
    """Those of an operator by name. Calls raise `NotAvailable` where somebody is not installed."""
    eager = partial(_eager, operator, reduce=_all_reduce)
    found = {OURS: partial(_ours, operator), ALL_REDUCES: eager, GATHERED: partial(_gathered, operator)}  # fmt: skip
    return found | ({LIGER: _liger} if operator == "cross_entropy" else {})


def _ours(operator: str, x: Tensor, tokens: Tensor) -> tuple[Tensor, ...]:
    if operator == "topk":
        return tuple(distributed.topk(x, K))
    if operator == "cross_entropy":
        return _with_gradient(distributed.cross_entropy, x, tokens)
    return (getattr(distributed, operator)(*((x,) if operator == "softmax" else (x, tokens))),)


def _with_gradient(loss_of: Call, x: Tensor, *more: Any) -> tuple[Tensor, ...]:
    leaf = x.detach().requires_grad_()
    loss = loss_of(leaf, *more)
    loss.backward()
    assert leaf.grad is not None
    return loss.detach(), leaf.grad


def _all_reduce(x: Tensor, how: Any) -> Tensor:
    dist.all_reduce(x, how)
    return x


def _gather(x: Tensor) -> Tensor:
    """The shards of all ranks side by side."""
    whole = x.new_empty((dist.get_world_size() * len(x), x.shape[1]))
    dist.all_gather_into_tensor(whole, x.contiguous())
    return torch.cat(whole.chunk(dist.get_world_size()), 1)


def _mine(whole: Tensor) -> Tensor:
    return whole.chunk(dist.get_world_size(), 1)[dist.get_rank()].contiguous()


def _gathered(operator: str, x: Tensor, tokens: Tensor) -> tuple[Tensor, ...]:
    """torch, of the whole row on every rank."""
    whole = _gather(x)
    if operator == "softmax":
        return (_mine(whole.softmax(-1)),)
    if operator == "topk":
        return tuple(whole.softmax(-1).topk(K))
    if operator == "log_probabilities":
        return (whole.float().log_softmax(-1).gather(1, tokens[:, None])[:, 0],)
    loss, grad = _with_gradient(functional.cross_entropy, whole, tokens)
    return loss, _mine(grad)


def _eager(operator: str, x: Tensor, tokens: Tensor, reduce: Reduce) -> tuple[Tensor, ...]:
    """Two all-reduces as Megatron-LM has them, and a third of the token's score."""
    if operator == "cross_entropy":
        return _with_gradient(_EagerLoss.apply, x, tokens, reduce)
    if operator == "topk":
        best, first = x.topk(K), dist.get_rank() * x.shape[1]
        numbers, order = _gather(best.values).topk(K)
        top, terms, total = _exponentials(x, reduce)
        return ((numbers - top).exp_() / total).to(x.dtype), _gather(best.indices + first).gather(1, order)  # fmt: skip
    top, terms, total = _exponentials(x, reduce)
    if operator == "softmax":
        return (terms.div_(total).to(x.dtype),)
    return ((_score(x, *_places(x, tokens), reduce) - top - total.log())[:, 0],)


def _exponentials(x: Tensor, reduce: Reduce) -> tuple[Tensor, Tensor, Tensor]:
    """The row's maximum, exponentials of scores less it, and their sum."""
    x = x.float()
    top = reduce(x.amax(-1, keepdim=True), dist.ReduceOp.MAX)
    terms = (x - top).exp_()
    return top, terms, reduce(terms.sum(-1, keepdim=True), dist.ReduceOp.SUM)


def _places(x: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Where tokens lie in this shard, (rows, 1), and which don't."""
    own = (tokens - dist.get_rank() * x.shape[1])[:, None]
    away = (own < 0) | (own >= x.shape[1])
    return own.masked_fill(away, 0), away


def _score(x: Tensor, own: Tensor, away: Tensor, reduce: Reduce) -> Tensor:
    return reduce(x.gather(1, own).float().masked_fill_(away, 0), dist.ReduceOp.SUM)


class _EagerLoss(torch.autograd.Function):
    """Probabilities are kept for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, tokens: Tensor, reduce: Reduce) -> Tensor:
        places = _places(x, tokens)
        top, terms, total = _exponentials(x, reduce)
        ctx.save_for_backward(terms.div_(total), *places)
        ctx.dtype = x.dtype
        return (total.log() + top - _score(x, *places, reduce)).mean()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        y, own, away = ctx.saved_tensors
        y.scatter_add_(1, own, away.float() - 1)
        return y.mul_(grad / len(y)).to(ctx.dtype), None, None


def _liger(x: Tensor, tokens: Tensor) -> tuple[Tensor, ...]:
    try:
        from liger_kernel.ops import LigerVocabParallelCEFunction as Loss
    except ImportError:
        raise NotAvailable("liger-kernel is not installed, or has no loss of shards") from None
    words = (dist.group.WORLD, -100, 0.0, "pytorch", "global")
    return _with_gradient(
        lambda x, tokens: Loss.apply(x[:, None], tokens[:, None], *words).mean(), x, tokens
    )


# ---- on each rank


def cells() -> Iterator[tuple[str, int, int, str]]:
    """Operator, rows, columns of a shard and dtype of all that is timed."""
    return product(OPERATORS, ROWS, COLS, DTYPES)


def time_all(path: Path) -> None:
    """What a process of torchrun does. Rank 0 writes."""
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", timeout=timedelta(seconds=PATIENCE_S))
    skipped: dict[str, str] = {}
    times = [time_cell(*cell, skipped) for cell in cells()]
    if dist.get_rank() == 0:
        path.write_text(json.dumps({"times": times, "skipped": skipped}))
    dist.barrier()
    dist.destroy_process_group()


def time_cell(operator: str, rows: int, cols: int, dtype: str, skipped: dict[str, str]) -> dict[str, Any]:  # fmt: skip
    """One row of `times`. `skipped` hears who is wrong or not there."""
    torch.manual_seed(1 + dist.get_rank())  # each rank its own noise
    item_bytes = getattr(torch, dtype).itemsize
    many = -(-WALK_BYTES // (rows * cols * item_bytes))
    walk = torch.randn(many, rows, cols, device="cuda", dtype=getattr(torch, dtype))
    tokens = torch.arange(rows, device="cuda") * 7919 % (dist.get_world_size() * cols)
    calls, told = contenders(operator), f"{operator} {rows}x{cols} {dtype}"
    right, found = calls[GATHERED](walk[0], tokens), {}
    for name, call in calls.items():
        why = is_right(call, walk[0], tokens, right)
        if not why:
            found[name] = call
        elif name == OURS:
            raise NotAvailable(f"{OURS} {told}: {why}")
        else:
            skipped[f"{name} on {told}"] = why
    bits, y = "not compared", torch.empty_like(walk[0])
    if operator == "softmax":
        is_same = torch.equal(distributed.softmax(walk[0]), _mine(softmax(_gather(walk[0]))))
        bits = "same" if _agreed(is_same) else "other"
        found[ALONE] = lambda x, _: softmax(x)
        found[UNTOLD] = partial(_eager, operator, reduce=lambda x, how: x)
    found |= {"copy": lambda x, _: y.copy_(x), "read": lambda x, _: x.amax(-1)}
    us = {name: _time_us(call, walk, tokens) for name, call in found.items()}
    sizes = {"operator": operator, "rows": rows, "cols": cols, "dtype": dtype, "bits": bits}
    return {**sizes, "copy_us": us.pop("copy"), "read_us": us.pop("read"), "us": us}


def is_right(call: Call, x: Tensor, tokens: Tensor, right: tuple[Tensor, ...]) -> str:
    """Why a call is none to be timed: it is not there, or gives something else than `right`; the same on all ranks."""
    eps = torch.finfo(x.dtype).eps
    try:
        close = [
            torch.allclose(one.float(), other.float(), rtol=max(16 * eps, 1e-4), atol=1e-12)
            for one, other in zip(call(x, tokens), right, strict=True)
            if other.is_floating_point()  # of equal numbers any column is right
        ]
    except NotAvailable as error:
        return str(error)
    except torch.OutOfMemoryError:
        close = []
    return "" if _agreed(bool(close) and all(close)) else "wrong, or " + TOO_LARGE


def _agreed(says: bool) -> bool:
    """Whether all ranks say so."""
    told = torch.tensor(float(says), device="cuda" if dist.get_backend() == "nccl" else "cpu")
    dist.all_reduce(told, dist.ReduceOp.MIN)
    return bool(told)


def _time_us(call: Call, walk: Tensor, tokens: Tensor) -> float:
    """Median of calls on the slowest rank, each on the next matrix."""
    is_long = _samples(call, walk, tokens, WARM)[-1] > LONG_US
    return round(median(_samples(call, walk, tokens, LONG_CALLS if is_long else CALLS)), 3)


def _samples(call: Call, walk: Tensor, tokens: Tensor, many: int) -> list[float]:
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(many)]
    begin = torch.zeros(1, device="cuda")
    for n, (start, end) in enumerate(events):
        torch.cuda._sleep(HEAD_START_CYCLES)
        dist.all_reduce(begin)
        start.record()
        call(walk[n % len(walk)], tokens)
        end.record()
    torch.cuda.synchronize()
    us = torch.tensor([1e3 * start.elapsed_time(end) for start, end in events], device="cuda")
    dist.all_reduce(us, dist.ReduceOp.MAX)
    return us.tolist()


if __name__ == "__main__":
    time_all(Path(sys.argv[1]))
