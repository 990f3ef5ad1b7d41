"""X-ray's counts and ncu's in one table."""

from __future__ import annotations

import html
from collections.abc import Sequence

from softmax_lib.drawings.margins import STYLE
from softmax_lib.widgets.views import View
from softmax_lib.xrays.agreement import COUNTERS, Comparison


def show_agreement(comparisons: Sequence[Comparison]) -> View:
    """A row a kernel: each counter as x-ray has it, and under it as ncu has it, where they differ marked."""
    heads = "".join(f'<th scope="col">{_heading(name)}</th>' for name in COUNTERS)
    body = "".join(map(_row, comparisons))
    table = (
        '<div class="worklog-xray" tabindex="0" role="region" aria-label="x-ray against ncu"><table>'
        f'<thead><tr><th scope="col">kernel</th><th scope="col">verdict</th>'
        f'<th scope="col">by</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )
    words = "\n".join(f"{c.kernel} ({c.rows}, {c.cols}): {c.verdict}" for c in comparisons)
    return View(STYLE + table, words)


def _heading(counter: str) -> str:
    space, operation, unit = counter.split("_")
    return f"{space}<br>{operation}<br>{unit}"


def _row(found: Comparison) -> str:
    cells = "".join(
        f"<td>{_number(found.ours[name])}<br>{_ncus(found, name)}</td>" for name in COUNTERS
    )
    return (
        f'<tr><th scope="row">{html.escape(found.kernel)}</th><td>{html.escape(found.verdict)}</td>'
        f"<td>x-ray<br>ncu</td>{cells}</tr>"
    )


def _ncus(found: Comparison, name: str) -> str:
    text = _number(found.ncus[name])
    return f"<strong>{text}</strong>" if name in found.differences else text


def _number(count: int) -> str:
    return f"{count:,}"
