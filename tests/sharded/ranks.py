"""Processes that are the ranks of a gloo group, and do what a test asks of all of them."""

from __future__ import annotations

import multiprocessing
import os
import socket
from datetime import timedelta

import torch
import torch.distributed as dist

PATIENCE_S = 120


class Ranks:
    """So many processes, each with a group of all of them."""

    def __init__(self, count: int) -> None:
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        start = multiprocessing.get_context("forkserver")
        start.set_forkserver_preload(["torch", "softmax_lib.distributed", "sharded.asks"])
        self.ends, self.processes = [], []
        for rank in range(count):
            here, there = start.Pipe()
            process = start.Process(target=serve, args=(rank, count, port, there), daemon=True)
            process.start()
            self.ends.append(here)
            self.processes.append(process)
        self.ask(ready)

    def ask(self, function, *given, of=None):
        """What `function(rank, *given)` returns or raises on each rank, or on those `of` which it is asked."""
        asked = range(len(self.ends)) if of is None else of
        for rank in asked:
            self.ends[rank].send((function, given))
        found = []
        for rank in asked:
            if not self.ends[rank].poll(PATIENCE_S):
                raise TimeoutError(f"rank {rank} does not answer")
            found.append(self.ends[rank].recv())
        return found

    def kill(self, rank) -> None:
        self.processes[rank].kill()
        self.processes[rank].join()

    def close(self) -> None:
        for process in self.processes:
            process.kill()


def ready(rank):
    dist.barrier()


def serve(rank, count, port, end):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=count, timeout=timedelta(seconds=60))
    while True:
        function, given = end.recv()
        try:
            found = function(rank, *given)
        except Exception as error:
            found = error
        end.send(found)


def whole(found):
    """Shards side by side."""
    for one in found:
        if isinstance(one, Exception):
            raise one
    return torch.cat(found, -1)
