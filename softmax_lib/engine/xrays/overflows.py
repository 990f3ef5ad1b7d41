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

    def line_of(at: int) -> int:
        return code.count("\n", 0, at) + 1

    return [
        " ".join(found[0].split())
        for found in re.finditer("[^;{}]+", code)
        if line_of(found.start()) <= line <= line_of(found.end())
    ]


def _is_meant(statement: str, code: str) -> bool:
    """Whether it looks like a hash: bits are mixed, or something is multiplied by itself and more, or by a large odd number."""
    names = "|".join(re.findall(r"[A-Za-z_]\w*", statement)) or "(?!)"
    defined = (
        rf"\b(?:const\w*|define)\b[^;=\n]*\b(?:{names})\b\s*=?\s*\(?(0[xX][0-9a-fA-F]+|[1-9]\d*)"
    )
    numbers = (*_LITERAL.findall(statement), *re.findall(defined, code))
    values = [int(number, 0) for number in numbers if not re.match(r"0\d", number)]
    if re.search(r"[\^~]", statement) or any(
        v in (31, 37, 131) or (v % 2 and v >= 1000) for v in values
    ):
        return True
    changed = _ASSIGNED.search(statement)
    if changed is None:
        return False
    name, right = changed.groups()
    mixes = rf"\b{name}\b\s*\)*\s*(?:\*|<<|>>)|(?:\*|<<|>>)\s*\(*\s*{name}\b"
    return bool(re.search(mixes, right) and re.search(r"[-+]|<<", right))
