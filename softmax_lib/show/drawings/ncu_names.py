"""This book's counters and Nsight Compute's: a table that is read either way."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from softmax_lib.records.schema import EXECUTION, METRICS, STALLS
from softmax_lib.show.drawings.captures import read_captured
from softmax_lib.show.drawings.margins import STYLE
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View

By = Literal["our counter", "ncu's metric"]

MORE: Mapping[str, str] = MappingProxyType({
    "shuffles": "sass__inst_executed_per_opcode",
    "barriers": "sass__inst_executed_per_opcode",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "bytes_moved": "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum",
})  # fmt: skip
"""Counters of an x-ray that no record has, and ncu's."""
NO_COUNTERPART = MappingProxyType(
    {"bytes_asked": "none; ncu counts a byte twice where two lanes ask for it"}
)
_REMARKS = {
    "shuffles": "its opcode SHFL", "barriers": "its opcode BAR, once per warp; ours once per block",
    "bytes_moved": "and ..._op_st.sum", "bank_conflicts": "and ..._op_st.sum; a few more than ours",
}  # fmt: skip
_STALLED = "stalled_"
_TABLE = """\
<div class="worklog-xray worklog-names" tabindex="0" role="group" aria-label="{{ caption }}">\
<table><thead><tr>{% for name in head %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead><tbody>\
{% for row in rows %}<tr><th scope="row"><code>{{ row[0] }}</code></th>\
{% for cell in row[1:] %}<td>{% if loop.first %}<code>{{ cell }}</code>{% else %}{{ cell }}{% endif %}</td>{% endfor %}</tr>{% endfor %}\
</tbody></table></div>"""
_WIDE = """<style>
.worklog-names.worklog-xray{max-height:24rem;overflow:auto}
.worklog-names.worklog-xray :is(th,td){text-align:left;font-weight:400}
.worklog-names table{table-layout:fixed;width:100%}
.worklog-names :is(td,th):nth-child(-n+2){width:27%}.worklog-names :is(td,th):nth-child(3){width:8%}
.worklog-names.worklog-xray :is(td,th,code){white-space:normal;overflow-wrap:anywhere}
.worklog-names code{padding:0;border:0;background:none;color:inherit}
@media (max-width:700px){.worklog-names thead{display:none}
.worklog-names.worklog-xray :is(tr,td,th){display:block;width:auto}
.worklog-names.worklog-xray tr{padding:.3em 0}.worklog-names.worklog-xray th{font-weight:700}
.worklog-names.worklog-xray td{padding-left:1em}}
</style>
"""


def counter_names(by: By = "our counter") -> View:
    """A line per counter: our name, ncu's metric, its unit and the section that has it, in the order of one of the names.

    Units and sections are what ncu itself printed. Raises `BadInput` where that was not captured.
    """
    units, sections = _units(), _sections()
    rows = [(ours, theirs, units.get(theirs, ""), sections.get(theirs, "only by --metrics"), _REMARKS.get(ours, ""))
            for ours, theirs in names().items()]  # fmt: skip
    rows += [(ours, "", "", "", why) for ours, why in NO_COUNTERPART.items()]
    head = ["our counter", "ncu's metric", "unit", "ncu's section", "remark"]
    if by != "our counter":
        rows = sorted((theirs or "none", ours, *rest) for ours, theirs, *rest in rows)  # type: ignore[misc]
        head[:2] = reversed(head[:2])
    caption = f"{len(rows)} counters, looked up by {by}"
    html = render(_TABLE, rows=rows, head=head, caption=caption)
    words = "; ".join(" ".join(filter(None, row)) for row in rows)
    return View(STYLE + _WIDE + str(html), f"{caption}: {words}")


def names() -> dict[str, str]:
    """ncu's metric of each counter; the reasons why warps wait are one."""
    execution = {ours: theirs for ours, theirs in EXECUTION.items() if not ours.startswith(_STALLED)}  # fmt: skip
    reason = STALLS[0]
    one = EXECUTION[_STALLED + reason].replace(reason, "REASON")
    return {**METRICS, **MORE, **execution, f"{_STALLED}REASON": one}


def _units() -> dict[str, str]:
    """What ncu printed between a metric's name and its value."""
    lines = (line.split() for name in ("ncu_memory", "ncu_counters") for line in read_captured(name)[1:])  # fmt: skip
    found = {words[0]: words[1] if len(words) == 3 else "" for words in lines if len(words) > 1}
    return {**found, names()[f"{_STALLED}REASON"]: found.get(EXECUTION["stalled_barrier"], "")}


def _sections() -> dict[str, str]:
    """The first section that has each metric: by ncu's lists, and in its tables of memory."""
    found: dict[str, str] = {}
    section = ""
    for line in read_captured("ncu_sections")[1:]:
        if line.endswith(":"):
            section = line.removesuffix(":")
        found.setdefault(line, section)
    for line in read_captured("ncu_memory")[1:]:
        found.setdefault(line.split()[0], "MemoryWorkloadAnalysis_Tables")
    stalls = next((one for metric, one in found.items() if "issue_stalled_barrier" in metric), "")
    return {**found, names()[f"{_STALLED}REASON"]: stalls}
