"""What tests ask ranks to do, each with its shard of the same rows."""

import time
import weakref

import torch
import torch.distributed as dist

from softmax_lib import distributed


def shard_of(x, rank):
    return x.chunk(dist.get_world_size(), -1)[rank].clone()


def call(rank, name, x, *more, **options):
    """A function of the module on this rank's shard."""
    return getattr(distributed, name)(shard_of(x, rank), *more, **options)


def gradient(rank, name, x, grad, *more, **options):
    """Of the shard, where the result's is `grad`: its own part of it, if it is as wide as x."""
    shard = shard_of(x, rank).requires_grad_()
    made = getattr(distributed, name)(shard, *more, **options)
    made = made.values if name == "topk" else made
    made.backward(shard_of(grad, rank) if grad.shape == x.shape else grad)
    return shard.grad


def call_with(rank, calls):
    """Each rank its own: (name, arguments)."""
    name, arguments = calls[rank]
    return getattr(distributed, name)(*arguments)


def timed(rank, x):
    """What is raised, and after how many seconds."""
    begun = time.monotonic()
    try:
        distributed.softmax(x, timeout_s=2)
    except Exception as error:
        return type(error).__name__, str(error), time.monotonic() - begun
    return "nothing", "", 0.0


def of_dtensors(rank, x, tokens):
    """softmax, topk, cross_entropy and its gradient of a DTensor on a mesh of all ranks."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    cut = distribute_tensor(x, mesh, [Shard(x.dim() - 1)]).requires_grad_()
    y = distributed.softmax(cut)
    best = distributed.topk(cut, 3)
    loss = distributed.cross_entropy(cut, tokens)
    loss.backward()
    return [one.full_tensor().detach() for one in (y, best.values, best.indices, loss, cut.grad)]


def after_its_group(rank):
    """Whether a group is gone once it is destroyed, with a result of it left; and what that one's gradient raises."""
    group = dist.new_group()
    y = distributed.softmax(torch.zeros(2, 4, requires_grad=True), group)
    left = weakref.ref(group)
    dist.destroy_process_group(group)
    del group
    try:
        y.sum().backward()
    except Exception as error:
        return left() is None, error
    return left() is None, None
