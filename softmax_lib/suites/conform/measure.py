"""Every ask put to every softmax, in processes that may hang, die or lose their GPU without taking this one with them."""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
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
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["torch"])  # which takes as long to import as most asks to answer


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
    skipped = dict.fromkeys({*names} & {*PEERS[1:]}, "It needs a GPU.") if device == "cpu" else {}
    jobs = [(name, some) for name in names for some in _shares(name, wanted, device)]
    answers: dict[tuple[str, str], Answer] = {}

    def put(name: str, some: list[str]) -> tuple[str, int]:
        try:
            found = {} if name in skipped else _put(name, some, device, limit_s)
            answers.update({(ask, name): answer for ask, answer in found.items()})
        except NotAvailable as error:
            skipped[name] = str(error)
        return name, len(some)

    total, done = sum(len(some) for _, some in jobs), 0
    with ThreadPoolExecutor(PROCESSES) as pool:
        # others' kernels, which take longest to compile, first
        for future in as_completed([pool.submit(put, *job) for job in reversed(jobs)]):
            name, number = future.result()
            done += number
            progress(name, done, total)
    rows = []
    for one in wanted:
        found = {name: answers[one, name] for name in names if (one, name) in answers}
        if missing := [told for verdict, told in found.values() if verdict == "skipped"]:
            skipped[one] = missing[0]
        elif found:
            kind, _, ask = one.partition(": ")
            verdicts = {name: verdict for name, (verdict, _) in found.items()}
            told = {name: told for name, (_, told) in found.items() if told}
            rows.append({"kind": kind, "ask": ask, "found": verdicts, "told": told})
    return {"rows": rows, "skipped": skipped}


def _shares(name: str, wanted: Sequence[str], device: str) -> list[list[str]]:
    """What one process each is asked."""
    every = [one for one in wanted if one.startswith("bits") or not operator(name).of_bits]
    alone = [[one] for one in every if asks(device)[one].alone]
    others = [one for one in every if not asks(device)[one].alone]
    return [
        *(others[at : at + ASKS_A_PROCESS] for at in range(0, len(others), ASKS_A_PROCESS)),
        *alone,
    ]


def _put(name: str, some: list[str], device: str, limit_s: float) -> dict[str, Answer]:
    """The answers of one operator, each process as long as it lives. Raises `NotAvailable` where it cannot be had."""
    found: dict[str, Answer] = {}
    while left := some[len(found) :]:
        pipe, other = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(target=_serve, args=(other, name, left, device), daemon=True)
        process.start()
        other.close()
        try:
            if missing := _hear(pipe, process, BEGIN_S)[1]:
                raise NotAvailable(missing)
            for ask in left:
                found[ask] = _hear(pipe, process, limit_s)
                if found[ask][0] == "killed":
                    break
        finally:
            process.kill()
            process.join()
            pipe.close()
    return found


def _hear(pipe: Connection, process: BaseProcess, limit_s: float) -> Answer:
    """What it says next."""
    try:
        if pipe.poll(limit_s):
            return pipe.recv()
    except (EOFError, OSError):
        process.join()
        return "killed", f"Its process ended with status {process.exitcode}."
    return "killed", f"It did not end within {limit_s:g} s."


def _serve(pipe: Connection, name: str, some: list[str], device: str) -> None:
    """What the process does: says why the operator cannot be had, if so, and answers."""
    sys.path.insert(0, os.getcwd())
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # others compile beside it
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    warnings.simplefilter("ignore")
    missing = ""
    try:
        operator(name).make()
    except Exception as error:
        missing = f"{str(error).rstrip('.') or type(error).__name__}."
    pipe.send(("", missing))
    for ask in some:
        answer = judge(asks(device)[ask], operator(name), device)
        try:
            torch.arange(8.0, device=device).sum().item()
        except RuntimeError:
            answer = "killed", f"The GPU answers its process no more: {answer[1] or answer[0]}"
        pipe.send(answer)
