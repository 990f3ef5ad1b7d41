"""Reads in machine code: how many loads leave before the first is needed, line by line and arch by arch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from softmax_lib.engine.compiled.code import Code, code_of, find_code
from softmax_lib.engine.compiled.nvdisasm import SHOWN_ARCHS
from softmax_lib.gpu.compile import supported_archs
from softmax_lib.show.drawings import listings, margins
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.reads import Read, row_reads
from softmax_lib.worklog.reads import reads as find_reads
from softmax_lib.worklog.registry import find_kernel

_TABLE = """\
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
        codes = [_code(kernel, cols, archs) for _, kernel in chosen]
        known = [arch for arch in archs if all(arch in of for of in codes)]
        if not known:
            raise NotAvailable("This NVRTC compiles for none of these GPUs.")
        parts = [(label, list(_rows(kernel, cols, known))) for label, kernel in chosen]
    except NotAvailable as error:
        return View("", "").with_note(str(error))
    compilers = dict.fromkeys(of[arch].compiler for of in codes for arch in known)
    words = (
        "Loads that leave before the first of them is needed, × bytes of each; then, for "
        f"sm_{known[-1]}, instructions per float: of the loop that reads, or, where none does, of all that "
        f"follows. As the compiler {' or '.join(compilers)} makes it for rows of {cols} floats."
    )
    told = [
        f"{name} line {row['line']}: {', '.join(row['loads'])}"
        for name, rows in parts
        for row in rows
    ]
    body = render(_TABLE, words=words, archs=known, parts=parts)
    return View(listings.STYLE + margins.STYLE + str(body), "\n".join([words, *told]))


def _code(kernel: Kernel, cols: int, archs: Sequence[int]) -> dict[int, Code]:
    """By arch the machine code for rows of `cols`, where one came along or NVRTC knows the arch."""
    program = kernel.program(kernel.choose_block_size(cols), cols)
    came_along = [arch for arch in archs if find_code(program, arch)]
    known = came_along if len(came_along) == len(archs) else [*came_along, *supported_archs()]
    return {arch: code_of(program, arch) for arch in archs if arch in known}


def _label(given: str | Kernel) -> str:
    if isinstance(given, str):
        return given
    return ", ".join([given.name, *(f"{macro} = {number}" for macro, number in given.macros)])


def _rows(kernel: Kernel, cols: int, archs: Sequence[int]) -> Iterator[dict[str, Any]]:
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
        (code,) = listings.highlight_lines(text[at - 1].strip() + "\n")
        yield {
            "line": str(at) if at == lines[-1] else f"{lines[-1]} › {at}",
            "loads": [_loads(read) for read in of],
            "instructions": f"{last.instructions:.0f}",
            "code": Markup(code),
        }


def _loads(read: Read | None) -> str:
    return f"{read.loads} × {read.asked_bytes // read.loads} B" if read else ""
