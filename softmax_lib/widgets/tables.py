"""Tables: a heading per column, a row per line, and where wanted a bar behind its last number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from softmax_lib.engine.errors import BadInput
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View

STYLE = Markup("""<style>
.worklog-table{border-collapse:collapse;width:auto;margin:.5rem 0}
.worklog-table caption{caption-side:top;text-align:left;padding:0 0 .4em}
.worklog-table :is(th,td){text-align:right;padding:.1em .6em}
.worklog-table :is(th,td):first-child{text-align:left}
.worklog-table td{white-space:nowrap}
.worklog-table .worklog-bar{min-width:min(6em,15vw)}
.worklog-wide{overflow-x:auto}
</style>
""")

_MOST_ON_A_PHONE = 5
"""Columns: a wider table scrolls by itself, and so has to be reachable by keyboard."""

_TABLE = """\
{% if wide %}<div class="worklog-wide" tabindex="0" role="group" aria-label="{{ caption or head[0] }}">{% endif %}\
<table class="worklog-table">\
{% if caption %}<caption>{{ caption }}</caption>{% endif %}\
{% if head %}<thead><tr>\
{% for name in head %}{% if name %}<th scope="col">{{ name }}</th>{% else %}<td></td>{% endif %}\
{% endfor %}</tr></thead>{% endif %}<tbody>\
{% for cells, end in rows %}<tr><th scope="row">{{ cells[0] }}</th>\
{% for cell in cells[1:] %}<td{% if end and loop.last %} class="worklog-bar" \
style="background:linear-gradient(90deg,#0072b255 {{ end }},transparent {{ end }})"\
{% endif %}>{{ cell }}</td>{% endfor %}</tr>{% endfor %}</tbody></table>{% if wide %}</div>{% endif %}"""


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    bars: Sequence[float] | None = None,
    *,
    caption: str = "",
) -> View:
    """Cells under their headings; the first of each row is its name. Without `head` there are none.

    `bars` has a share, 0 to 1, for each row: so far reaches the bar behind its last cell. Raises
    `BadInput` for an empty row, rows that do not fit the headings, or bars that do not fit the rows
    or are no shares.
    """
    if any(len(row) == 0 for row in rows):
        raise BadInput("Each row needs at least one cell.")
    if any(head and len(row) != len(head) for row in rows):
        raise BadInput(f"Each row needs {len(head)} cells, one under each heading.")
    if bars is not None and len(bars) != len(rows):
        raise BadInput(f"{len(bars)} bars do not fit {len(rows)} rows.")
    if bars is not None and not all(share >= 0 for share in bars):
        raise BadInput(f"A bar is a share from 0 to 1, unlike one of {list(bars)}.")
    ends = [""] * len(rows) if bars is None else [f"{min(share, 1):.0%}" for share in bars]
    lines = [([str(cell) for cell in row], end) for row, end in zip(rows, ends, strict=True)]
    wide = len(head) > _MOST_ON_A_PHONE
    html = render(_TABLE, head=head, rows=lines, caption=caption, wide=wide)
    words = "; ".join(" ".join(cells) for cells, _ in lines)
    return View(str(STYLE + html), f"{caption}: {words}" if caption else words)
