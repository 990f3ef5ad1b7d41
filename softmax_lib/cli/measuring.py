"""What is measured on a GPU: a record of all kernels, softmax() beside others, and the fastest kernels for it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from rich.console import Console

from softmax_lib.cli.answer import DONE, FAILED, REFUSED, Answer, parts, print_table
from softmax_lib.gpu import presence
from softmax_lib.records.record import load, require_writable, write
from softmax_lib.suites.table import SUITES
from softmax_lib.worklog import checking
from softmax_lib.worklog.errors import BadInput, NotAvailable

if TYPE_CHECKING:
    from softmax_lib.suites.tuning import Trial


def record(options: argparse.Namespace) -> Answer:
    """The record of this GPU."""
    _require_gpu()
    from softmax_lib.suites.recording import record  # which needs torch, and so comes after

    with parts(options.json) as tell:
        path = record(options.output, quick=options.quick, minutes=options.minutes, progress=tell)
    made = load(path)
    counts = {"times": len(made.timings), "profiles": len(made.profiles)}
    skipped, notes = made.content["skipped"], made.content["notes"]

    def show() -> None:
        for what, reason in skipped.items():
            print(f"Skipped {what}: {reason}")
        for note in notes:
            print(f"Note: {note}")
        print(f"Wrote {path}: {counts['times']} times, {counts['profiles']} hardware profiles.")

    return Answer({"path": str(path), **counts, "skipped": skipped, "notes": notes}, show)


def bench(options: argparse.Namespace) -> Answer:
    """softmax() beside others."""
    _require_gpu()
    from softmax_lib.cli.suite_table import print_run
    from softmax_lib.suites.kept import next_run

    paths = [options.output] if options.output else []
    if options.keep:
        paths.append(next_run(options.suite, presence.gpu_name()))
    for path in paths:
        require_writable(path)
    with parts(options.json) as tell:
        found = SUITES[options.suite].run(tell)
    for path in paths:
        write(path, found)
    return Answer(found, lambda: print_run(options.suite, found))


def conform(options: argparse.Namespace) -> Answer:
    """Operators beside torch's. Status 1 where one that was named, or of all one of ours, is wrong, raises or dies."""
    from softmax_lib.cli.suite_table import print_run
    from softmax_lib.gpu.facts import today
    from softmax_lib.suites.conform.asks import asks  # which need torch, and so come after
    from softmax_lib.suites.conform.judging import OPERATORS, operator
    from softmax_lib.suites.conform.measure import ask_all
    from softmax_lib.suites.conform.record import FAULTS, OURS

    device = "cuda" if presence.has_gpu() else "cpu"
    names, words = options.op or [*OPERATORS], options.only or [""]
    for name in names:
        operator(name)
    wanted = [one for one in asks(device) if any(some in one for some in words)]
    if not wanted:
        kinds = ", ".join(dict.fromkeys(one.partition(":")[0] for one in asks(device)))
        raise BadInput(f"No ask has the words {', '.join(words)}; its kinds are {kinds}.")
    found: dict[str, Any] = {
        "gpu": {"name": presence.gpu_name() or "the CPU"},
        "date": today(),
        "notes": [],
    }
    with parts(options.json) as tell:
        found |= ask_all(names, wanted, tell, device, options.limit)
    verdicts = [row["found"].get(name) for row in found["rows"] for name in options.op or OURS]
    status = FAILED if {*verdicts} & {*FAULTS} else DONE if found["rows"] else REFUSED
    return Answer(found, lambda: print_run("conform", found), status)


def tune(options: argparse.Namespace) -> Answer:
    """Which kernels softmax() should take here."""
    _require_gpu()
    from softmax_lib.ops.tables import tuned_path
    from softmax_lib.suites.tuning import tune  # which needs torch, and so comes after

    path = options.output or tuned_path(presence.gpu_name())
    require_writable(path)
    with parts(options.json) as tell:
        found, trials = tune(tell)
    write(path, found)

    def show() -> None:
        _print_trials(trials)
        print(f"Wrote {path}; softmax() goes by it from the next start of Python on.")

    return Answer({"path": str(path), "trials": [trial.as_json() for trial in trials]}, show)


def _require_gpu() -> None:
    try:
        checking.choose_device("cuda")
    except NotAvailable:
        why = presence.why_no_gpu()
        raise NotAvailable(f"No GPU to run on: {why}; times are measured on a GPU alone.") from None


def _print_trials(trials: Sequence[Trial]) -> None:
    """A line per matrix: the design that softmax() takes now, its time, and what that gained."""
    headings = ("matrix", "design", "time", "of a copy", "gain")
    title = "softmax() on this GPU; times in microseconds"
    console = Console()
    print_table(console, headings, map(_cells, trials), headings[:2], title=title)
    console.print(
        "A design: threads of a warp, or blocks x threads, for each row; chunks of 16 bytes that a "
        "thread holds in registers + in shared memory; how it loads and stores."
    )


def _cells(trial: Trial) -> tuple[str, ...]:
    us, is_timed = trial.after_us, trial.after_us < inf
    is_forward = trial.cell.direction == "forward"
    gained = trial.after != trial.before and trial.before_us < inf
    time = f"{us:.2f}" if is_timed else "no room"
    share = f"{trial.copy_us / us:.0%}" if is_timed and is_forward else ""
    gain = f"{trial.before_us / us:.3f}" if gained else ""
    return str(trial.cell), str(trial.after), time, share, gain
