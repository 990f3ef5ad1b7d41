"""Machine code: beside its source, with what each instruction costs; and how many loads leave before one is needed."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from softmax_lib.engine.compiled.code import Code, code_of, find_code
from softmax_lib.engine.compiled.inspection import SHOWN_ARCHS
from softmax_lib.engine.source import Source
from softmax_lib.engine.words import count
from softmax_lib.engine.xrays.code_lines import CodeLine
from softmax_lib.engine.xrays.machine_path import ARCH
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.gpu.compile import supported_archs
from softmax_lib.show.drawings import listings
from softmax_lib.show.drawings.margins import STYLE
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput, NotAvailable
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.reads import reads as find_reads
from softmax_lib.worklog.reads import row_reads
from softmax_lib.worklog.registry import find_kernel, resolve
from softmax_lib.worklog.xray import xray

_HUES = (210, 30, 130, 280, 55, 330, 175, 0)
"""Of the lines, one after the other; a line's number stands beside it as well."""

_STYLE = """<style>
.worklog-pair{container-type:inline-size}
:is(.widget-html,.jupyter-widget-html):has(.worklog-pair),:is(.widget-html-content,.jupyter-widget-html-content):has(>.worklog-pair){width:100%;flex:1 1 100%;min-width:0}
.worklog-machine{display:flex;gap:.75rem;align-items:flex-start}
.worklog-machine>.worklog-xray.worklog-code{flex:1 1 0;min-width:0;max-height:34rem;overflow:auto;margin-top:0}
.worklog-machine .worklog-xray.worklog-code :is(th,td){border:0;padding:0 .4em;text-align:right;white-space:nowrap}
.worklog-machine .worklog-xray.worklog-code :is(td,th):last-child{text-align:left;border-left:1px solid currentColor}
.worklog-machine .worklog-xray.worklog-code thead th{position:sticky;top:0;z-index:1;border-bottom:1px solid currentColor;background:var(--pst-color-background,var(--jp-layout-color0,#fff))}
.worklog-machine .worklog-idle{font-style:italic}
.worklog-machine .worklog-xray.worklog-code code{display:block;min-width:0;padding:0;border:0;background:none;color:inherit;font-size:1em;white-space:pre}
@container (max-width:900px){.worklog-machine table{font-size:.7em}}
@container (max-width:560px){.worklog-machine{flex-direction:column}.worklog-machine>.worklog-xray.worklog-code{width:100%;flex:none;max-height:22rem}}
.worklog-part>.worklog-xray.worklog-code.worklog-code{max-height:none}
.worklog-part>:first-child code.highlight{white-space:pre-wrap}
.worklog-part>:first-child :is(th,td):nth-child(2),.worklog-one>:last-child :is(th,td):first-child{display:none}
@container (min-width:561px){.worklog-part:not(.worklog-alone)>.worklog-xray.worklog-code:first-child{flex:0 0 43%}.worklog-part:not(.worklog-alone) tbody{font-size:.92em}}
.worklog-machine.worklog-alone{display:block}
.worklog-part.worklog-part table{line-height:1.35}
.worklog-one:not(.worklog-alone){min-height:21.5rem}
@container (max-width:560px){.worklog-one:not(.worklog-alone){min-height:35rem}}
{% for hue in hues %}.worklog-machine .worklog-hue{{ loop.index0 }}{background:hsl({{ hue }} 80% 60%/.22)}
.worklog-machine .worklog-hue{{ loop.index0 }}.worklog-idle{background:hsl({{ hue }} 80% 60%/.06)}
{% endfor %}{% for mark in marks %}.{{ id }}:has(.{{ mark }}:hover) .{{ mark }}{outline:2px solid currentColor}
{% endfor %}</style>
"""

_PAIR = """\
<div class="worklog-pair"><p>{{ words }}</p><div class="worklog-machine {{ id }}{{ form }}">\
<div class="worklog-xray worklog-code" tabindex="0" role="group" aria-label="source of {{ kernel }}"><table><thead><tr>\
<th scope="col">line</th><th scope="col">instructions</th><th scope="col">share</th>\
<th scope="col">source</th></tr></thead><tbody>\
{% for file, lines in parts %}{% if file %}<tr><td></td><td></td><td></td><th scope="rowgroup">{{ file }}</th></tr>{% endif %}\
{% for line in lines %}<tr class="{{ line.marks }}"><th scope="row">{{ line.number }}</th>\
<td>{{ line.executed }}</td><td>{{ line.share }}</td><td><code class="highlight">{{ line.code or " " }}</code></td></tr>\
{% endfor %}{% endfor %}</tbody></table></div>\
<div class="worklog-xray worklog-code" tabindex="0" role="group" aria-label="machine code of {{ kernel }}"><table><thead><tr>\
{% for name in ("line", "times", "live", "loads", "machine code") %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead><tbody>\
{% for entry, rows in entries %}{% if entry %}<tr><td colspan="4"></td><th scope="rowgroup">{{ entry }}</th></tr>{% endif %}\
{% for row in rows %}{% if row.others %}<tr><td></td><td></td><td></td><td></td><td>⋮ {{ row.others }}</td></tr>{% else %}<tr class="{{ row.marks }}">{% if row.line %}<th scope="row">{{ row.line }}</th>{% else %}<td></td>{% endif %}<td>{{ "{:,}".format(row.one.warps) }}</td>\
<td>{{ row.one.live }}</td><td>{{ row.one.in_flight or "" }}</td><td><code>{% if row.one.label %}{{ row.one.label }}:
{% endif %}{{ row.one.text }}</code></td></tr>\
{% endif %}{% endfor %}{% endfor %}</tbody></table></div></div></div>"""


def machine_code(
    name_or_source: str | Path | Kernel | Source,
    rows: int = 64,
    cols: int = 4096,
    block_size: int | None = None,
    *,
    arch: int = ARCH,
    lines: tuple[int, int] | None = None,
    only: int | None = None,
) -> View:
    """A kernel's text beside its machine code for sm_`arch`, lines joined by colour, run on a (rows, cols) matrix.

    For each line of the source: the instructions that all warps execute of it, and their share. For each instruction:
    how often warps execute it, how many registers of a thread hold what is needed later, and how many loads from
    global memory are on their way. Of `lines`, the first and the last, or of one `only`, it shows what is executed
    at least a tenth as often as their busiest instruction. Raises what `xray` raises, and `BadInput` for lines
    without an instruction.
    """
    kernel = resolve(name_or_source)
    found = xray(kernel, rows, cols, block_size, path="machine", arch=arch)
    return machine_code_of(found, kernel.source, lines, only)


def machine_code_of(
    found: XRay, source: Source, lines: tuple[int, int] | None = None, only: int | None = None
) -> View:
    """The same of an x-ray that is there already. Raises `NotAvailable` where it did not count machine code."""
    if not found.code:
        raise NotAvailable(" ".join(["There is no machine code to show.", *found.notes]))
    first, last = (only, only) if only else lines or (0, 0)
    code = _of_lines(found.code, source.file_name, first, last) if last else list(found.code)
    places, shown = sorted({_place(one) for one in found.code if one.line}), set(map(_place, code))
    hues = {place: at % len(_HUES) for at, place in enumerate(places) if place in shown}
    kernel = re.sub(r"[^a-z0-9]+", "-", found.kernel.lower())
    identity = f"worklog-of-{kernel}-{found.arch}{f'-{first}' if last else ''}"
    form = " worklog-part" * bool(last) + " worklog-one" * (first == last > 0) + " worklog-alone" * (lines == (first, first))  # fmt: skip
    executed: Counter[tuple[str, int]] = Counter()
    for one in found.code:
        executed[_place(one)] += one.warps
    own = [("", list(_lines(executed, source.file_name, source.text, hues, lines)))]
    headers = {} if last else source.headers
    parts = own + [(name, list(_lines(executed, name, text, hues, lines))) for name, text in headers.items()]  # fmt: skip
    entries = {one.entry: [line for line in found.code if line.entry == one.entry] for one in code}
    codes = [
        (entry if len(entries) > 1 else "", list(_rows(of, set(code), source, hues)))
        for entry, of in entries.items()
    ]
    words = _in_words(found, len(code))
    style = render(_STYLE, hues=_HUES, id=identity, marks=[_mark(*place) for place in hues])
    body = render(
        _PAIR, words=words, id=identity, form=form, kernel=found.kernel, parts=[part for part in parts if part[1]], entries=codes,
    )  # fmt: skip
    return View(listings.STYLE + STYLE + str(style) + str(body), words)


def _of_lines(code: Sequence[CodeLine], file: str, first: int, last: int) -> list[CodeLine]:
    """What the lines from `first` to `last` became, without what is hardly executed. Raises `BadInput`."""
    of_them = [one for one in code if one.file == file and first <= one.line <= last]
    if not of_them:
        raise BadInput(f"No instruction is of lines {first} to {last} of {file}.")
    most = max(one.warps for one in of_them)
    return [one for one in of_them if 10 * one.warps >= most]


def _place(one: CodeLine) -> tuple[str, int]:
    return one.file, one.line


def _in_words(found: XRay, shown: int) -> str:
    """What was run, how much code there is, and how many registers and loads are in use at most."""
    if shown < len(found.code):
        return f"{found.kernel}: {shown} of {len(found.code)} instructions for sm_{found.arch}."
    most = max(one.live for one in found.code)
    loads = max(one.in_flight for one in found.code)
    registers = max(step.decoded.cubin.registers for step in found.steps)
    return (
        f"{found.words}: {len(found.code)} instructions for sm_{found.arch} by {found.made_by}; warps execute "
        f"{found.total['instructions']:,} in all; {registers} registers per thread, of which at most {most} hold "
        f"what is needed later; at most {count(loads, 'load')} from global memory under way."
    )


def _mark(file: str, line: int) -> str:
    return f"worklog-{re.sub(r'[^A-Za-z0-9]', '_', file)}-{line}"


def _marks(place: tuple[str, int], hues: dict[tuple[str, int], int]) -> str:
    return f"{_mark(*place)} worklog-hue{hues[place]}" if place in hues else ""


def _lines(
    executed: Counter[tuple[str, int]], file: str, text: str, hues: dict[tuple[str, int], int],
    lines: tuple[int, int] | None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """What the template has for each of the lines, or from the paragraph of the first that became code to the last."""
    numbers = [line for name, line in hues if name == file]
    if not numbers:
        return
    of_text, first = text.splitlines(), min(numbers)
    while first > 1 and of_text[first - 2].strip():
        first -= 1
    first, last = lines or (first, max(numbers))
    shown = textwrap.dedent("\n".join(of_text[first - 1 : last]))
    marked_up = listings.highlight_lines(f"{shown}\n")
    for number, marked in enumerate(marked_up, first):
        place = file, number
        of_line, is_code = executed[place], place in executed
        yield {
            "number": number,
            "marks": _marks(place, hues),
            "executed": f"{of_line:,}" if is_code else "",
            "share": f"{of_line / executed.total():.1%}" if is_code else "",
            "code": Markup(marked),
        }


def _rows(
    code: Sequence[CodeLine], shown: set[CodeLine], source: Source, hues: dict[tuple[str, int], int]
) -> Iterator[dict[str, Any]]:
    """What the template has for each instruction that is shown, and how many are left out before and behind it."""
    for is_shown, some in itertools.groupby(code, lambda one: one in shown):
        if not is_shown:
            yield {"others": f"{len(list(some))} more"}
            continue
        for one in some:
            stem = "" if one.file == source.file_name else f"{Path(one.file).stem} "
            marks = f"{_marks(_place(one), hues)}{'' if one.warps else ' worklog-idle'}"
            line = f"{stem}{one.line}" if one.line else ""
            yield {"others": "", "line": line, "one": one, "marks": marks}


# ---- reads, line by line and arch by arch

_READS = """\
<p>{{ words }}</p><div class="worklog-xray worklog-code" tabindex="0" role="group" \
aria-label="reads in machine code"><table><thead><tr><th scope="col">line</th>\
{% for arch in archs %}<th scope="col">sm_{{ arch }}</th>{% endfor %}\
<th scope="col">instructions</th><th scope="col">code</th></tr></thead><tbody>\
{% for name, rows in parts %}\
<tr><td colspan="{{ archs|length + 2 }}"></td><th scope="rowgroup">{{ name }}</th></tr>\
{% for row in rows %}<tr><th scope="row">{{ row.line }}</th>\
{% for cell in row.loads %}<td>{{ cell }}</td>{% endfor %}\
<td>{{ row.instructions }}</td><td><pre class="highlight">{{ row.code }}</pre></td></tr>{% endfor %}{% endfor %}\
</tbody></table></div>"""


def reads(*given: str | Kernel, cols: int = 32768, archs: Sequence[int] = SHOWN_ARCHS) -> View:
    """For each line by which a kernel reads its row: how many loads leave before the first is needed.

    Kernels by name, or as `kernels["unroll"].setting(UNROLL=8)`, which is named with its macros.
    "4 × 16 B" are four loads of 16 bytes. Instructions per float are those of the loop that
    reads, on the last of `archs`. From what came along, else from NVRTC and nvdisasm, which need no GPU; where one is missing,
    or knows none of `archs`, it is one sentence. Raises `UnknownKernel` and `RowTooLong`.
    """
    chosen = [(_label(one), find_kernel(one) if isinstance(one, str) else one) for one in given]
    try:
        codes = [_codes(kernel, cols, archs) for _, kernel in chosen]
        known = [arch for arch in archs if all(arch in of for of in codes)]
        if not known:
            raise NotAvailable("This NVRTC compiles for none of these GPUs.")
        parts = [(label, list(_reads_of(kernel, cols, known))) for label, kernel in chosen]
    except NotAvailable as error:
        return View("", "").with_note(str(error))
    compilers = dict.fromkeys(of[arch].compiler for of in codes for arch in known)
    words = (
        "Loads that leave before the first of them is needed, × bytes of each; then, for "
        f"sm_{known[-1]}, instructions per float: of the loop that reads, or, where none does, of all that "
        f"follows. As the compiler {' or '.join(compilers)} makes it for rows of {cols} floats."
    )
    every = ((name, row) for name, rows in parts for row in rows)
    told = [f"{name} line {row['line']}: {', '.join(row['loads'])}" for name, row in every]
    body = render(_READS, words=words, archs=known, parts=parts)
    return View(listings.STYLE + STYLE + str(body), "\n".join([words, *told]))


def _codes(kernel: Kernel, cols: int, archs: Sequence[int]) -> dict[int, Code]:
    """By arch the machine code for rows of `cols`, where one came along or NVRTC knows the arch."""
    program = kernel.program(kernel.choose_block_size(cols), cols)
    came_along = [arch for arch in archs if find_code(program, arch)]
    known = came_along if len(came_along) == len(archs) else [*came_along, *supported_archs()]
    return {arch: code_of(program, arch) for arch in archs if arch in known}


def _label(given: str | Kernel) -> str:
    if isinstance(given, str):
        return given
    return ", ".join([given.name, *(f"{macro} = {number}" for macro, number in given.macros)])


def _reads_of(kernel: Kernel, cols: int, archs: Sequence[int]) -> Iterator[dict[str, Any]]:
    """What the template has for each piece of source that reads the row."""
    block_size = kernel.choose_block_size(cols)
    by_arch = [
        {read.lines: read for read in row_reads(find_reads(kernel, block_size, cols, arch))}
        for arch in archs
    ]
    text = kernel.source.text.splitlines()
    where = listings.parts(kernel.source)
    _, helpers_end = where.get("helpers", where["header"])
    for lines in sorted(by_arch[-1], key=lambda lines: lines[::-1]):
        of = [found.get(lines) for found in by_arch]
        last = by_arch[-1][lines]
        at = next((line for line in lines if line > helpers_end), lines[-1])
        (code,) = listings.highlight_lines(text[at - 1].strip())
        yield {
            "line": str(at) if at == lines[-1] else f"{lines[-1]} › {at}",
            "loads": [
                f"{one.loads} × {one.asked_bytes // one.loads} B" if one else "" for one in of
            ],
            "instructions": f"{last.instructions:.0f}",
            "code": Markup(code),
        }
