"""What CUDA's compilers take and other C++ compilers do not, written so that these take it as well."""

from __future__ import annotations

import re

_ALIGNED_SHARED = re.compile(
    r"(?P<before>(?:\b(?:extern|static|volatile|const)\s+)*\b__shared__\s+(?:(?:volatile|const)\s+)*)"
    r"(?P<alignas>alignas\s*\((?:[^()]|\([^()]*\))*\))"
)


def translate(text: str) -> str:
    """The same with `alignas` in front of `__shared__` instead of behind it, each line where it was."""
    return _ALIGNED_SHARED.sub(r"\g<alignas> \g<before>", text)
