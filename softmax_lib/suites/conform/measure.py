"""Every ask put to every softmax, in processes that may hang, die or lose their GPU without taking this one with them."""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from typing import Any

import torch

from softmax_lib.gpu.facts import gpu_facts, today, versions
from softmax_lib.records.measurement import PEERS
from softmax_lib.suites.cells import Progress
from softmax_lib.suites.conform.asks import asks
from softmax_lib.suites.conform.judging import OPERATORS, Answer, judge, operator
from softmax_lib.worklog.errors import NotAvailable

PROTOCOL = (
    "Each ask is compared with torch's own result, or with itself where it is about bits, in a process that is replaced "
    "when it dies, hangs or has lost its GPU; those that may break one have a process of their own."
)
LIMIT_S, BEGIN_S = 120.0, 300.0
"""Of an ask, compiling included, and of a process until it takes one."""
ASKS_A_PROCESS = 12
PROCESSES = max(1, min(12, (os.cpu_count() or 2) - 1))


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every operator that is known here asked everything on this GPU, as JSON has it.

    `rows` has for each ask `{"kind", "ask", "found": {operator: verdict}, "told": {operator: a sentence of what does not
    hold}}`, and `skipped` who was not asked and why.
    """
    found = ask_all([*OPERATORS], [*asks("cuda")], progress, "cuda")
    where = {"gpu": gpu_facts(), "date": today(), "software": versions()}
    return {"protocol": PROTOCOL, **where, **found, "notes": []}


def ask_all(
    names: Sequence[str], wanted: Sequence[str], progress: Progress, device: str, limit_s: float = LIMIT_S
) -> dict[str, Any]:  # fmt: skip
    """`rows` and `skipped` of these operators and asks, by their names."""
    skipped = (
        dict.fromkeys(set(names) & set(PEERS[1:]), "It needs a GPU.") if device == "cpu" else {}
    )
    jobs = [(name, some) for name in names for some in _shares(name, wanted, device)]
    answers: dict[tuple[str, str], Answer] = {}

    def put(name: str, some: list[str]) -> dict[str, Answer]:
        try:
            return {} if name in skipped else _put(name, some, device, limit_s)
        except NotAvailable as error:
            skipped[name] = str(error)
            return {}

    total, done = sum(len(some) for _, some in jobs), 0
    with ThreadPoolExecutor(PROCESSES) as pool:
        # others' kernels, which take longest to compile, first
        futures = {pool.submit(put, *job): job for job in reversed(jobs)}
        for future in as_completed(futures):
            name, some = futures[future]
            answers |= {(ask, name): answer for ask, answer in future.result().items()}
            done += len(some)
            progress(name, done, total)
    rows = []
    for one in wanted:
        found = {name: answers[one, name] for name in names if (one, name) in answers}
        if missing := [told for verdict, told in found.values() if verdict == "skipped"]:
            skipped[one] = missing[0]
        elif found:
            rows.append({
                "kind": asks(device)[one].kind, "ask": asks(device)[one].name,
                "found": {name: verdict for name, (verdict, _) in found.items()},
                "told": {name: told for name, (_, told) in found.items() if told},
            })  # fmt: skip
    return {"rows": rows, "skipped": skipped}


def _shares(name: str, wanted: Sequence[str], device: str) -> list[list[str]]:
    """What one process each is asked."""
    every = [one for one in wanted if one.startswith("bits") or not operator(name).of_bits]
    alone = [one for one in every if asks(device)[one].alone]
    others = [one for one in every if one not in alone]
    chunks = [others[at : at + ASKS_A_PROCESS] for at in range(0, len(others), ASKS_A_PROCESS)]
    return [*chunks, *([one] for one in alone)]


def _put(name: str, some: list[str], device: str, limit_s: float) -> dict[str, Answer]:
    """The answers of one operator, each process as long as it lives. Raises `NotAvailable` where it cannot be had."""
    found: dict[str, Answer] = {}
    left = list(some)
    while left:
        with _Worker(name, device, limit_s) as worker:
            is_well = True
            while left and is_well:
                ask = left.pop(0)
                found[ask], is_well = worker.ask(ask)
    return found


class _Worker:
    """A process that answers for one operator, until the block is left. Raises `NotAvailable` where that cannot be had."""

    def __init__(self, name: str, device: str, limit_s: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._limit_s = limit_s
        self._process = context.Process(target=_serve, args=(other, name, device), daemon=True)
        self._process.start()
        other.close()
        (missing, _), _ = self._hear(BEGIN_S)
        if missing:
            self.__exit__()
            raise NotAvailable(f"{missing}.")

    def ask(self, name: str) -> tuple[Answer, bool]:
        """An answer, and whether there may be another."""
        self._pipe.send(name)
        return self._hear(self._limit_s)

    def _hear(self, limit_s: float) -> tuple[Answer, bool]:
        try:
            if not self._pipe.poll(limit_s):
                return ("killed", f"It did not end within {limit_s:g} s."), False
            answer, is_well = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            return ("killed", f"Its process ended with status {self._process.exitcode}."), False
        lost = f"The GPU answers its process no more: {answer[1] or answer[0]}"
        return (answer, True) if is_well else (("killed", lost), False)

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection, name: str, device: str) -> None:
    """What the process does: answers until it is ended."""
    sys.path.insert(0, os.getcwd())
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # others compile beside it
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    warnings.simplefilter("ignore")
    missing = ""
    try:
        operator(name).make()
    except Exception as error:
        missing = str(error).rstrip(".") or type(error).__name__
    pipe.send(((missing, ""), True))
    while True:
        ask = asks(device)[pipe.recv()]
        pipe.send((judge(ask, operator(name), device), _works(device)))


def _works(device: str) -> bool:
    """Whether the device still computes."""
    try:
        return torch.arange(8.0, device=device).sum().item() == 28
    except RuntimeError:
        return False
