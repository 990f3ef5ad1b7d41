"""An x-ray as tables in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softmax_lib.engine.words import count
from softmax_lib.engine.xrays.code_lines import Instruction
from softmax_lib.engine.xrays.lines import LineCounters
from softmax_lib.engine.xrays.result import XRay

_HEADINGS = ("line", "what", "requests", "lanes", "moved", "each", "conflicts")
_MACHINE_HEADINGS = ("entry", "arch", "registers", "shared", "spilled", "blocks per SM", "limit")


def print_xray(found: XRay, *, listing: bool = False) -> None:
    """Counters by line, what the compiler made of the kernel, with its `listing` on request, and hazards, one per line."""
    console = Console(markup=False)
    for sentence in (found.words, *found.notes):
        console.print(sentence, highlight=False)
    instructions = found.total.get("instructions", 0)
    made = f" ({found.made_by}), {instructions} instructions of warps" if found.made_by else ""
    console.print(f"C{found.counted[1:]}{made}.", highlight=False)
    for file in dict.fromkeys(row.file for row in found.lines):
        console.print(_counters(file, [row for row in found.lines if row.file == file]))
    for sentence in _changes(found):
        console.print(sentence, highlight=False, soft_wrap=True)
    if found.machine_code:
        console.print(_machine_code(found))
    if listing:
        for line in _listing(found) if found.code else _ptx(found):
            console.print(line, highlight=False, soft_wrap=True)
    for hazard in found.hazards:
        console.print(Text(hazard.words), soft_wrap=True)
    if found.hazards_sought and not found.hazards:
        elsewhere = f", here and on {len(found.ragged)} ragged matrices" if found.ragged else ""
        console.print(f"No hazard found{elsewhere}.", highlight=False)


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        is_text = heading in ("what", "entry", "limit")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=True)
    return table


def _counters(file: str, rows: Sequence[LineCounters]) -> Table:
    table = _table(file, _HEADINGS)
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: LineCounters) -> tuple[str, ...]:
    what = f"{row.space} {row.operation}".strip().replace("_", " ")
    what = f"{what} {row.array}".strip()
    cells = [str(row.line), what, str(row.requests)]
    if row.space:
        cells.append(f"{row.lanes_a_request:.3g}")
    if row.space in ("global", "local"):
        cells += [count(row.sectors, "sector"), f"{row.sectors_a_request:.3g}"]
    elif row.space == "shared":
        each = row.wavefronts / row.requests
        cells += [count(row.wavefronts, "wavefront"), f"{each:.3g}", str(row.bank_conflicts)]
    return tuple(cells)


def _changes(found: XRay) -> Iterator[str]:
    """What the compiler changed, line by line."""
    counted = "PTX" if found.path == "ptx" else "machine code"
    for one in found.changes:
        unit = "wavefront" if one.space == "shared" else "sector"
        requests = count(one.written[0], "request")
        yield (
            f"{one.file}:{one.line}: {one.what}: as written {requests} to {one.operation} {one.space} "
            f"memory and {count(one.written[1], unit)}, as {counted} {one.executed[0]} and {one.executed[1]}."
        )


def _machine_code(found: XRay) -> Table:
    table = _table("as NVRTC compiles it", _MACHINE_HEADINGS)
    for code in found.machine_code:
        sizes = (f"{code.shared_bytes} B", f"{code.spill_bytes} B")
        blocks = str(code.blocks_a_multiprocessor)
        table.add_row(
            code.entry, f"sm_{code.arch}", str(code.registers), *sizes, blocks, code.limit
        )
    return table


def _listing(found: XRay) -> Iterator[str]:
    """The machine code, a line for each instruction."""
    yield f"{'address':>7} {'line':>20} {'times':>9} {'live':>4} {'loads':>5}  machine code for sm_{found.arch}"
    for one in found.code:
        counts = f"{one.warps:9} {one.live:4} {one.in_flight or '':>5}"
        yield f"{one.address:7x} {_place(found, one):>20} {counts}  {_labelled(one)}"


def _ptx(found: XRay) -> Iterator[str]:
    """The PTX, a line for each statement; nothing of what was counted otherwise."""
    if found.ptx:
        yield f"{'line':>20} {'times':>9}  PTX for sm_{found.arch}"
    for one in found.ptx:
        yield f"{_place(found, one):>20} {one.warps:9}  {_labelled(one)}"


def _place(found: XRay, one: Instruction) -> str:
    own = found.program.source.file_name
    return str(one.line) if one.file == own else f"{one.file}:{one.line}"


def _labelled(one: Instruction) -> str:
    return f"{one.label}: {one.text}" if one.label else one.text
