"""Which overflows of an int are mistakes: those of an index or a size. Hashes and random numbers are meant to wrap."""

from __future__ import annotations

import re

from softmax_lib.engine.declarations import blank_opaque

_ARITHMETIC = re.compile(r"[-+*]")
_CHAIN = re.compile(r"[\w.]+(?:\s*[-+*]\s*(?:\(\w+\)\s*)?[\w.]+)+")
_ASSIGNED = re.compile(r"(\w+)\s*(?:[-+*]|<<|>>)?=(?!=)([^;]*)")
_COMPARES = re.compile(r"(?<![<>-])[<>]=?(?![<>])")
_ALLOCATES = re.compile(r"\b(?:malloc|new|mem(?:cpy|move|set))\b|\*\s*\w+\s*=|^\s*return\b")
_LITERAL = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b")


def describe_overflow(text: str, line: int, result: int) -> str | None:
    """Such as "rows * cols is 4900000000" of the `line` of a source's text; None where it is none of an index or a size."""
    code = blank_opaque(text)
    statements = [one for one in _statements(code, line) if _ARITHMETIC.search(one)]
    if any(_is_meant(one, code) for one in statements):
        return None
    for statement in statements:
        if expression := _index_or_size(statement, code):
            chain = _CHAIN.search(expression)
            is_all = chain and len(_ARITHMETIC.findall(chain[0])) == 1
            what = chain[0] if chain else statement.rpartition(") ")[2]
            return f"{what} {'is' if is_all else 'comes to'} {result}"
    return None


def _statements(code: str, line: int) -> list[str]:
    """Those of which some is in the line."""
    starts = [0, *(end.end() for end in re.finditer("\n", code)), len(code) + 1]
    low, high = starts[line - 1], starts[line] - 1
    first = max(code.rfind(mark, 0, low) for mark in ";{}") + 1
    last = re.compile("[;{}]").search(code, high)
    return [
        " ".join(one.split())
        for one in re.split("[;{}]", code[first : last.start() if last else None])
    ]


def _is_meant(statement: str, code: str) -> bool:
    """Whether it looks like a hash: bits are mixed, or something is multiplied by itself and more, or by a large odd number."""
    values = [
        int(number, 0) for number in _LITERAL.findall(statement) if not re.match(r"0\d", number)
    ]
    for name in set(re.findall(r"[A-Za-z_]\w*", statement)):
        values += (
            int(n, 0)
            for n in re.findall(
                rf"\b(?:const\w*|define)\b[^;=\n]*\b{name}\b\s*=?\s*\(?(0[xX][0-9a-fA-F]+|[1-9]\d*)",
                code,
            )
        )
    if re.search(r"[\^~]", statement) or any(
        v in (31, 37, 131) or (v % 2 and v >= 1000) for v in values
    ):
        return True
    changed = _ASSIGNED.search(statement)
    name, right = (changed[1], changed[2]) if changed else ("", "")
    mixes = rf"\b{name}\b\s*\)*\s*(?:\*|<<|>>)|(?:\*|<<|>>)\s*\(*\s*{name}\b"
    return (
        bool(changed)
        and re.search(mixes, right) is not None
        and re.search(r"[-+]|<<", right) is not None
    )


def _index_or_size(statement: str, code: str) -> str:
    """The expression that is an index or a size; "" without one."""
    for inside in re.findall(r"\[([^][]*)\]", statement):
        if _ARITHMETIC.search(inside):
            return inside.strip()
    changed = _ASSIGNED.search(statement)
    right = changed[2].strip() if changed else statement.strip()
    if _ALLOCATES.search(statement) or _COMPARES.search(statement):
        return right
    return right if changed and _is_used_as_index(changed[1], code) else ""


def _is_used_as_index(name: str, code: str) -> bool:
    """Whether it, or what is computed of it, is in brackets, compared, or added to a pointer."""
    names, known = {name}, 0
    while len(names) > known:
        known = len(names)
        names |= {to for to, of in _ASSIGNED.findall(code) if names & set(re.findall(r"\w+", of))}
    one = rf"\b(?:{'|'.join(names)})\b"
    pointers = "|".join(
        {"a^", *re.findall(r"\*\s*(?:(?:__restrict__|const)\s+)*(\w+)\s*[,)=;]", code)}
    )
    used = rf"\[[^];]*{one}|{_COMPARES.pattern}\s*{one}|{one}\s*{_COMPARES.pattern}|\b(?:{pointers})\s*\+=?\s*{one}"
    return re.search(used, code) is not None
