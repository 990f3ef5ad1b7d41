"""X-ray's counts beside ncu's in a table."""

from __future__ import annotations

from softmax_lib.engine.compiled.counters import COUNTERS as CODE_COUNTERS
from softmax_lib.records.agreement import COUNTED_ON, CodeComparison, compare_code, counted_run
from softmax_lib.show.drawings.margins import STYLE
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View

_EVERYWHERE = """\
<p>{{ words }}</p><div class="worklog-xray worklog-everywhere" tabindex="0" role="group" aria-label="machine code against ncu">\
<table><thead><tr><th scope="col">kernel</th>{% for name in columns %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead><tbody>\
{% for name, cells in rows %}<tr><th scope="row">{{ name }}</th>{% for cell in cells %}<td>{{ cell }}</td>{% endfor %}</tr>{% endfor %}\
</tbody></table></div><p>Where one of the three differs:</p><ul>{% for one in told %}<li>{{ one }}</li>{% endfor %}</ul>"""


def agreement_everywhere(gpu: str = COUNTED_ON) -> View:
    """Every kernel on three matrices: whether its machine code, run here, has all counters that ncu recorded twice.

    Raises `BadInput` without a record of that GPU.
    """
    run, found = counted_run(gpu), list(compare_code(gpu))
    columns = [_matrix(one) for one in found if one.launch.kernel == found[0].launch.kernel]
    cells: dict[str, list[str]] = {}
    for one in found:
        of = cells.setdefault(one.launch.kernel, [])
        elsewhere = "" if _matrix(one) == columns[len(of)] else f" ({_matrix(one)})"
        of.append(("see below" if one.differences else "equal") + elsewhere)
    equal = sum(not one.differences for one in found)
    words = (
        f"{len(found)} launches of machine code by {run.made_by}, counted twice on {run.gpu}, {run.date}: in {equal} all "
        f"{len(CODE_COUNTERS)} counters agree between the x-ray and both recordings."
    )
    told = [
        f"{one.launch.kernel}, {_matrix(one)}: {_told(one)}." for one in found if one.differences
    ]
    body = render(_EVERYWHERE, words=words, columns=columns, rows=list(cells.items()), told=told)
    return View(STYLE + str(body), "\n".join([words, *told]))


def _matrix(one: CodeComparison) -> str:
    return f"{one.launch.rows} × {one.launch.cols}"


def _told(one: CodeComparison) -> str:
    """Such as "shared store wavefronts 1,800, recorded 1,803 and 1,801"."""
    return "; ".join(
        f"{name.replace('_', ' ')} {ours:,}, recorded {first:,} and {second:,}"
        for name, (ours, first, second) in one.differences.items()
    )
