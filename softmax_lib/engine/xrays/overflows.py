"""Which overflows of an int are mistakes: all but those of hashes and random numbers, which are meant to wrap."""

from __future__ import annotations

import re

from softmax_lib.engine.declarations import blank_opaque

_ARITHMETIC = re.compile(r"[-+*]")
_CHAIN = re.compile(r"[\w.]+(?:\s*[-+*]\s*(?:\(\w+\)\s*)?[\w.]+)+")
_ASSIGNED = re.compile(r"(\w+)\s*(?:[-+*]|<<|>>)?=(?!=)([^;]*)")
_LITERAL = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b")


def describe_overflow(text: str, line: int, result: int) -> str | None:
    """Such as "rows * cols is 4900000000" of the `line` of a source's text; None where it is meant."""
    code = blank_opaque(text)
    statements = [one for one in _statements(code, line) if _ARITHMETIC.search(one)]
    if any(_is_meant(one, code) for one in statements):
        return None
    if not statements:
        return f"an int comes to {result}"
    changed = _ASSIGNED.search(statements[0])
    expression = changed[2].strip() if changed else statements[0]
    chain = _CHAIN.search(expression)
    is_all = chain and len(_ARITHMETIC.findall(chain[0])) == 1
    return f"{chain[0] if chain else expression} {'is' if is_all else 'comes to'} {result}"


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
