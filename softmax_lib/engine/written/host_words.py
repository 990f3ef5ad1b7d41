"""Words for the host's own compiler, which no GPU heeds: some would turn off the hooks by which an x-ray sees."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from softmax_lib.engine.declarations import blank_opaque, closing
from softmax_lib.engine.written.flags import PRELUDE

_ATTRIBUTES = frozenset(
    "abi_tag aligned alloc_size always_inline artificial assume assume_aligned carries_dependency cold const deprecated "
    "fallthrough flatten format format_arg gnu_inline hot leaf likely malloc may_alias maybe_unused nodiscard noinline "
    "nonnull noreturn nothrow no_unique_address packed pure returns_nonnull unlikely unused used visibility "
    "warn_unused_result".split()
)
"""Those that NVRTC knows, or that change nothing of what a kernel does."""

_LIST = re.compile(r"(?:\b__attribute(?:__)?|\b__declspec|(?=\[\s*\[))\s*([(\[])")
_LISTED = re.compile(r"(\w+)(?!\w|\s*::)")
_PRAGMA = re.compile(
    r"^[ \t]*(#[ \t]*pragma[ \t]+(?:(?:weak|redefine_extname|scalar_storage_order|ms_struct|float_control)\b"
    r"|(?:GCC|clang)[ \t]+(?!pch_preprocess\b|unroll\b|ivdep\b|loop\b|poison\b|(?:diagnostic|warning|error)\b(?!.*-W(?:vla|return-type)))\w+))",
    re.MULTILINE,
)
_NAME = re.compile(
    r"\b(__builtin_(?!(?:addressof|alloca|assume|assume_aligned|bit_cast|copysignf?|expect|FILE|FUNCTION|LINE|COLUMN"
    r"|is_constant_evaluated|is(?:nan|inf|finite)|(?:huge_val|inf|nan)[fl]?|offsetof|unreachable|va_\w+)\b)\w+"
    r"|__(?:sync|atomic)_[a-z]\w*|_mm\d*_\w+|__m(?:64|128|256|512)\w*|__thread"
    r"|(?<!\(\(used\)\) )(?<!__constinit )thread_local)\b"
)
"""Of compilers' own functions NVRTC knows some, and of others the C library's macros are made."""
_LABEL = re.compile(r'\b(?:__)?asm(?:__)?\s*\(\s*"[\w.$]+"\s*\)')
_GOTO = re.compile(r"\b(goto\s*\*)")
_FIRST_VALUE = re.compile(r"(?:\(\(used\)\)|__constinit) thread_local\b[^;(){}=]*(=)(?!=)")
_HEADER = re.compile(r"(<(?:\w*intrin|arm_\w+|cpuid)\.h>)")
_DIGRAPHS = ((r"<:(?!:[^:>])", "[ "), (r":>", "] "), (r"%:", "# "))

_MARKER = re.compile(r'^# (\d+) "([^"\n]*)"([ \d]*)\n', re.MULTILINE)
_ENTRIES = re.compile(r'^extern "C" .*\bemulator_call_0\(', re.MULTILINE)

Piece = tuple[str, int, str]
"""File, first line and text of some of a source."""


def name_host_words(preprocessed: str, folder: Path, here: Path) -> str | None:
    """A sentence about the first of them in a source at `here` or in its headers, all in `folder`; None without any."""
    pieces = list(_own_pieces(preprocessed, folder, here))
    starts = [0, *accumulate(len(text) for _, _, text in pieces)]
    code = "".join(text for _, _, text in pieces)
    for at, what in sorted(_find(code)):
        number = bisect_right(starts, at) - 1
        file, line, _ = pieces[number]
        line += code.count("\n", starts[number], at)
        return (
            f"{file}:{line} uses {what}, which is for the host's compiler; a GPU does not have it."
        )
    return None


def _own_pieces(preprocessed: str, folder: Path, here: Path) -> Iterator[Piece]:
    """What is the reader's, with the name alone of each header of others."""
    marks = [*_MARKER.finditer(preprocessed)]
    are_own = [True]  # of the files that are open now; what #line says changes nothing
    file, line = "", 0
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), None], strict=True):
        path = Path(os.path.normpath(here / mark[2]))
        if mark[3].startswith(" 1"):
            is_own = path.is_relative_to(folder) and not path.name.startswith(PRELUDE)
            if are_own[-1] and not is_own:
                yield file, line, f"<{path.name}>\n"
            are_own.append(is_own)
        elif mark[3].startswith(" 2"):
            are_own.pop()
        if are_own[-1]:
            text = _ENTRIES.split(preprocessed[mark.end() : end])[0]
            is_there = path.is_relative_to(folder)
            file, line = os.path.relpath(path, here) if is_there else path.name, int(mark[1])
            yield file, line, text
            line += text.count("\n")


def _find(code: str) -> Iterator[tuple[int, str]]:
    """Where each begins, and what it is."""
    for digraph, bracket in _DIGRAPHS:
        code = re.sub(digraph, bracket, code)
    bare = blank_opaque(code)
    yield from ((label.start(), "a name for the assembler") for label in _LABEL.finditer(code))
    for found in _FIRST_VALUE.finditer(bare):
        yield found.start(1), "a first value of a __shared__ variable"
    for pattern, text in ((_PRAGMA, code), (_HEADER, bare), (_NAME, bare), (_GOTO, bare)):
        yield from ((found.start(1), found[1]) for found in pattern.finditer(text))
    for listed in _LIST.finditer(bare):
        inside = bare[listed.end() : closing(bare, listed.start(1))]
        yield from ((listed.start(), f"the attribute {name}") for name in _attributes(inside))


def _attributes(listed: str) -> Iterator[str]:
    """The names of a list that are not among `_ATTRIBUTES`, without what each is given."""
    listed, removed = re.sub(r"\busing\s+\w+\s*:", "", listed.strip().lstrip("([")), 1
    while removed:
        listed, removed = re.subn(r"\([^()]*\)", "", listed)
    yield from (name for name in _LISTED.findall(listed) if name.strip("_") not in _ATTRIBUTES)
