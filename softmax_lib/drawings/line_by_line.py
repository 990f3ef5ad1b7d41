"""A kernel's whole text with what each line does in words above it, from kernels/in_words/."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from softmax_lib.drawings import listings
from softmax_lib.errors import BadInput
from softmax_lib.source import KERNEL_FOLDER, Source
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View

_COLUMNS = 76

# what scrolls sideways takes the code along, and leaves the words where they can be read
STYLE = """<style>
.worklog-explained{overflow-x:auto;container-type:inline-size;margin:.5rem 0 1rem}
.worklog-explained>div{width:max-content;min-width:100%}
.worklog-explained p{position:sticky;left:0;width:100cqw;box-sizing:border-box;margin:.5em 0 0;padding:.1em .6em;border-left:4px solid #1f7fc4;font-size:.85em;line-height:1.45;user-select:none}
.worklog-code.worklog-explained pre{margin:0;padding:.1em .6em;border:0;background:none;overflow:visible}
</style>
"""

_LISTING = """\
<div class="worklog-code worklog-explained" tabindex="0" role="group" aria-label="{{ name }}, line by line"><div>\
{% for words, lines in groups %}\
{% if words %}<p>{{ words }}</p>{% endif %}\
<pre class="highlight">{% for number, line in lines %}<span class="linenos">{{ number }}</span>{{ line }}
{% endfor %}</pre>\
{% endfor %}</div></div>"""


@dataclass(frozen=True)
class Explained:
    """What some lines of a text that follow each other do, in words; those on top may have none."""

    words: str
    lines: range
    """Indices of its lines."""


def explained(name: str) -> View:
    """The whole text of a CUDA kernel, or of a header, and above its lines what they do.

    What is copied is the kernel alone. Raises `UnknownKernel`, and `BadInput` where nobody has put
    that kernel into words.
    """
    given = listings.read(name)
    marked_up = listings.highlight_lines(given.text)
    plain = given.text.splitlines()
    groups = explain(given)
    shown = [
        (one.words, [(f"{i + 1:3} ", Markup(marked_up[i])) for i in one.lines]) for one in groups
    ]
    body = render(_LISTING, name=given.file_name, groups=shown)
    return View(listings.STYLE + STYLE + str(body), "\n".join(_as_text(plain, groups)))


def explain(given: Source) -> list[Explained]:
    """A text's lines in the groups of kernels/in_words/, which has for each how its first line begins.

    A line that begins like the next entry starts a new group, with the comments right above it.
    Raises `BadInput` where there are no words for the text, or an entry is nowhere in it.
    """
    path = KERNEL_FOLDER / "in_words" / f"{given.file_name}.txt"
    if not path.is_file():
        raise BadInput(f"{given.file_name} has not been put into words.")
    lines = given.text.splitlines()
    said, starts, after = [""], [0], 0
    for begins, words in _entries(path.read_text(encoding="utf-8")):
        rest = range(after, len(lines))
        at = next((i for i in rest if lines[i].strip().startswith(begins)), None)
        if at is None:
            raise BadInput(f"{path.name} has words for {begins!r}, which does not come next.")
        said.append(words)
        starts.append(_with_comments(lines, at))
        after = at + 1
    ends = [*starts[1:], len(lines)]
    groups = zip(said, map(range, starts, ends), strict=True)
    return [Explained(words, span) for words, span in groups if span]


def _entries(text: str) -> list[tuple[str, str]]:
    """How a line begins, and the indented words under it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(" "):
            found[-1][1].append(line.strip())
        elif line:
            found.append((line, []))
    return [(start, " ".join(words)) for start, words in found]


def _with_comments(lines: Sequence[str], at: int) -> int:
    """The first of the comments right above a line, but for those on top of the file."""
    above = at
    while above and lines[above - 1].strip().startswith(("//", "#pragma", "# ")):
        above -= 1
    return above or at


def _as_text(lines: Sequence[str], groups: Sequence[Explained]) -> list[str]:
    """Numbered lines, with the words indented above them."""
    shown = []
    for one in groups:
        shown += textwrap.wrap(
            one.words, _COLUMNS, initial_indent="    ~ ", subsequent_indent="    ~ "
        )
        shown += [f"{i + 1:3} {lines[i]}".rstrip() for i in one.lines]
    return shown
