"""The words of the command line: verbs, their options, and what is wrong with others."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softmax_lib import __version__
from softmax_lib.cli.answer import Answer
from softmax_lib.engine.words import hint
from softmax_lib.suites.table import SUITES
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.launch_words import MOST_DIGITS, add_launch_words

HELP = "help"
"""The verb that stands for `--help` of another."""

SHELLS = ("bash", "zsh", "fish")
"""Shells that complete what `softmax-lib completion` prints for them."""

_SWITCH: dict[str, Any] = {"action": "store_true"}
_FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}
_NAMES: dict[str, Any] = {"nargs": "*", "metavar": "NAME"}
_DEVICE = "--device", {"choices": ("auto", "cuda", "cpu"), "default": "auto"}
_A_LINE_EACH = " | xargs -n 1"
"""Behind words in one line: fish takes lines."""

_STATUS = (
    "Exit status: 0 when all is well; 1 when a check failed, or a hazard or fault was found; "
    "2 for bad input, and for what is missing here."
)


_VERBS = {
    "info": ("information.run", "what this machine has, and what's wrong with an installation", ""),
    "check": ("checks.run", "every kernel against float64, on inputs that break careless ones",
              "online fusion", "mine.cu --device cpu"),
    "ladder": ("ladder.run", "every kernel on one matrix: error, traffic, time, share of a copy's speed",
               "--rows 4096 --cols 1024", "mine.cu"),
    "record": ("measuring.record", "every kernel and peer, measured on your GPU", "--quick", "--minutes 8"),
    "bench": ("measuring.bench", "softmax() beside others on your GPU",
              "", "--suite model --output model.json"),
    "conform": ("measuring.conform", "ask a softmax all that torch's can do, and whether its bits depend on the batch",
                "--op mine:softmax", "--only bits --op liger --op torch"),
    "tune": ("measuring.tune", "the fastest kernels for your GPU, kept for softmax()", ""),
    "run-kernel": ("xrays.run_kernel", "any kernel, run in the emulator, and what its arrays hold then",
                   "add.cu --grid 4 --block 256 --arg a:f32:1024 --arg b:f32:1024:zeros --arg 1024"),
    "xray": ("xrays.run", "traffic, bank conflicts and races, counted without a GPU",
             "online --rows 64 --cols 8192", "mine.cu --as written",
             "add.cu --grid 8 --block 128 --arg x:f32:8x1024 --arg 1024",
             "softmax --rows 64 --cols 8192 --backward"),
    "grade": ("grades.run", "the exercises and your points; grades your answer",
              "", "shared_pairs", "shared_pairs mine.cu"),
    "cache": ("kept_files.run", "where built kernels are kept, and how large they are", "", "--clear"),
    "completion": ("parser.completion", "print what lets a shell complete verbs, options and kernels",
                   "bash > ~/.local/share/bash-completion/completions/softmax-lib",
                   'zsh > "${fpath[1]}/_softmax-lib"',
                   "fish > ~/.config/fish/completions/softmax-lib.fish"),
}  # fmt: skip
"""By name the function of a verb, what it does, and the words of examples."""


def _minutes(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of minutes")
    return number


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < MOST_DIGITS else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 up")
    return number


*_OTHERS, _LAST = (suite.measures for suite in SUITES.values())
_OPTIONS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "check": (("names", {**_NAMES, "help": "kernels or .cu files; all when none is named"}), _DEVICE),
    "ladder": (
        ("names", {**_NAMES, "help": "more kernels or .cu files, a row each below the rungs"}),
        ("--rows", {"type": _count, "default": 1024}), ("--cols", {"type": _count, "default": 32768}), _DEVICE,
    ),
    "record": (
        ("--quick", {**_SWITCH, "help": "two shapes only"}),
        ("--minutes", {"type": _minutes, "metavar": "N", "help": "stop after about N; the next call goes on from there"}),
        ("--output", {**_FILE, "help": "instead of book/measurements/<gpu>.json in a checkout, or a folder of your own"}),
    ),
    "bench": (
        ("--suite", {"choices": tuple(SUITES), "default": "peers", "help": f"{'; '.join(_OTHERS)}; or {_LAST}"}),
        ("--output", {**_FILE, "help": "write the JSON there too"}),
        ("--keep", {**_SWITCH, "help": "keep the run where the book's pages look for it"}),
    ),
    "conform": (
        ("--op", {"action": "append", "metavar": "NAME", "help": "MODULE:FUNCTION of (x, dim), or a name that a run has; all of these"}),
        ("--only", {"action": "append", "metavar": "WORDS", "help": "asks with these words alone, such as layouts or bits"}),
        ("--limit", {"type": _count, "default": 120, "metavar": "SECONDS", "help": "after which an ask hangs; 120"}),
    ),
    "tune": (("--output", {**_FILE, "help": "instead of where softmax() looks for it"}),),
    "grade": (
        ("exercise", {"nargs": "?", "metavar": "EXERCISE", "help": "its task, without an answer"}),
        ("answer", {"nargs": "*", "metavar": "ANSWER",
                    "help": "a file with the missing part or a whole kernel; where numbers are asked for, those"}),
        ("--solution", {**_SWITCH, "help": "show it: once solved, or after the last hint"}),
    ),
    "cache": (("--clear", {**_SWITCH, "help": "remove it; your own files stay"}),),
    "completion": (("shell", {"choices": SHELLS}),),
}  # fmt: skip
"""By verb its words, and how `argparse` reads each; `run-kernel` and `xray` have those of a launch besides."""


class _Paragraphs(argparse.HelpFormatter):
    """Fills each paragraph of a description by itself, and leaves indented ones as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join(
            one if one.startswith(" ") else textwrap.fill(" ".join(one.split()), width)
            for one in paragraphs
        )


def _with_examples(*lines: str) -> str:
    return "\n\n".join(["Examples:", "\n".join(f"  {line}" for line in lines), _STATUS])


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise BadInput(f"{message}; `{self.prog} --help` lists what there is.")


def read(words: Sequence[str]) -> argparse.Namespace:
    """The options of a command line. Raises `BadInput` for words that are not known."""
    made, verbs = parser()
    if words and words[0] == HELP:
        words = [*words[1:2], "--help"]
    named = next((word for word in words if not word.startswith("-")), None)
    if named is not None and named not in verbs:
        raise BadInput(f"There is no verb {named!r}; {hint(named, verbs)}")
    return made.parse_args(words)


def parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """What reads the command line, and that of each verb; `verb` in its options is the function, by module and name."""
    made = _Parser(
        prog="softmax-lib",
        description="Softmax kernels in CUDA, from naive to a copy's speed.",
        epilog=_with_examples("softmax-lib xray naive", "softmax-lib help ladder"),
        formatter_class=_Paragraphs,
    )
    made.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    added = made.add_subparsers(required=True, metavar="VERB")
    for name, (run, help, *examples) in _VERBS.items():
        one = added.add_parser(
            name,
            help=help,
            description=f"{help[0].upper()}{help[1:]}.",
            epilog=_with_examples(*(f"softmax-lib {name} {words}".rstrip() for words in examples)),
            formatter_class=_Paragraphs,
            allow_abbrev=False,
        )
        one.add_argument("--json", action="store_true", help="print JSON")
        one.set_defaults(verb=run)
    verbs = added.choices
    for name, options in _OPTIONS.items():
        for word, how in options:
            verbs[name].add_argument(word, **how)
    run_kernel = verbs["run-kernel"]
    run_kernel.add_argument("name", metavar="FILE", help="a .cu file")
    add_launch_words(run_kernel)
    run_kernel.add_argument("--npz", **_FILE, help="arrays to take, by name")
    run_kernel.add_argument("--out", **_FILE, help="write all arrays to this .npz file")
    _add_xray_options(verbs["xray"])
    added.add_parser(HELP, help="what another verb does, with examples")
    return made, verbs


def _add_xray_options(made: argparse.ArgumentParser) -> None:
    made.description = (
        "Count requests, sectors and bank conflicts of each source line with no GPU, and report "
        "races, addresses outside of arrays, uninitialised reads and the like: status 1 when there "
        "are any. A kernel of which no thread finishes for 10 s ($SOFTMAX_LIB_WATCHDOG_S) hangs."
    )
    made.epilog = (
        f"{made.epilog}\n\n"
        "The table: lanes are the threads of a warp that take part in a request, on average; each is what "
        "a request takes, sectors of 32 bytes or wavefronts of shared memory; conflicts are wavefronts "
        "beyond the fewest that these bytes need; limit is what keeps more blocks off a multiprocessor (SM)."
    )
    named = "a kernel, a .cu file, or softmax: what softmax() launches"
    made.add_argument("name", metavar="NAME", help=named)
    any_kernel = made.add_argument_group(
        "any kernel of a .cu file, such as", "--grid 8 --block 128 --arg x:f32:8x1024 --arg 1024"
    )
    add_launch_words(any_kernel)
    any_kernel.add_argument("--npz", **_FILE, help="arrays to take, by name")
    rows = "64, and without --cols a few ragged matrices for hazards too"
    made.add_argument("--rows", type=_count, help=rows)
    made.add_argument("--cols", type=_count, help="4096")
    size = "threads per block; the kernel's own choice"
    made.add_argument("--block-size", type=_count, help=size)
    of_softmax = made.add_argument_group("softmax, the kernels behind softmax()")
    of_softmax.add_argument("--dtype", help="float32, float16 or bfloat16; float32")
    of_softmax.add_argument("--backward", action="store_true", help="its gradient")
    of_softmax.add_argument("--log", action="store_true", help="log_softmax")
    made.add_argument(
        "--as",
        dest="path",
        choices=("machine", "ptx", "written"),
        help="count the machine code that NVRTC makes, as is done where it can be had, the PTX before it, or the source as it is written",
    )
    archs = "of machine code: 75, 80, 86, 87, 89 or 90"
    made.add_argument("--arch", type=_count, default=90, metavar="N", help=archs)
    made.add_argument(
        "--listing",
        action="store_true",
        help="the machine code or PTX too, instruction by instruction: its line and how often warps execute it, and of "
        "machine code registers in use and loads under way after it",
    )


def completion(options: argparse.Namespace) -> Answer:
    """What lets a shell complete verbs, options, kernels and exercises, made by shtab of the parser."""
    import shtab

    from softmax_lib.grading.collection import exercises
    from softmax_lib.worklog.registry import kernels

    made, verbs = parser()
    names, files = f"echo {' '.join(kernels)}", "ls | grep -F .cu"
    offered = {
        ("check", "names"): f"{names}{_A_LINE_EACH}; {files}",
        ("ladder", "names"): f"{names}{_A_LINE_EACH}; {files}",
        ("xray", "name"): f"{names} softmax{_A_LINE_EACH}; {files}",
        ("run-kernel", "name"): files,
        ("grade", "exercise"): f"echo {' '.join(exercises())}{_A_LINE_EACH}",
        ("grade", "answer"): files,
    }
    for (verb, name), command in offered.items():
        (action,) = (one for one in verbs[verb]._actions if one.dest == name)
        action.complete = shtab.cmd(command)  # type: ignore[attr-defined]
    script = shtab.complete(made, shell=options.shell)
    return Answer({"shell": options.shell, "script": script}, lambda: print(script))
