"""A kernel's text in the book, as it stands in kernels/: whole, a numbered phase, or what a rung changes."""

from __future__ import annotations

import difflib
import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from softmax_lib.engine.source import Source
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View
from softmax_lib.worklog import selections, tiles
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.files import KERNEL_FOLDER
from softmax_lib.worklog.registry import find_kernel

Part = int | str
"""A phase by its number, or "header", "helpers", "setup", "entry"."""

_PHASE = re.compile(r"(\s*)// (\d+)\. ")
_CONTEXT_LINES = 1

# Where no theme colours code (JupyterLab, Colab); :where() lets the book's own theme win.
STYLE = """<style>
.worklog-code pre{font-size:.8em;line-height:1.5;overflow-x:auto;white-space:pre}
.worklog-code.highlight pre span.linenos{padding:0 1em 0 0;user-select:none}
:where(.worklog-code .c1){color:var(--jp-mirror-editor-comment-color,#5f7f5f)}
:where(.worklog-code :is(.k,.kt,.kr,.cp)){color:var(--jp-mirror-editor-keyword-color,#1f7fc4)}
:where(.worklog-code :is(.mf,.mi,.mh)){color:var(--jp-mirror-editor-number-color,#b4600c)}
.worklog-code code{display:inline-block;min-width:100%;padding:0;border:0;background:none;color:inherit;font-size:inherit}
.worklog-code :is(ins,del,i){display:block;padding-left:.5em;border-left:4px solid transparent;font-style:normal;text-decoration:none}
.worklog-code ins{border-color:#1f7fc4;background:rgb(31 127 196/.15)}
.worklog-code del{border-color:#d55e00;background:rgb(213 94 0/.15)}
</style>
"""

# what scrolls sideways has to be reachable by keyboard
_CODE = '<div class="worklog-code highlight"><pre tabindex="0">{{ inside }}</pre></div>'

_TAGS = {"+": "ins", "-": "del"}
_TAGGED = "<code>{% for tag, line in lines %}<{{ tag }}>{{ line }}</{{ tag }}>{% endfor %}</code>"
_NUMBERED = Markup('<span class="linenos">{}</span>{}')


def source(name: str, phase: Part | None = None) -> View:
    """The text of a kernel, in CUDA or Triton, or of a header such as "block_reduce.cuh", with its line numbers.

    `phase` picks one phase by its number, or "header" (the facts on top), "helpers" (what stands
    before the kernel), "setup" (the kernel before its first phase) or "entry" (the kernel, where the
    phases are in a function that it calls). Raises `UnknownKernel`, and `BadInput` for a phase that
    is not there.
    """
    given = read(name)
    lines = given.text.splitlines()
    start, end = (0, len(lines)) if phase is None else find_part(given, phase)
    chosen = textwrap.dedent("\n".join(lines[start:end]))
    numbered = [f"{start + i:3} {line}" for i, line in enumerate(chosen.splitlines(), 1)]
    python, looks = given.file_name.endswith(".py"), {"linenos": "inline", "wrapcode": False}
    _, _, html = _highlighted(chosen, python, linenostart=start + 1, **looks).partition("<pre>")
    html, _, _ = html.rpartition("</pre>")
    return View(STYLE + _preformatted(Markup(html)), "\n".join(numbered))


def parts(given: Source) -> dict[Part, tuple[int, int]]:
    """Where each part of a kernel's text begins and ends: indices of its first line and of the next."""
    lines = given.text.splitlines()
    header = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    phases = {
        int(m[2]): i for i, line in enumerate(lines) if (m := _PHASE.match(line)) and i > header
    }
    kernel = next((i for i, line in enumerate(lines) if line.startswith('extern "C"')), len(lines))
    first = min([kernel, *phases.values()])
    found: dict[Part, tuple[int, int]] = {"header": (0, header), "helpers": (header, first)}
    if phases and kernel < min(phases.values()):
        found["setup"] = (kernel, min(phases.values()))
    stops = [*list(phases.values())[1:], len(lines)][: len(phases)]  # there may be none
    for (number, start), stop in zip(phases.items(), stops, strict=True):
        indented = lines[start].startswith(" ")
        ends = (i for i in range(start, stop) if indented and lines[i] == "}")
        found[number] = (start, next(ends, stop))
    if phases and kernel > max(phases.values()):
        found["entry"] = (found[max(phases)][1] + 1, len(lines))
    trimmed = {part: _without_blank_ends(lines, *span) for part, span in found.items()}
    return {part: (start, end) for part, (start, end) in trimmed.items() if start < end}


def marked(text: str, own: range) -> View:
    """CUDA text with its line numbers; those of the lines `own`, counted from 1, are marked."""
    lines = [
        (_TAGS["+"] if number in own else "i", _NUMBERED.format(f"{number:3} ", Markup(line)))
        for number, line in enumerate(highlight_lines(text), 1)
    ]
    plain = [f"{number:3} {line}" for number, line in enumerate(text.splitlines(), 1)]
    return View(STYLE + _preformatted(render(_TAGGED, lines=lines)), "\n".join(plain))


def diff(old: str, new: str) -> View:
    """What changes from one kernel to another: lines that go, lines that come, and one line around them.

    The comments on top are left out. Raises `UnknownKernel`.
    """
    sources = [read(name) for name in (old, new)]
    before, after = (one.text.splitlines()[parts(one)["header"][1] :] for one in sources)
    hunks = list(_changes(before, after)) or ["  nothing changes"]
    names = [f"- {sources[0].file_name}", f"+ {sources[1].file_name}"]
    words = names + hunks
    lines = [(_TAGS.get(one[:1], "i"), re.sub("^-", "\N{MINUS SIGN}", one)) for one in words]
    return View(STYLE + _preformatted(render(_TAGGED, lines=lines)), "\n".join(words))


def read(name: str) -> Source:
    """The text of a kernel by its name, or of a header by its file's. Raises `UnknownKernel`."""
    header = KERNEL_FOLDER / name
    if name.endswith(".cuh") and header.is_file():
        return Source.read(header)
    if name in tiles.kernels:
        return tiles.kernels[name].source
    return (selections.kernels.get(name) or find_kernel(name)).source


def find_part(given: Source, phase: Part) -> tuple[int, int]:
    """Where one part begins and ends, as in `parts`. Raises `BadInput` when it is not there."""
    found = parts(given)
    if phase not in found:
        there = ", ".join(map(str, found))
        raise BadInput(f"{given.file_name} has no part {phase!r}; it has {there}.")
    return found[phase]


def _without_blank_ends(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    while start < end and not lines[start].strip():
        start += 1
    while start < end and not lines[end - 1].strip():
        end -= 1
    return start, end


def highlight_lines(text: str) -> list[str]:
    """The lines of CUDA text as HTML, their words in spans that STYLE and the book's theme colour."""
    return _highlighted(text, nowrap=True).split("\n")[: len(text.splitlines())]


def _highlighted(text: str, python: bool = False, **looks: Any) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import CudaLexer, PythonLexer

    lexer = (PythonLexer if python else CudaLexer)(stripnl=False)
    return highlight(text, lexer, HtmlFormatter(**looks))


def _preformatted(inside: Markup) -> str:
    return str(render(_CODE, inside=inside))


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Lines after "- ", "+ " or two spaces; "..." stands where equal lines were left out."""
    compared = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    for line in itertools.islice(compared, 3, None):  # after two file names and the first place
        if line.startswith("@@"):
            yield "  ..."
        elif line[1:].strip():
            yield f"{line[0]} {line[1:]}"
