"""Local variables that begin without a value, marked in a source so that an x-ray sees who reads them too early."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from softmax_lib.engine.declarations import blank_opaque

Declared = tuple[int, str]
"""The line of a variable's declaration, and its name."""

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
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
    code = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), blank_opaque(text))
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
