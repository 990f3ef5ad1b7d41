"""Any kernel run in the emulator or x-rayed, and what its arrays hold or its lines count, as tables in a terminal."""

from __future__ import annotations

import argparse
import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.text import Text

from softmax_lib.cli.answer import DONE, FAILED, Answer, parts, print_table
from softmax_lib.engine.caches import replace_file
from softmax_lib.engine.compiled.inspection import MachineCode
from softmax_lib.engine.source import Source
from softmax_lib.engine.spec import heard
from softmax_lib.engine.words import count
from softmax_lib.engine.written import launch
from softmax_lib.engine.xrays.code_lines import CodeLine
from softmax_lib.engine.xrays.lines import LineCounters
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.launch_words import is_any_kernel, read_launch, read_npz
from softmax_lib.worklog.xray import xray, xray_launch

SOFTMAX = "softmax"
"""What stands for the kernels behind `softmax()` where a kernel is named."""

_HEADINGS = ("line", "what", "requests", "lanes", "moved", "each", "conflicts")
_MACHINE_HEADINGS = ("entry", "arch", "registers", "shared", "spilled", "blocks per SM", "limit")
_ARRAY_HEADINGS = ("array", "dtype", "shape", "least", "mean", "most", "NaNs")
_WORDS = {"what", "entry", "limit", "array", "dtype"}
"""Headings of what stands left in its column."""
_LOOKS: dict[str, Any] = {"box": box.SIMPLE_HEAD, "padding": (0, 1, 0, 0)}


def run_kernel(options: argparse.Namespace) -> Answer:
    """Launch any kernel, write its arrays where asked to, and sum each up. Raises what `emulator.launch` raises."""
    words, arrays = _read(options)
    if options.out and (options.out.is_dir() or not options.out.parent.is_dir()):
        raise BadInput(f"Cannot write {options.out}: it is a folder, or in one that is not there.")
    with _progress(options):
        launch(**words)
    found = [_sum_up(name, array) for name, array in arrays.items()]
    unwritten = _write(options.out, arrays) if options.out else ()
    status = FAILED if unwritten else DONE
    return Answer(found, lambda: _print_arrays(found), status, unwritten)


def _write(path: Path, arrays: dict[str, np.ndarray]) -> tuple[str, ...]:
    """Write the arrays to this very file, whatever it is called; what is to be said where that fails."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    try:
        replace_file(path, content.getvalue())
    except OSError as error:
        return (f"Cannot write {path}: {error.strerror}.",)
    return ()


def run(options: argparse.Namespace) -> Answer:
    """Counters and hazards of a kernel."""
    if is_any_kernel(options):
        words, _ = _read(options)
        with _progress(options):
            found = xray_launch(**words, path=options.path, arch=options.arch)
    elif options.name != SOFTMAX and (options.dtype or options.backward or options.log):
        raise BadInput(f"--dtype, --backward and --log are for `softmax-lib xray {SOFTMAX}`.")
    elif options.name == SOFTMAX and (options.block_size or options.grid):
        raise BadInput("softmax() chooses its own grid and block size for a matrix.")
    else:
        found = _xray_rows(options)
    status = FAILED if found.hazards else DONE
    answer = found.as_json(code=options.listing)
    return Answer(answer, lambda: _print_xray(found, listing=options.listing), status)


def _read(options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    given = read_npz(options.npz) if options.npz else {}
    return read_launch(options, Source.read(options.name), given)


def _xray_rows(options: argparse.Namespace) -> XRay:
    """Of a softmax of rows: a kernel's, or what softmax() launches."""
    shape = (options.rows or 64, options.cols or 4096)
    with _progress(options):
        how: dict[str, Any] = {"path": options.path, "arch": options.arch}
        if options.name == SOFTMAX:
            from softmax_lib.ops.xray import xray_softmax

            how |= {"backward": options.backward, "log": options.log}
            return xray_softmax(*shape, options.dtype or "float32", **how)
        ragged = not (options.rows or options.cols)
        grid = _one_number(options.grid)
        return xray(options.name, *shape, options.block_size, grid=grid, ragged=ragged, **how)


@contextmanager
def _progress(options: argparse.Namespace) -> Iterator[None]:
    """A bar that shows how many threads have come to their end."""
    with parts(options.json) as tell:
        token = heard.set(lambda done, total: tell("threads", done, total))
        try:
            yield
        finally:
            heard.reset(token)


def _one_number(grid: tuple[int, ...] | None) -> int | None:
    if grid is not None and len(grid) > 1:
        raise BadInput(
            "A softmax of rows is launched in one dimension, so that --grid takes one number; with "
            "--block and --arg it takes up to three."
        )
    return grid[0] if grid else None


def _sum_up(name: str, array: np.ndarray) -> dict[str, Any]:
    """An array after a launch; "least", "most" and "mean" are of its numbers, None where it has none."""
    sizes = np.abs(array) if array.dtype.kind == "c" else array
    numbers = sizes[np.isfinite(sizes)]
    least = most = mean = None
    if numbers.size:
        least, most, mean = map(float, (numbers.min(), numbers.max(), numbers.mean(dtype=float)))
    return {
        "name": name,
        "dtype": str(array.dtype),
        "shape": array.shape,
        "least": least,
        "most": most,
        "mean": mean if mean is not None and math.isfinite(mean) else None,
        "nans": int(np.isnan(sizes).sum()),
    }


def _print_arrays(arrays: Sequence[dict[str, Any]]) -> None:
    """One line an array."""
    lines = []
    for one in arrays:
        numbers = ["" if (n := one[of]) is None else f"{n:.6g}" for of in ("least", "mean", "most")]
        shape = " x ".join(map(str, one["shape"]))
        lines.append((one["name"], one["dtype"], shape, *numbers, str(one["nans"])))
    console = Console(markup=False)
    print_table(console, _ARRAY_HEADINGS, lines, _WORDS, no_wrap=False, **_LOOKS)


def _print_xray(found: XRay, *, listing: bool = False) -> None:
    """Counters by line, what the compiler made of the kernel, with its `listing` on request, and hazards, one per line."""
    console = Console(markup=False)
    for sentence in (found.words, *found.notes):
        console.print(sentence, highlight=False)
    instructions = found.total.get("instructions", 0)
    made = f" ({found.made_by}), {instructions} instructions of warps" if found.made_by else ""
    console.print(f"C{found.counted[1:]}{made}.", highlight=False)
    for file in dict.fromkeys(row.file for row in found.lines):
        lines = [_cells(row) for row in found.lines if row.file == file]
        print_table(console, _HEADINGS, lines, _WORDS, title=file, **_LOOKS)
    for sentence in _changes(found):
        console.print(sentence, highlight=False, soft_wrap=True)
    if found.machine_code:
        lines = list(map(_resources, found.machine_code))
        title = "as NVRTC compiles it"
        print_table(console, _MACHINE_HEADINGS, lines, _WORDS, title=title, **_LOOKS)
    if listing:
        for line in _listing(found):
            console.print(line, highlight=False, soft_wrap=True)
    for hazard in found.hazards:
        console.print(Text(hazard.words), soft_wrap=True)
    if found.hazards_sought and not found.hazards:
        elsewhere = f", here and on {len(found.ragged)} ragged matrices" if found.ragged else ""
        console.print(f"No hazard found{elsewhere}.", highlight=False)


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


def _resources(code: MachineCode) -> tuple[str, ...]:
    sizes = (f"{code.shared_bytes} B", f"{code.spill_bytes} B")
    blocks = str(code.blocks_a_multiprocessor)
    return code.entry, f"sm_{code.arch}", str(code.registers), *sizes, blocks, code.limit


def _listing(found: XRay) -> Iterator[str]:
    """The machine code or PTX, a line for each instruction; nothing of what was counted otherwise."""
    if found.code:
        yield f"{'address':>7} {'line':>20} {'times':>9} {'live':>4} {'loads':>5}  machine code for sm_{found.arch}"
    elif found.ptx:
        yield f"{'line':>20} {'times':>9}  PTX for sm_{found.arch}"
    for one in found.code or found.ptx:
        is_own = one.file == found.program.source.file_name
        place = str(one.line) if is_own else f"{one.file}:{one.line}"
        counts = f"{place:>20} {one.warps:9}"
        if isinstance(one, CodeLine):
            counts = f"{one.address:7x} {counts} {one.live:4} {one.in_flight or '':>5}"
        yield f"{counts}  {f'{one.label}: ' if one.label else ''}{one.text}"
