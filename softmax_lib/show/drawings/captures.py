"""What a tool printed on a GPU, as it came: its command, the lines that matter, and what to read in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from softmax_lib.records.reading import read_json, require_types
from softmax_lib.records.shelf import FOLDER
from softmax_lib.widgets.markup import markdown, render
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput

CAPTURED = FOLDER / "captured"
"""NAME.txt, a line `$ command` and what it printed, and provenance.json; `python tests/capture.py` writes all."""
LEFT_OUT = "⋯"
_WIDEST = 52
"""Letters for which there is room beside a note."""

_STYLE = """<style>
.worklog-captured{margin:.5rem 0 1rem;font-size:.9rem;overflow-x:auto}
.worklog-captured table{border-collapse:collapse;width:100%;margin:0}
.worklog-captured.worklog-captured td{padding:0 .5em;border:0;vertical-align:top;text-align:left;background:none}
.worklog-captured code{display:block;padding:0;border:0;background:none;color:inherit;font-size:.8em;line-height:1.5;white-space:pre-wrap;overflow-wrap:anywhere;padding-left:2em;text-indent:-2em}
.worklog-captured .worklog-command code{font-weight:700}
.worklog-captured td+td{width:40%;border-left:3px solid #1f7fc4;line-height:1.35}
.worklog-captured td+td p{margin:0}
.worklog-captured td+td code{display:inline;padding:0;font-size:.9em}
@media (max-width:700px){.worklog-captured :is(tbody,tr,td){display:block}.worklog-captured td+td{width:auto;margin:0 0 .25rem 1rem}}
</style>
"""
_TABLE = """\
<div class="worklog-captured"><table><tbody>{% for line, note in lines %}\
<tr{% if loop.first %} class="worklog-command"{% endif %}><td{% if not note %} colspan="2"{% endif %}>\
<code>{{ line or " " }}</code></td>{% if note %}<td>{{ note }}</td>{% endif %}</tr>{% endfor %}</tbody></table>\
<p class="worklog-source">{{ source }}</p></div>"""


def captured(
    name: str, notes: Mapping[str, str] | None = None, keep: Sequence[str] | None = None
) -> View:
    """What the command kept under `name` printed, with notes in Markdown beside the lines that they explain.

    A key of `notes` is a part of its line, the first that has it. `keep` has parts of the lines that stay beside those
    with notes; without it all do. Raises `BadInput` for a name that there is not, and for a part that no line has.
    """
    command, *lines = read_captured(name)
    beside = {_find(lines, part, name): str(note) for part, note in (notes or {}).items()}
    kept = set(range(len(lines)))
    if keep is not None:
        kept = {*beside, *(_find(lines, part, name) for part in keep)}
    shown = [(command, ""), *_shown(lines, beside, kept)]
    source = source_of_captured(command)
    rows = [(_narrow(line), markdown(note) if note else "") for line, note in shown]
    html = render(_TABLE, lines=rows, source=source)
    words = "\n".join(f"{line}  <- {note}" if note else line for line, note in shown)
    return View(_STYLE + str(html), f"{words}\n{source}")


def read_captured(name: str) -> list[str]:
    """The command, after "$ ", and each line that it printed. Raises `BadInput` for a name that there is not."""
    path = CAPTURED / f"{name}.txt"
    if not path.is_file():
        there = ", ".join(sorted(one.stem for one in CAPTURED.glob("*.txt"))) or "none"
        raise BadInput(f"Nothing was captured as {name!r:.40}; there are {there}.")
    return path.read_text(encoding="utf-8").splitlines()


def source_of_captured(command: str) -> str:
    """Where it was captured, and with which version of the tool that `command` starts. Raises `BadInput`."""
    found: dict[str, Any] = read_json(CAPTURED / "provenance.json", "provenance")
    require_types(found, {**dict.fromkeys(("gpu", "driver", "cuda", "date"), str), "tools": dict[str, str]})  # fmt: skip
    tools = [f"{tool} {version}, " for tool, version in found["tools"].items() if tool in command.split()]  # fmt: skip
    return f"{''.join(tools)}{found['gpu']}, driver {found['driver']}, CUDA {found['cuda']}, {found['date']}"


def _narrow(line: str) -> str:
    """Without the gaps of a table that is made for a wide terminal."""
    return re.sub(r"(?<=\S) {4,}", "   ", line) if len(line) > _WIDEST else line


def _find(lines: Sequence[str], part: str, name: str) -> int:
    for at, line in enumerate(lines):
        if part in line:
            return at
    raise BadInput(f"No line of {name} has {part!r:.60}.")


def _shown(
    lines: Sequence[str], beside: Mapping[int, str], kept: set[int]
) -> Iterator[tuple[str, str]]:
    """Those that are kept with their notes, and a mark for each run of others that say something."""
    left_out = False
    for at, line in enumerate(lines):
        if at in kept:
            if left_out:
                yield LEFT_OUT, ""
            yield line, beside.get(at, "")
        left_out = at not in kept and (left_out or any(map(str.isalnum, line)))
    if left_out:
        yield LEFT_OUT, ""
