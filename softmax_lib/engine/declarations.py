"""The kernels that a CUDA source declares, read from its text: names, and parameters as they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate, pairwise

from softmax_lib.engine.errors import BlockSizeNotAllowed

_OPAQUE = re.compile(
    r'R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/',
    re.DOTALL,
)
"""Comments, strings and characters, whatever they hold."""

REST = r"(?:[^\n\\]|\\.|\\\n)*"
"""Of a line, and of those that it is continued on."""
DIRECTIVE = re.compile(rf"^[ \t]*#{REST}", re.MULTILINE)
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(.*)$")
ATTRIBUTE = re.compile(
    r"\b(__launch_bounds__|__cluster_dims__|__maxnreg__|__attribute__|__align__|alignas)\s*\("
)
_BRACKET = re.compile(r"[][(){}]")
_KERNEL = re.compile(r"\b__global__\b")
_HEAD = re.compile(r"[^;{}()]*?\b(\w+)\s*\(")
_CLUSTER = re.compile(r"__cluster_dims__\s*\(([\d\s,]+)\)")
_BOUNDS = re.compile(r"__launch_bounds__\s*\(\s*(\d+)\s*[,)]")
_VARIABLE = re.compile(
    r"__(device|constant|managed)__(?:\s*(?:__align__|alignas)\s*\([^)]*\)|[^;{}()])*?\b(?<!struct )(?<!class )(?<!union )(\w+)\s*(?:\[[^;{}()]*\]\s*)*[;={]"
)
_SCOPE = re.compile(r"\bnamespace\s+([\w:]*)\s*\{|[{}]")
_NAME_AT_END = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=.*)?$", re.DOTALL)


@dataclass(frozen=True)
class Declaration:
    """A `__global__` function: `parameters` are as the source writes them, "const float* x".

    `cluster` and `most_threads` are what `__cluster_dims__` and `__launch_bounds__` say in digits.
    """

    name: str
    parameters: tuple[str, ...]
    is_template: bool
    line: int
    cluster: tuple[int, ...] = ()
    most_threads: int | None = None

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """What each parameter is called; its number where it has no name."""
        found = (_NAME_AT_END.search(text) for text in self.parameters)
        return tuple(match[1] if match else str(i) for i, match in enumerate(found))

    def check_threads(self, threads: int) -> None:
        """Raises `BlockSizeNotAllowed` for a block that is larger than its `__launch_bounds__`."""
        if self.most_threads is not None and threads > self.most_threads:
            raise BlockSizeNotAllowed(
                f"The block has {threads} threads; {self.name} says __launch_bounds__({self.most_threads})."
            )


def find_kernels(text: str) -> tuple[Declaration, ...]:
    """The kernels of a source, from the first to the last, each once.

    What is in comments, strings or behind `#if 0` does not count; kernels that macros make are not seen.
    """
    whole = readable(text)
    code = _without_attributes(whole)
    found: dict[str, Declaration] = {}
    for at in _KERNEL.finditer(code):
        head = _HEAD.match(code, at.end())
        if head is None:
            continue
        start = max(code.rfind(mark, 0, at.start()) for mark in ";}{")
        is_template = "template" in code[start + 1 : at.start()]
        inside = code[head.end() : closing(code, head.end() - 1) - 1]
        name = "::".join((*_scopes(code, at.start()), head[1]))
        line = code.count("\n", 0, head.start(1)) + 1
        around = whole[start + 1 : head.end()]
        cluster, bounds = _CLUSTER.search(around), _BOUNDS.search(around)
        declared = Declaration(
            name,
            tuple(_split(inside)),
            is_template,
            line,
            tuple(int(number) for number in cluster[1].split(",")) if cluster else (),
            int(bounds[1]) if bounds else None,
        )
        found.setdefault(name, declared)
    return tuple(found.values())


def find_variables(text: str) -> dict[str, bool]:
    """The `__device__`, `__constant__` and `__managed__` variables by name, and whether one is a constant."""
    code = readable(text)
    return {
        "::".join((*_scopes(code, match.start()), match[2])): match[1] == "constant"
        for match in _VARIABLE.finditer(code)
    }


def blank_opaque(text: str) -> str:
    """Spaces in place of comments and of what is in quotes, each line where it was."""

    def blanked(match: re.Match) -> str:
        kept = match[0][0] if match[0][0] in "\"'" else " "
        return kept + "".join("\n" if c == "\n" else " " for c in match[0][1:-1]) + kept

    return _OPAQUE.sub(blanked, text)


def readable(text: str) -> str:
    """Spaces in place of all that is no code, of what is behind `#if 0` and of the preprocessor's own lines, each character where it was."""
    code = blank_opaque(text)
    lines = DIRECTIVE.sub(_without_macros, code).split("\n")
    waiting: list[list[int]] = []
    for at, line in enumerate(lines):
        found = _CONDITIONAL.match(line)
        if found and found[1].startswith("if"):
            waiting.append([at])
        elif found and waiting:
            waiting[-1].append(at)
            if found[1] == "endif":
                _choose_branch(lines, waiting.pop())
    return "\n".join(" " * len(line) if _CONDITIONAL.match(line) else line for line in lines)


def _without_macros(directive: re.Match) -> str:
    return directive[0] if _CONDITIONAL.match(directive[0]) else re.sub(r"[^\n]", " ", directive[0])


def _choose_branch(lines: list[str], marks: list[int]) -> None:
    """Blank what is behind `#if 0`; and all branches but the first where one has half of a pair of braces."""
    branches = list(pairwise(marks))
    dead = [re.fullmatch(r"\s*#\s*if\s+0\s*", lines[start]) is not None for start, _ in branches]
    halves = any(not _is_balanced("".join(lines[start + 1 : end])) for start, end in branches)
    first = dead.index(False) if False in dead else 0
    for number, (start, end) in enumerate(branches):
        if dead[number] or (halves and number != first):
            for at in range(start + 1, end):
                lines[at] = " " * len(lines[at])


def _is_balanced(code: str) -> bool:
    depths = [*accumulate((1 if c == "{" else -1 for c in re.findall("[{}]", code)), initial=0)]
    return min(depths) == depths[-1] == 0


def _without_attributes(code: str) -> str:
    """Spaces in place of what declares bounds and attributes between `__global__` and the name."""
    while match := ATTRIBUTE.search(code):
        end = closing(code, match.end() - 1)
        gap = re.sub(r"[^\n]", " ", code[match.start() : end])
        code = code[: match.start()] + gap + code[end:]
    return code


def closing(code: str, opening: int) -> int:
    """Behind the bracket that closes the one at `opening`."""
    depth = 0
    for bracket in _BRACKET.finditer(code, opening):
        depth += 1 if bracket[0] in "([{" else -1
        if depth == 0:
            return bracket.end()
    return len(code)


def _scopes(code: str, end: int) -> list[str]:
    """The namespaces that are open at `end`."""
    opened: list[str] = []
    for match in _SCOPE.finditer(code, 0, end):
        if match[0] == "}":
            del opened[-1:]
        else:
            opened.append(match[1] or "")
    return [name for name in opened if name]


def _split(parameters: str) -> list[str]:
    """At commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(parameters):
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(
            character, 0
        )
        if character == "," and depth == 0:
            parts.append(parameters[start:at])
            start = at + 1
    words = [" ".join(part.split()) for part in (*parts, parameters[start:])]
    return [word for word in words if word and word != "void"]
