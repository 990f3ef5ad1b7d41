"""What profilers and tools printed on a GPU, with what to read in it, and their counters beside this book's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from markupsafe import Markup, escape

from softmax_lib.engine.compiled.counters import COUNTERS as CODE_COUNTERS
from softmax_lib.records.agreement import COUNTED_ON, CodeComparison, compare_code, counted_run
from softmax_lib.records.reading import read_json, require_types
from softmax_lib.records.schema import EXECUTION, METRICS, STALLS
from softmax_lib.records.shelf import FOLDER
from softmax_lib.show.drawings.margins import STYLE, counters_table
from softmax_lib.widgets.markup import markdown, render
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput

CAPTURED = FOLDER / "captured"
"""NAME.txt, a line `$ command` and what it printed, and provenance.json; `python tests/capture.py` writes all."""
LEFT_OUT = "⋯"
_WIDEST = 52
"""Letters for which there is room beside a note."""

_CAPTURED_STYLE = """<style>
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
_CAPTURED_TABLE = """\
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
    rows = []
    for line, note in shown:  # without the gaps of a table that is made for a wide terminal
        narrow = re.sub(r"(?<=\S) {4,}", "   ", line) if len(line) > _WIDEST else line
        rows.append((narrow, markdown(note) if note else ""))
    html = render(_CAPTURED_TABLE, lines=rows, source=source)
    words = "\n".join(f"{line}  <- {note}" if note else line for line, note in shown)
    return View(_CAPTURED_STYLE + str(html), f"{words}\n{source}")


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


# ---- ncu's names for this book's counters

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
_NAMES_STYLE = """<style>
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
    coded = [(*map(Markup("<code>{}</code>").format, row[:2]), *row[2:]) for row in rows]
    html = counters_table(caption, head, coded, "worklog-names")
    words = "; ".join(" ".join(filter(None, row)) for row in rows)
    return View(STYLE + _NAMES_STYLE + str(html), f"{caption}: {words}")


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


# ---- whether the x-ray of machine code counts what ncu did

_TOLD = "<p>Where one of the three differs:</p><ul>{% for one in told %}<li>{{ one }}</li>{% endfor %}</ul>"


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
    rows = [(name, *of) for name, of in cells.items()]
    label, head = "machine code against ncu", ["kernel", *columns]
    body = counters_table(label, head, rows, "worklog-everywhere") + render(_TOLD, told=told)
    return View(f"{STYLE}<p>{escape(words)}</p>{body}", "\n".join([words, *told]))


def _matrix(one: CodeComparison) -> str:
    return f"{one.launch.rows} × {one.launch.cols}"


def _told(one: CodeComparison) -> str:
    """Such as "shared store wavefronts 1,800, recorded 1,803 and 1,801"."""
    return "; ".join(
        f"{name.replace('_', ' ')} {ours:,}, recorded {first:,} and {second:,}"
        for name, (ours, first, second) in one.differences.items()
    )
