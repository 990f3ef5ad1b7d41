"""X-ray's counts and ncu's in one table."""

from __future__ import annotations

from collections.abc import Sequence

from softmax_lib.drawings.margins import STYLE
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View
from softmax_lib.xrays.agreement import COUNTERS, Comparison, compare

_TABLE = """\
<div class="worklog-xray" tabindex="0" role="region" aria-label="x-ray against ncu"><table><thead><tr>\
<th scope="col">kernel</th><th scope="col">verdict</th><th scope="col">by</th>\
{% for name in counters %}<th scope="col">{% for word in name.split("_") %}{{ word }}\
{% if not loop.last %}<br>{% endif %}{% endfor %}</th>{% endfor %}</tr></thead><tbody>\
{% for one in comparisons %}<tr><th scope="row">{{ one.case.provider }}</th><td>{{ one.verdict }}</td>\
<td>x-ray<br>ncu</td>\
{% for name in counters %}<td>{{ "{:,}".format(one.ours[name]) }}<br>\
{% if name in one.differences %}<strong>{{ "{:,}".format(one.ncus[name]) }}</strong>\
{% else %}{{ "{:,}".format(one.ncus[name]) }}{% endif %}</td>{% endfor %}</tr>{% endfor %}\
</tbody></table></div>"""


def agreement(*shapes: tuple[int, int], names: Sequence[str] = (), gpu: str = DEFAULT_GPU) -> View:
    """Kernels profiled on these (rows, cols), all or those named: x-ray's counters over ncu's.

    Raises `BadInput` without a record of that GPU.
    """
    return agreement_of([one for shape in shapes for one in compare(*shape, *names, gpu=gpu)])


def agreement_of(comparisons: Sequence[Comparison]) -> View:
    """A row per kernel: each counter as x-ray has it, and under it as ncu has it, where they differ marked."""
    words = (f"{one.case.provider} {one.case.shape}: {one.verdict}" for one in comparisons)
    body = render(_TABLE, comparisons=comparisons, counters=COUNTERS)
    return View(STYLE + str(body), "\n".join(words))
