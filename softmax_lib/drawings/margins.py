"""An x-ray in the book: a kernel's text with the counters in its margin, and kernels side by side."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from softmax_lib.drawings import listings as listing
from softmax_lib.drawings.listings import Part
from softmax_lib.registry import Kernel, resolve
from softmax_lib.source import Source
from softmax_lib.widgets.views import View
from softmax_lib.xrays.lines import LineCounters
from softmax_lib.xrays.xray import XRay, xray

STYLE = """<style>
.worklog-xray{overflow-x:auto;margin:.5rem 0 1rem}
.worklog-xray table{border-collapse:collapse;font-size:.8em;line-height:1.5;margin:0;width:auto}
.worklog-xray :is(th,td){padding:0 .6em;border:0;text-align:right;white-space:nowrap;vertical-align:top;background:none}
.worklog-xray thead th{border-bottom:1px solid currentColor}
.worklog-code.worklog-xray :is(td,th):last-child{text-align:left;padding-left:.8em;border-left:1px solid currentColor}
.worklog-xray pre{margin:0;padding:0;border:0;background:none;font-size:1em;line-height:inherit;overflow:visible;white-space:pre}
.worklog-xray td>div{position:relative;height:1.5em}
.worklog-xray .worklog-heat{position:absolute;right:0;bottom:0;height:.25em;background:#d55e00}
@media (max-width:600px){.worklog-xray table{font-size:.7em}.worklog-xray :is(th,td){padding:0 .3em}}
</style>
"""
_HEADINGS = ("line", "requests", "each takes", "wasted")


def annotate(
    name_or_source: str | Path | Kernel | Source,
    rows: int = 64,
    cols: int = 4096,
    block_size: int | None = None,
    *,
    phase: Part | None = None,
) -> View:
    """A kernel's text with what each line asks of memory in the margin, counted on (rows, cols).

    `phase` picks a part of the text as `listing.show` does; lines of headers that ask for something
    follow. Raises what `xray` raises, and `BadInput` for a part that is not there.
    """
    kernel = resolve(name_or_source)
    return annotated(xray(kernel, rows, cols, block_size), kernel.source, phase)


def annotated(found: XRay, source: Source, phase: Part | None = None) -> View:
    """The same of an x-ray that is there already, of the kernel in `source`."""
    found_parts = listing.parts(source)
    start, end = found_parts.get("header", (0, 0))[1], len(source.text.splitlines())
    if phase is not None:
        start, end = listing.find_part(source, phase)
    most = max((row.bytes_moved for row in found.lines), default=0) or 1
    text = source.text.splitlines()[start:end]
    shown = [(start + 1 + i, line) for i, line in enumerate(text)]
    body = _rows(_without_blank_ends(shown), _of_file(found, source.file_name), most)
    if phase is None:
        for name, content in source.headers.items():
            body += _header_rows(name, content, _of_file(found, name), most)
    return View(listing.STYLE + STYLE + _table(found, body), in_words(found))


def in_words(found: XRay) -> str:
    """Such as "naive on (64, 4096), 2 blocks of 32 threads: 4194304 bytes asked for, ..."."""
    total = found.total
    share = total["bytes_asked"] / total["bytes_moved"] if total["bytes_moved"] else 1
    return (
        f"{found.kernel} on ({found.rows}, {found.cols}), {found.blocks} blocks of {found.block_size} "
        f"threads: {total['bytes_asked']:,} bytes asked for, {total['bytes_moved']:,} moved, "
        f"{min(share, 1):.1%} of use; {total['barriers'] / found.blocks:g} barriers a block."
    )


def _of_file(found: XRay, file: str) -> dict[int, list[LineCounters]]:
    lines: dict[int, list[LineCounters]] = {}
    for row in found.lines:
        if row.file == file:
            lines.setdefault(row.line, []).append(row)
    return lines


def _without_blank_ends(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    while lines and not lines[0][1].strip():
        lines = lines[1:]
    return lines


def _header_rows(
    name: str, content: str, counted: dict[int, list[LineCounters]], most: int
) -> list[str]:
    if not counted:
        return []
    lines = content.splitlines()
    title = f'<tr><th colspan="4"></th><th scope="rowgroup">{html.escape(name)}</th></tr>'
    return [title, *_rows([(number, lines[number - 1]) for number in counted], counted, most)]


def _rows(
    lines: Sequence[tuple[int, str]], counted: dict[int, list[LineCounters]], most: int
) -> list[str]:
    code = listing.highlight_lines(textwrap.dedent("\n".join(line for _, line in lines)) + "\n")
    rows = []
    for (number, _), marked_up in zip(lines, code, strict=True):
        cells = _margin(counted.get(number, []), most)
        rows.append(
            f'<tr><th scope="row">{number}</th>{cells}'
            f'<td><pre class="highlight">{marked_up or " "}</pre></td></tr>'
        )
    return rows


def _margin(counted: Sequence[LineCounters], most: int) -> str:
    requests = (f"{row.requests:,}" for row in counted)
    wasted = (_wasted(row, most) if row.space == "global" else "" for row in counted)
    columns = (requests, (_takes(row) for row in counted), wasted)
    divided = ("".join(f"<div>{cell}</div>" for cell in column) for column in columns)
    return "".join(f"<td>{cells}</td>" for cells in divided)


def _takes(row: LineCounters) -> str:
    if row.space == "global":
        return _count(row.sectors_a_request, "sector")
    if row.space == "shared":
        return _count(row.wavefronts / row.requests, "wavefront")
    return row.operation.replace("_", " ")


def _wasted(row: LineCounters, most: int) -> str:
    share = row.bytes_wasted / row.bytes_moved if row.bytes_moved else 0
    width = 4 * row.bytes_wasted / most
    bar = f'<span class="worklog-heat" style="width:{width:.2g}em"></span>' if width else ""
    return f"{share:.0%}{bar}"


def _count(number: float, thing: str) -> str:
    text = f"{number:.3g}"
    return f"{text} {thing}" if text == "1" else f"{text} {thing}s"


def _table(found: XRay, body: Iterable[str]) -> str:
    heads = "".join(f'<th scope="col">{name}</th>' for name in _HEADINGS)
    words = html.escape(in_words(found))
    return (
        f'<p>{words}</p><div class="worklog-xray worklog-code" tabindex="0" role="region" '
        f'aria-label="{html.escape(found.kernel)} with its counters"><table><thead><tr>{heads}'
        f'<th scope="col">code</th></tr></thead><tbody>{"".join(body)}</tbody></table></div>'
    )


_TOTALS = {
    "load requests": "global_load_requests", "sectors loaded": "global_load_sectors",
    "store requests": "global_store_requests", "sectors stored": "global_store_sectors",
    "shared wavefronts": "shared_load_wavefronts", "shuffles": "shuffles", "barriers": "barriers",
}  # fmt: skip


def totals(*names: str, rows: int = 64, cols: int = 4096) -> View:
    """Kernels side by side: what each asks for on a (rows, cols) matrix, at its own block size.

    Raises what `xray` raises.
    """
    found = [xray(name, rows, cols) for name in names]
    heads = "".join(f'<th scope="col">{html.escape(one.kernel)}</th>' for one in found)
    body = [_total_row(label, [one.total[key] for one in found]) for label, key in _TOTALS.items()]
    words = f"counted on ({rows}, {cols})"
    shown = (
        f'<div class="worklog-xray worklog-totals" tabindex="0" role="region" aria-label="{words}">'
        f'<table><thead><tr><th scope="col">{words}</th>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )
    return View(STYLE + shown, "\n".join(map(in_words, found)))


def _total_row(label: str, numbers: Sequence[int]) -> str:
    cells = "".join(f"<td>{number:,}</td>" for number in numbers)
    return f'<tr><th scope="row">{label}</th>{cells}</tr>'
