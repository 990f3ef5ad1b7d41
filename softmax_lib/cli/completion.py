"""What lets a shell complete verbs, options, kernels and exercises, made by shtab of the parser."""

from __future__ import annotations

import shtab

from softmax_lib.cli.parser import parser
from softmax_lib.grading.collection import exercises
from softmax_lib.worklog.registry import kernels

_A_LINE_EACH = " | xargs -n 1"
"""Behind words in one line: fish takes lines."""


def script(shell: str) -> str:
    """The completion of `softmax-lib` for a shell among `parser.SHELLS`."""
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
    return shtab.complete(made, shell=shell)
