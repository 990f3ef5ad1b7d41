"""The command line: `softmax-lib info | check | ladder | record | bench | tune | run-kernel | xray`."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from softmax_lib.errors import SoftmaxLibError
from softmax_lib.launch_options import add_launch_words, is_any_kernel


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Status 0: done; 1: a check failed; 2: bad input, with one line on stderr."""
    options = _parser().parse_args(arguments)
    try:
        return options.verb(options)
    except SoftmaxLibError as error:
        print(f"softmax-lib: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("softmax-lib: interrupted; what was finished is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `softmax-lib ladder | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        self.exit(2, f"{self.prog}: {message}; `{self.prog} --help` lists what there is.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="softmax-lib", description="Softmax kernels from naive to the speed of light."
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def verb(name: str, run: Any, help: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=help, description=help)
        made.add_argument("--json", action="store_true", help="print JSON")
        made.set_defaults(verb=run)
        return made

    verb("info", _info, "what this machine has, and what will run where")
    check = verb("check", _check, "compare kernels with float64 over rows that break careless ones")
    check.add_argument(
        "names", nargs="*", metavar="NAME", help="kernels or .cu files; all when none is named"
    )
    ladder = verb(
        "ladder", _ladder, "every rung on one matrix: error, traffic, time, share of a copy"
    )
    ladder.add_argument("--rows", type=_count, default=1024)
    ladder.add_argument("--cols", type=_count, default=32768)
    for made in (check, ladder):
        made.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    record = verb("record", _record, "measure every rung and peer on this GPU and write the record")
    record.add_argument("--quick", action="store_true", help="two shapes only")
    record.add_argument(
        "--minutes",
        type=float,
        metavar="N",
        help="stop after about N; the next call goes on from there",
    )
    record.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="instead of book/measurements/<gpu>.json in a checkout, or a folder of your own",
    )
    bench = verb("bench", _bench, "softmax() beside the softmaxes of others on this GPU")
    bench.add_argument(
        "--suite",
        choices=("peers", "model", "topk", "unroll", "warp", "triton"),
        default="peers",
        help="every peer installed here, matrix by matrix; a small transformer with torch's softmax and "
        "ours; softmax_topk() beside what else finds the first of each row; chapter 9's kernel, its loop "
        "unrolled more and less; chapter 10's, with more and fewer threads per row, and every kernel by "
        "rows and columns; or chapter 12's in Triton, with more and fewer warps",
    )
    bench.add_argument("--output", type=Path, metavar="FILE", help="write the JSON there too")
    bench.add_argument(
        "--keep", action="store_true", help="keep the run where the book's pages look for it"
    )
    tune = verb(
        "tune", _tune, "measure which kernels softmax() should take on this GPU, and keep it"
    )
    tune.add_argument(
        "--output", type=Path, metavar="FILE", help="instead of where softmax() looks for it"
    )
    _add_run_options(
        verb("run-kernel", _run_kernel, "launch any kernel of a .cu file in the emulator")
    )
    _add_xray_options(
        verb("xray", _xray, "count what a kernel asks of memory, and find hazards, with no GPU")
    )
    return parser


def _add_run_options(made: argparse.ArgumentParser) -> None:
    made.description = (
        "Launch any kernel of a .cu file in the emulator and tell what its arrays hold afterwards: "
        "softmax-lib run-kernel add.cu --grid 4 --block 256 --arg a:f32:1024 --arg b:f32:1024:zeros "
        "--arg 1024"
    )
    made.add_argument("name", metavar="FILE", help="a .cu file")
    add_launch_words(made)
    made.add_argument("--npz", type=Path, metavar="FILE", help="arrays to take, by name")
    made.add_argument("--out", type=Path, metavar="FILE", help="write all arrays to this .npz file")


def _add_xray_options(made: argparse.ArgumentParser) -> None:
    made.description = (
        "Count requests, sectors and bank conflicts of each source line in the emulator, and report "
        "races, addresses outside of arrays, uninitialised reads and the like: status 1 when there "
        "are any. A kernel of which no thread finishes for 10 s ($SOFTMAX_LIB_WATCHDOG_S) hangs."
    )
    made.epilog = (
        "The table: lanes are the threads of a warp that take part in a request, on average; each is what "
        "a request takes, sectors of 32 bytes or wavefronts of shared memory; conflicts are wavefronts "
        "beyond the fewest that these bytes need; limit is what keeps more blocks off a multiprocessor (SM)."
    )
    made.add_argument("name", metavar="NAME", help="a kernel or a .cu file")
    any_kernel = made.add_argument_group(
        "any kernel of a .cu file, such as", "--grid 8 --block 128 --arg x:f32:8x1024 --arg 1024"
    )
    add_launch_words(any_kernel)
    any_kernel.add_argument("--npz", type=Path, metavar="FILE", help="arrays to take, by name")
    made.add_argument("--rows", type=_count, default=64)
    made.add_argument("--cols", type=_count, default=4096)
    made.add_argument(
        "--block-size", type=_count, help="threads per block; the kernel's own choice"
    )


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 up")
    return number


def _info(options: argparse.Namespace) -> int:
    from softmax_lib.cli.information import gather

    found = gather()
    if options.json:
        return _print_json(found)
    table = Table(show_header=False, box=None)
    for name, value in found.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        table.add_row(name.replace("_", " "), str(shown or "none"))
    Console().print(table)
    return 0


def _check(options: argparse.Namespace) -> int:
    from softmax_lib.checking import check, choose_device, count_attempts
    from softmax_lib.registry import kernels, resolve

    chosen = [resolve(name) for name in options.names] or list(kernels.values())
    device = choose_device(options.device)
    total = sum(count_attempts(kernel) for kernel in chosen)
    results, done = [], itertools.count(1)
    with _parts(options.json) as tell:
        for kernel in chosen:
            heard = lambda attempt, name=kernel.name: tell(name, next(done), total)  # noqa: E731
            results.append(check(kernel, device=device, progress=heard))
    expected = {kernel.name for kernel in chosen if kernel.flaw}
    if options.json:
        _print_json([_result_as_json(result) for result in results])
    else:
        for result in results:
            note = (
                f" (as it should: {kernels[result.kernel].flaw})"
                if result.kernel in expected
                else ""
            )
            print(f"{result}{note}")
    return int(any(result.ok == (result.kernel in expected) for result in results))


def _result_as_json(result: Any) -> dict:
    return {
        "name": result.kernel, "device": result.device, "ok": result.ok, "launches": len(result.attempts),
        "max_abs_error": result.max_abs_error, "failures": list(result.failures),
    }  # fmt: skip


def _ladder(options: argparse.Namespace) -> int:
    from softmax_lib.cli.ladder import climb
    from softmax_lib.cli.ladder_table import print_ladder

    with _parts(options.json) as tell:
        ladder = climb(options.rows, options.cols, options.device, tell)
    if options.json:
        return _print_json(ladder.as_json())
    print_ladder(ladder)
    return 0


def _record(options: argparse.Namespace) -> int:
    from softmax_lib.checking import choose_device
    from softmax_lib.records.record import load

    choose_device("cuda")
    from softmax_lib.bench.recording import record  # which needs torch, and so comes after

    with _parts(options.json) as tell:
        path = record(options.output, quick=options.quick, minutes=options.minutes, progress=tell)
    made = load(path)
    counts = {"times": len(made.timings), "profiles": len(made.profiles)}
    skipped = made.content["skipped"]
    if options.json:
        return _print_json(
            {"path": str(path), **counts, "skipped": skipped, "notes": made.content["notes"]}
        )
    for what, reason in skipped.items():
        print(f"Skipped {what}: {reason}")
    for note in made.content["notes"]:
        print(f"Note: {note}")
    print(f"Wrote {path}: {counts['times']} times, {counts['profiles']} hardware profiles.")
    return 0


def _bench(options: argparse.Namespace) -> int:
    from softmax_lib.checking import choose_device
    from softmax_lib.records.record import require_writable, write

    choose_device("cuda")
    from softmax_lib.bench.suite import run_suite  # which needs torch, and so comes after
    from softmax_lib.bench.tiles import run_tiles
    from softmax_lib.bench.topk import run_topk
    from softmax_lib.bench.transformer import compare
    from softmax_lib.bench.unrolling import run_unroll
    from softmax_lib.bench.warps import run_warps
    from softmax_lib.cli.suite_table import (
        print_model,
        print_suite,
        print_tiles,
        print_topk,
        print_unroll,
        print_warps,
    )
    from softmax_lib.gpu.presence import gpu_name
    from softmax_lib.records.kept import next_run

    suites = {
        "peers": (run_suite, print_suite),
        "model": (compare, print_model),
        "topk": (run_topk, print_topk),
        "unroll": (run_unroll, print_unroll),
        "warp": (run_warps, print_warps),
        "triton": (run_tiles, print_tiles),
    }
    measure, show = suites[options.suite]
    paths = [options.output] if options.output else []
    if options.keep:
        paths.append(next_run(options.suite, gpu_name()))
    for path in paths:
        require_writable(path)
    with _parts(options.json) as tell:
        found = measure(tell)
    for path in paths:
        write(path, found)
    if options.json:
        return _print_json(found)
    show(found)
    return 0


def _tune(options: argparse.Namespace) -> int:
    from softmax_lib.checking import choose_device
    from softmax_lib.records.record import require_writable, write

    choose_device("cuda")
    from softmax_lib.bench.tuning import tune  # which needs torch, and so comes after
    from softmax_lib.gpu.presence import gpu_name
    from softmax_lib.ops.tables import tuned_path

    path = options.output or tuned_path(gpu_name())
    require_writable(path)
    with _parts(options.json) as tell:
        found, trials = tune(tell)
    write(path, found)
    if options.json:
        return _print_json({"path": str(path), "trials": [trial.as_json() for trial in trials]})
    from softmax_lib.cli.tuning_table import print_trials

    print_trials(trials)
    print(f"Wrote {path}; softmax() goes by it from the next start of Python on.")
    return 0


def _run_kernel(options: argparse.Namespace) -> int:
    from softmax_lib.cli.any_kernel import print_arrays, run_kernel

    arrays = run_kernel(options)
    if options.json:
        return _print_json([array.as_json() for array in arrays])
    print_arrays(arrays)
    return 0


def _xray(options: argparse.Namespace) -> int:
    from softmax_lib.xrays.xray import xray

    if is_any_kernel(options):
        from softmax_lib.cli.any_kernel import xray_kernel

        found = xray_kernel(options)
    else:
        grid = prod(options.grid) if options.grid else None
        found = xray(options.name, options.rows, options.cols, options.block_size, grid=grid)
    if options.json:
        _print_json(found.as_json())
    else:
        from softmax_lib.cli.xray_table import print_xray

        print_xray(found)
    return int(bool(found.hazards))


@contextmanager
def _parts(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr; yields what hears a label, how many parts are done, and how many there are."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as bar:
        task = bar.add_task("preparing", total=None)
        yield lambda label, done, total: bar.update(
            task, description=label, completed=done, total=total
        )


def _print_json(found: object) -> int:
    print(json.dumps(found, indent=1))
    return 0
