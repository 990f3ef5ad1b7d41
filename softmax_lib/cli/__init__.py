"""The command line: `softmax-lib`, its answers and its exit status."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from typing import Any

from softmax_lib.cli.answer import FAILED, INTERRUPTED, REFUSED, Answer, give, refusal
from softmax_lib.cli.parser import read
from softmax_lib.worklog.errors import KernelFault, SoftmaxLibError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Status 0: done; 1: a check failed, a hazard or a fault was found; 2: bad input.

    What is wrong is a sentence on stderr (what does not compile: the compiler's own lines). With
    `--json` there is JSON on stdout, and nothing else, whatever happens.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in words
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # in a terminal that knows ASCII alone
    with warnings.catch_warnings():
        warnings.showwarning = _tell
        return give(_run(words, as_json), as_json)


def _tell(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning is a sentence too."""
    print(f"softmax-lib: {message}", file=sys.stderr)


def _run(words: list[str], as_json: bool) -> Answer:
    try:
        options = read(words)
        module, _, name = options.verb.rpartition(".")
        with redirect_stdout(sys.stderr) if as_json else nullcontext():  # what kernels print
            return getattr(import_module(f"softmax_lib.cli.{module}"), name)(options)
    except SoftmaxLibError as error:
        return refusal(error, str(error), FAILED if isinstance(error, KernelFault) else REFUSED)
    except MemoryError as error:
        return refusal(error, "There is not enough memory here for arrays of this size.", REFUSED)
    except KeyboardInterrupt as error:
        return refusal(error, "interrupted; what was finished is kept.", INTERRUPTED)
