"""What a source gets before the host's compiler reads it, each line where it was: marks, and words in place of shifts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate

from softmax_lib.engine.declarations import DIRECTIVE, blank_opaque, closing, readable

# ---- local variables that begin without a value, so that an x-ray sees who reads them too early

Declared = tuple[int, str]
"""The line of a variable's declaration, and its name."""

_TYPE = r"(?:[A-Za-z_][\w:]*(?:\s*<[^;{}()]*>)?[\s*&]+)+"
_VARIABLE = r"\w+\s*(?:\[[^;{}]*?\]\s*)*"
_DECLARATION = re.compile(rf"\s*(?P<type>{_TYPE})(?P<names>{_VARIABLE}(?:,[\s*]*{_VARIABLE})*);")
_NAME = re.compile(r"(\w+)\s*(\[)?")
_SIZES = re.compile(r"\[[^;{}]*?\](?=\s*(?:,|$))")
"""Of "a[3 * K][4], b" what becomes one bracket, "a[, b"."""
_NO_TYPE = re.compile(
    r"\s*(return|goto|using|typedef|delete|throw|new|extern|static|else|case|struct|class|union|enum|__shared__"
    r"|friend|template|constexpr|volatile)\b"
)
_TYPE_BODY = re.compile(r"\b(struct|class|union|enum|namespace)\b[^;{}()=]*$")
_BLOCK = re.compile(
    r"(\)|\b(else|do|try|const|noexcept|mutable|override|final)|[;{}:]|->[\w\s:*&<>]+)\s*$"
)
_STATIC = re.compile(r"\bstatic\b(?!\s+(?:const|constexpr|inline)\b)(?=[^;{}()=]*[;=[{])")
"""Variables that are there once: what no thread reads is written all the same."""

_WARNED = re.compile(r"warning: (?:variable )?'(\w+)'.*\buninitialized\b")
_DECLARED = re.compile(
    r"([^\s:][^:]*):(\d+):\d+: note: (?:'(\w+)' (?:was )?declared here|initialize the variable '(\w+)')"
)


def mark_unwritten(text: str, warned: Collection[Declared] = ()) -> str:
    """The same, each line where it was, with `EMULATOR_UNWRITTEN(name);` behind declarations in functions.

    Of arrays that are given no values, and of variables that the compiler has `warned` of. `static` ones are kept.
    """
    code = DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), blank_opaque(text))
    statics = [(static.start(), 0) for static in _STATIC.finditer(code)]
    pieces: list[str] = []
    done = 0
    for start, end in sorted([*_statements(code), *statics]):
        if not end:
            pieces += text[done:start], "__attribute__((used)) "
            done = start
            continue
        declared = _DECLARATION.fullmatch(code, start, end)
        if not declared or _NO_TYPE.match(code, start):
            continue
        line = code.count("\n", 0, declared.start("names")) + 1
        pieces.append(text[done:end])
        for name, bracket in _NAME.findall(_SIZES.sub("[", declared["names"])):
            if bracket or (line, name) in warned:
                pieces.append(f" EMULATOR_UNWRITTEN({name});")
        done = end
    return "".join((*pieces, text[done:]))


def _statements(code: str) -> Iterator[tuple[int, int]]:
    """Start and end, with its semicolon, of each simple statement in the body of a function."""
    in_function: list[bool] = []
    depth, start = 0, 0
    for at, character in enumerate(code):
        if character in "()":
            depth += 1 if character == "(" else -1
        elif depth > 0:
            continue
        elif character == "{":
            before = code[start:at]
            is_block = not _TYPE_BODY.search(before) and bool(_BLOCK.search(code[:at][-200:]))
            in_function.append(is_block)
            start = at + 1
        elif character == "}":
            del in_function[-1:]
            start = at + 1
        elif character == ";":
            if in_function and in_function[-1]:
                yield start, at + 1
            start = at + 1


def read_warnings(said: str) -> dict[str, set[Declared]]:
    """By file: the variables that may be read before they are written, as the compiler sees it."""
    found: dict[str, set[Declared]] = {}
    names: set[str] = set()
    for line in said.splitlines():
        names.update(_WARNED.findall(line))
        declared = _DECLARED.match(line)
        if declared and (declared[3] or declared[4]) in names:
            found.setdefault(declared[1], set()).add((int(declared[2]), declared[3] or declared[4]))
    return found


# ---- where in a function a thread is: of one that has exited an emulator knows by that whether it left before a call of its
# warp, or came past it

_MOST_STEPS = 64
"""Of a function (cpp/block.h)."""

_FUNCTION = re.compile(r"[^;{}]*\bvoid\s+\w[^;{}]*\)\s*(?:const\s*)?\{")
_RETURN = re.compile(r"\breturn\s*;")
_STEP = re.compile(r"(?<=[;}])(?=\s*(?:if|for|switch|return)\b)")
_END = re.compile(r"(?:(?<=[;}])\s*\breturn\s*;)?\s*$")
_WARP_CALL = re.compile(r"_sync\s*\(|\b__syncwarp\b|\bcooperative_groups\b")


def have_warp_calls(texts: Iterable[str]) -> bool:
    """Whether a warp's lanes may wait for one another in one of them."""
    return any(_WARP_CALL.search(text) for text in texts)


def mark_steps(text: str) -> str:
    """The same, each line where it was, with `emulator_step(number);` where a function begins, before each statement of its
    body that may return, and at its end.

    In functions from which a thread can return early; where there are none but kernels, in all of these.
    """
    code = readable(text)
    heads = [match for match in _FUNCTION.finditer(code) if "constexpr" not in match[0]]
    found = [(match, closing(code, match.end() - 1) - 1) for match in heads]
    kernels = ["__global__" in match[0] for match, _ in found]
    early = [bool(_RETURN.search(code, match.end(), end)) for match, end in found]
    is_alone = all(kernel for kernel, returns in zip(kernels, early, strict=True) if returns)
    marks = [
        (at, number * _MOST_STEPS + min(step, _MOST_STEPS - 1))
        for number, (match, end) in enumerate(found, 1)
        if early[number - 1] or (kernels[number - 1] and is_alone)
        for step, at in enumerate(_steps(code, match.end(), end))
    ]
    for at, number in sorted(marks, reverse=True):
        text = f"{text[:at]} emulator_step({number});{text[at:]}"
    return text


def _steps(code: str, start: int, end: int) -> list[int]:
    """Where the steps of a body begin, and its end; a `return` there leads no other way."""
    body = code[start:end]
    depths = accumulate((c in "([{") - (c in ")]}") for c in body)
    flat = "".join(" " if depth else c for c, depth in zip(body, depths, strict=True))
    places = [0, *(match.start() for match in _STEP.finditer(flat))]
    last = _END.search(flat)
    return [start + at for at in (*places, last.start() if last else len(flat))]


# ---- shifts in the words of cpp/shifts.h, which does what a GPU does where there are too few bits

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
