"""The verbs of the command line: what each does with its options, and what it answers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from softmax_lib.cli.answer import DONE, FAILED, Answer
from softmax_lib.suites.table import SUITES
from softmax_lib.worklog.errors import BadInput, NotAvailable
from softmax_lib.worklog.launch_options import is_any_kernel

if TYPE_CHECKING:
    from softmax_lib.engine.xrays.result import XRay

SOFTMAX = "softmax"
"""What stands for the kernels behind `softmax()` where a kernel is named."""


def info(options: argparse.Namespace) -> Answer:
    """What this machine has."""
    from softmax_lib.cli.information import gather, print_information

    found = gather()
    return Answer(found, lambda: print_information(found))


def check(options: argparse.Namespace) -> Answer:
    """Kernels against float64."""
    from softmax_lib.cli.checks import check_all, print_checks, status_of_all

    with _parts(options.json) as tell:
        found = check_all(options.names, options.device, tell)
    return Answer(
        [one.as_json() for one in found],
        lambda: print_checks(found),
        status_of_all(found),
        tuple(f"{one.name}: {one.refused}" for one in found if one.refused),
    )


def ladder(options: argparse.Namespace) -> Answer:
    """Every rung on one matrix."""
    from softmax_lib.cli.ladder import climb
    from softmax_lib.cli.ladder_table import print_ladder

    with _parts(options.json) as tell:
        found = climb(options.rows, options.cols, options.device, tell, options.names)
    status = DONE if found.is_right else FAILED
    return Answer(found.as_json(), lambda: print_ladder(found), status)


def record(options: argparse.Namespace) -> Answer:
    """The record of this GPU."""
    from softmax_lib.records.record import load

    _require_gpu()
    from softmax_lib.suites.recording import record  # which needs torch, and so comes after

    with _parts(options.json) as tell:
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
    from softmax_lib.records.record import require_writable, write

    _require_gpu()
    from softmax_lib.cli import suite_table
    from softmax_lib.gpu.presence import gpu_name
    from softmax_lib.suites.kept import next_run

    suite = SUITES[options.suite]
    module, _, name = suite.run.rpartition(".")
    # which needs torch, and so comes after
    measure = getattr(import_module(f"softmax_lib.suites.{module}"), name)
    show = getattr(suite_table, suite.show)
    paths = [options.output] if options.output else []
    if options.keep:
        paths.append(next_run(options.suite, gpu_name()))
    for path in paths:
        require_writable(path)
    with _parts(options.json) as tell:
        found = measure(tell)
    for path in paths:
        write(path, found)
    return Answer(found, lambda: show(found))


def tune(options: argparse.Namespace) -> Answer:
    """Which kernels softmax() should take here."""
    from softmax_lib.records.record import require_writable, write

    _require_gpu()
    from softmax_lib.cli.tuning_table import print_trials
    from softmax_lib.gpu.presence import gpu_name
    from softmax_lib.ops.tables import tuned_path
    from softmax_lib.suites.tuning import tune  # which needs torch, and so comes after

    path = options.output or tuned_path(gpu_name())
    require_writable(path)
    with _parts(options.json) as tell:
        found, trials = tune(tell)
    write(path, found)

    def show() -> None:
        print_trials(trials)
        print(f"Wrote {path}; softmax() goes by it from the next start of Python on.")

    return Answer({"path": str(path), "trials": [trial.as_json() for trial in trials]}, show)


def run_kernel(options: argparse.Namespace) -> Answer:
    """Any kernel, launched in the emulator."""
    from softmax_lib.cli.any_kernel import print_arrays, run_kernel

    arrays = run_kernel(options)
    return Answer([array.as_json() for array in arrays], lambda: print_arrays(arrays))


def xray(options: argparse.Namespace) -> Answer:
    """Counters and hazards of a kernel."""
    from softmax_lib.cli.xray_table import print_xray

    if is_any_kernel(options):
        from softmax_lib.cli.any_kernel import xray_kernel

        found = xray_kernel(options)
    elif options.name == SOFTMAX:
        found = _xray_softmax(options)
    elif options.dtype or options.backward or options.log:
        raise BadInput(f"--dtype, --backward and --log are for `softmax-lib xray {SOFTMAX}`.")
    else:
        from softmax_lib.worklog.xray import xray

        with _parts(options.json) as tell:
            found = xray(
                options.name,
                options.rows or 64,
                options.cols or 4096,
                options.block_size,
                grid=_one_number(options.grid),
                ragged=not (options.rows or options.cols),
                path=options.path,
                arch=options.arch,
                progress=lambda done, total: tell("threads", done, total),
            )
    status = FAILED if found.hazards else DONE
    answer = found.as_json(code=options.listing)
    return Answer(answer, lambda: print_xray(found, listing=options.listing), status)


def grade(options: argparse.Namespace) -> Answer:
    """Points so far, an exercise's task, or the grade of an answer to it."""
    from softmax_lib.grading.collection import find_exercise
    from softmax_lib.grading.grade import grade, solution
    from softmax_lib.grading.scores import scores

    if options.exercise is None:
        points = scores()
        return Answer(points.as_json(), lambda: print(points))
    exercise = find_exercise(options.exercise)
    if options.solution:
        told = solution(exercise.name)
        return Answer({"solution": told}, lambda: print(told))
    if not options.answer:
        return Answer(exercise.as_json(), lambda: print(exercise.words))
    given = grade(exercise.name, exercise.read_answer(options.answer))
    return Answer(given.as_json(), lambda: print(given), DONE if given.ok else FAILED)


def cache(options: argparse.Namespace) -> Answer:
    """What is kept of built kernels."""
    from softmax_lib.cli.kept_files import gather, print_kept
    from softmax_lib.engine.caches import clear_cache

    found = gather()
    if options.clear:
        try:
            clear_cache()
        except OSError as error:
            raise NotAvailable(f"Cannot remove {found.folder}: {error.strerror}.") from None
    return Answer(found.as_json(), lambda: print_kept(found, cleared=options.clear))


def completion(options: argparse.Namespace) -> Answer:
    """What lets a shell complete the words of the command line."""
    from softmax_lib.cli.completion import script

    text = script(options.shell)
    return Answer({"shell": options.shell, "script": text}, lambda: print(text))


def _xray_softmax(options: argparse.Namespace) -> XRay:
    from softmax_lib.ops.xray import xray_softmax

    if options.block_size or options.grid:
        raise BadInput("softmax() chooses its own grid and block size for a matrix.")
    with _parts(options.json) as tell:
        return xray_softmax(
            options.rows or 64,
            options.cols or 4096,
            options.dtype or "float32",
            backward=options.backward,
            log=options.log,
            path=options.path,
            arch=options.arch,
            progress=lambda done, total: tell("threads", done, total),
        )


def _one_number(grid: tuple[int, ...] | None) -> int | None:
    if grid is not None and len(grid) > 1:
        raise BadInput(
            "A softmax of rows is launched in one dimension, so that --grid takes one number; with "
            "--block and --arg it takes up to three."
        )
    return grid[0] if grid else None


def _require_gpu() -> None:
    from softmax_lib.gpu.presence import why_no_gpu
    from softmax_lib.worklog.checking import choose_device

    try:
        choose_device("cuda")
    except NotAvailable:
        raise NotAvailable(
            f"No GPU to run on: {why_no_gpu()}; times are measured on a GPU alone."
        ) from None


@contextmanager
def _parts(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal's stderr; yields what hears a label, how many parts are done, and how many there are."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("preparing", total=None)
        yield lambda label, done, total: bar.update(
            task, description=label, completed=done, total=total
        )
