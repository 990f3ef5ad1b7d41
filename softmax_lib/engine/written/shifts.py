"""A source's shifts in the words of cpp/shifts.h, which does what a GPU does where there are too few bits."""

from __future__ import annotations

import re

from softmax_lib.engine.declarations import DIRECTIVE, blank_opaque

_TOKEN = re.compile(
    r"\boperator\s*(?:<<|>>|<|>)=?|<<<|->|<<=?|>>=?|>=|>|\btemplate\s*<|(?<=\w)<(?![=:])|[()\[\]{};]"
)
_DEFINE = re.compile(r"[ \t]*#[ \t]*define\b")
_OPERAND = re.compile(r"\s*[-+~!\d]")
"""What cannot stand behind a template's arguments."""
_BARRIERS = re.compile(r".*sync\w*\s*\(.*sync\w*\s*\(")


def shield_shifts(text: str) -> str:
    """The same, each line where it was. Left alone are `>>` that may close templates, and lines with two barriers.

    Only their columns tell such barriers apart.
    """
    code = DIRECTIVE.sub(_without_directive, blank_opaque(text))
    pieces, done, opened = [], 0, [0]
    for found in _TOKEN.finditer(code):
        token, start, end = found[0], *found.span()
        if token in ("(", "[", "{"):
            opened.append(0)  # angles
        elif token in (")", "]", "}", ";"):
            opened[-1:] = () if token != ";" and opened[1:] else (0,)
        elif token[-1] == "<" and token[-2:] != "<<" and not token.startswith("operator"):
            opened[-1] += 1
        elif token == ">":
            opened[-1] = max(0, opened[-1] - 1)
        elif token == ">>" and opened[-1] > 1 and not _OPERAND.match(code, end):
            opened[-1] -= 2
        elif token[:2] not in ("<<", ">>") or token == "<<<":
            continue
        elif not _BARRIERS.match(code, code.rfind("\n", 0, start) + 1):
            word = "left" if token[0] == "<" else "right"
            pieces.append(f"{text[done:end]} emulator_{word} {token}")
            done = end
    return "".join((*pieces, text[done:]))


def _without_directive(match: re.Match) -> str:
    """What a macro stands for, and spaces in place of all else."""
    name = _DEFINE.match(match[0])
    kept = name.end() if name else len(match[0])
    return re.sub(r"[^\n]", " ", match[0][:kept]) + match[0][kept:]
