"""An x-ray in the book: a kernel's text with the counters in its margin, and kernels side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from softmax_lib.engine.source import Source
from softmax_lib.engine.words import plural
from softmax_lib.engine.xrays.changes import Change
from softmax_lib.engine.xrays.lines import Access, LineCounters
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.show.drawings import listings
from softmax_lib.show.drawings.listings import Part
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.registry import resolve
from softmax_lib.worklog.xray import xray

STYLE = """<style>
.worklog-xray{overflow-x:auto;margin:.5rem 0 1rem}
.worklog-xray table{border-collapse:collapse;font-size:.8em;line-height:1.5;margin:0;width:auto}
.worklog-xray :is(th,td){padding:0 .6em;border:0;text-align:right;white-space:nowrap;vertical-align:top;background:none}
.worklog-xray thead th{border-bottom:1px solid currentColor}
.worklog-code.worklog-xray :is(td,th):last-child{text-align:left;padding-left:.8em;border-left:1px solid currentColor}
.worklog-xray pre{margin:0;padding:0;border:0;background:none;font-size:1em;line-height:inherit;overflow:visible;white-space:pre}
.worklog-xray td>div{position:relative;height:1.5em}
.worklog-xray .worklog-heat{position:absolute;right:0;bottom:0;height:.25em;background:#d55e00}
.worklog-xray .worklog-change :is(th,td){font-style:italic}
.worklog-code.worklog-xray .worklog-change td:last-child{white-space:normal;min-width:14em}
@media (max-width:600px){.worklog-xray table{font-size:.7em}.worklog-xray :is(th,td){padding:0 .3em}}
</style>
"""

_TABLE = """\
<div class="worklog-xray{{ also }}" tabindex="0" role="group" aria-label="{{ label }}"><table><thead><tr>\
{% for name in head %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead><tbody>\
{% for row in rows %}<tr><th scope="row">{{ row[0] }}</th>\
{% for cell in row[1:] %}<td>{{ cell }}</td>{% endfor %}</tr>{% endfor %}</tbody></table></div>"""

_MARGIN = """\
<p>{{ words }}</p><div class="worklog-xray worklog-code" tabindex="0" role="group" \
aria-label="{{ kernel }} with its counters"><table><thead><tr>\
{% for name in ("line", "requests", "each takes", "wasted", "code") %}<th scope="col">{{ name }}</th>{% endfor %}\
</tr></thead><tbody>\
{% for file, lines in parts %}\
{% if file %}<tr><td colspan="4"></td><th scope="rowgroup">{{ file }}</th></tr>{% endif %}\
{% for line in lines %}<tr><th scope="row">{{ line.number }}</th>\
<td>{% for one in line.counted %}<div>{{ one.requests }}</div>{% endfor %}</td>\
<td>{% for one in line.counted %}<div>{{ one.takes }}</div>{% endfor %}</td>\
<td>{% for one in line.counted %}<div>{{ one.wasted }}\
{% if one.heat %}<span class="worklog-heat" style="width:{{ one.heat }}em"></span>{% endif %}</div>{% endfor %}</td>\
<td><pre class="highlight">{{ line.code or " " }}</pre></td></tr>\
{% for one in line.changed %}<tr class="worklog-change"><th scope="row">written</th>\
<td>{{ one.requests }}</td><td>{{ one.takes }}</td><td></td><td>{{ one.what }}</td></tr>{% endfor %}\
{% endfor %}{% endfor %}\
</tbody></table></div>"""


_UNITS = {"global": "sector", "local": "sector", "shared": "wavefront"}


def counters_table(
    label: str, head: Sequence[str], rows: Sequence[Sequence[Any]], also: str = ""
) -> Markup:
    """Counters in a table that looks as a margin does, for a page that has `STYLE`; `also` is a further class of it."""
    return render(_TABLE, label=label, head=head, rows=rows, also=f" {also}" if also else "")


def margin(
    name_or_source: str | Path | Kernel | Source,
    rows: int = 64,
    cols: int = 4096,
    block_size: int | None = None,
    *,
    phase: Part | None = None,
    path: str | None = None,
) -> View:
    """A kernel's text with what each line asks of memory in the margin, counted on (rows, cols).

    `path` is as for `xray`. `phase` picks a part of the text as `listings.source` does; lines of headers that ask for
    something follow. Raises what `xray` raises, and `BadInput` for a part that is not there.
    """
    kernel = resolve(name_or_source)
    return margin_of(xray(kernel, rows, cols, block_size, path=path), kernel.source, phase)


def margin_of(found: XRay, source: Source, phase: Part | None = None) -> View:
    """The same of an x-ray that is there already, of the kernel in `source`."""
    lines = source.text.splitlines()
    start, end = listings.parts(source).get("header", (0, 0))[1], len(lines)
    if phase is not None:
        start, end = listings.find_part(source, phase)
    while start < end and not lines[start].strip():
        start += 1
    shown = list(enumerate(lines[start:end], start + 1))
    parts = [("", _lines(found, source.file_name, shown))]
    if phase is None:
        parts += [(name, _touched(found, name, text)) for name, text in source.headers.items()]
    words = in_words(found)
    shown_parts = [part for part in parts if part[1]]
    body = render(_MARGIN, words=words, kernel=found.kernel, parts=shown_parts)
    return View(listings.STYLE + STYLE + str(body), words)


def in_words(found: XRay) -> str:
    """Such as "naive on (64, 4096), 2 blocks of 32 threads: 4194304 bytes asked for, ..."."""
    total = found.total
    barriers = total["barriers"] / found.blocks
    share = total["bytes_asked"] / total["bytes_moved"] if total["bytes_moved"] else 1
    return (
        f"{found.words}: {total['bytes_asked']:,} bytes asked for, {total['bytes_moved']:,} moved, "
        f"{share:.1%} of use; {barriers:g} {plural(barriers, 'barrier')} per block; "
        f"{found.counted}."
    )


def _touched(found: XRay, file: str, text: str) -> list[dict[str, Any]]:
    """The lines of a header that ask for something."""
    lines = text.splitlines()
    every: tuple[Access, ...] = (*found.lines, *found.changes)
    numbers = {one.line for one in every if one.file == file}
    return _lines(found, file, [(number, lines[number - 1]) for number in sorted(numbers)])


def _lines(found: XRay, file: str, lines: Sequence[tuple[int, str]]) -> list[dict[str, Any]]:
    """What the template has for each line: number, code as HTML, and what was counted there."""
    if not lines:
        return []
    most = max((counters.bytes_moved for counters in found.lines), default=0) or 1
    code = listings.highlight_lines(textwrap.dedent("\n".join(line for _, line in lines)) + "\n")
    return [
        {
            "number": number,
            "code": Markup(marked_up),
            "counted": [_cells(one, most) for one in found.lines if _is_at(one, file, number)],
            "changed": [_change(one) for one in found.changes if _is_at(one, file, number)],
        }
        for (number, _), marked_up in zip(lines, code, strict=True)
    ]


def _is_at(one: Access, file: str, line: int) -> bool:
    return (one.file, one.line) == (file, line)


def _cells(counters: LineCounters, most: int) -> dict[str, str]:
    """Requests, what each takes, and the share wasted with a bar, `most` bytes at its longest."""
    cells = {"requests": f"{counters.requests:,}", "takes": _takes(counters)}
    if counters.space != "global":
        return {**cells, "wasted": "", "heat": ""}
    wasted, moved = counters.bytes_wasted, counters.bytes_moved
    heat = f"{4 * wasted / most:.2g}" if wasted else ""
    return {**cells, "wasted": f"{wasted / moved if moved else 0:.0%}", "heat": heat}


def _change(one: Change) -> dict[str, str]:
    """What the source asks for at a line, and what the compiler made of it."""
    requests, units = one.written
    takes = _share(units / requests, _UNITS[one.space]) if requests else ""
    return {"requests": f"{requests:,}", "takes": takes, "what": f"{one.operation}: {one.what}"}


def _takes(counters: LineCounters) -> str:
    if counters.space == "shared":
        return _share(counters.wavefronts / counters.requests, "wavefront")
    if counters.space == "cluster":
        return "another block's"
    if counters.space:
        return _share(counters.sectors_a_request, "sector")
    return counters.operation.replace("_", " ")


def _share(number: float, thing: str) -> str:
    text = f"{number:.3g}"
    return f"{text} {thing}" if text == "1" else f"{text} {thing}s"
