"""Chapter 09's kernel at every setting: how far its loop is unrolled, loads in flight, threads per block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing.pool import ThreadPool
from typing import Any

from softmax_lib.engine.compiled.inspection import inspect
from softmax_lib.gpu.presence import arch_of
from softmax_lib.suites.cells import (
    SETTINGS_PROTOCOL,
    Matrix,
    Progress,
    call_of,
    require_right,
    row_too_long,
    run_cells,
    time_beside_copies,
)
from softmax_lib.suites.plan import WORKLOG
from softmax_lib.suites.timing import Call
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.reads import in_flight_per_thread, reads, row_reads
from softmax_lib.worklog.registry import kernels

SEARCHED_SIZES = (64, 128, 256, 512, 1024)
SEEDS_ROWS, SEEDS_SIZES = 128, (128, 256, 512, 1024)
SEEDS_LENGTHS = tuple(2**power for power in range(11, 18))
"""Of the search in SzymonOzog/FastSoftmax: its rows, block sizes and lengths, but for 1024 columns, whose matrices would
stay in L2."""
CONTROL_SIZES = (256, 1024)
OTHERS = ("float4", "fusion", "torch")
"""Who is timed beside them, each at the block size that it chooses itself."""
NAME = "unroll"


@dataclass(frozen=True)
class Setting:
    """One compilation of chapter 09's kernel, or of a control made of it."""

    kernel: str
    block_size: int
    unroll: int
    in_flight: int

    @property
    def compiled(self) -> Kernel:
        """The kernel with its macros set."""
        return kernels[self.kernel].setting(UNROLL=self.unroll, IN_FLIGHT=self.in_flight)

    @property
    def call(self) -> Call:
        macros = {"UNROLL": self.unroll, "IN_FLIGHT": self.in_flight}
        return call_of(self.kernel, self.block_size, **macros)


def grid(sizes: Sequence[int], name: str = NAME) -> tuple[Setting, ...]:
    """Every setting of chapter 09's kernel, or of a control made of it, in blocks of these sizes."""
    choices = kernels[name].choices
    return tuple(Setting(name, *one) for one in product(sizes, choices, choices))


def cells() -> Iterator[Matrix[Setting]]:
    """All that the suite times: the worklog's matrix with the controls, and the seed's search."""
    controls = [name for name, kernel in kernels.items() if kernel.of == NAME]
    settings = [one for name in controls for one in grid(CONTROL_SIZES, name)]
    yield Matrix("worklog", *WORKLOG, (*grid(SEARCHED_SIZES), *settings))
    for cols in SEEDS_LENGTHS:
        yield Matrix("seed", SEEDS_ROWS, cols, grid(SEEDS_SIZES))


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each matrix `{"rows", "cols", "copy_us", "others": {name: us}, "times": [{"kernel",
    "block_size", "unroll", "in_flight", "us"}]}`, `codes` for each setting what the compiler made of it, and
    `digests` what was compiled; the rest is as in `cells.run_cells`. Raises `NotAvailable` where a kernel is
    wrong here, and without NVRTC or nvdisasm.
    """
    todo = list(cells())
    settings = list(dict.fromkeys(one for cell in todo for one in cell.contenders))
    require_right(dict.fromkeys(setting.kernel for setting in settings))
    codes = machine_codes(settings, progress)
    timed = run_cells(todo, time_cell, progress)
    digests = {name: kernel.digest for name, kernel in kernels.items() if kernel.suite == NAME}
    return {"protocol": SETTINGS_PROTOCOL, **timed, "codes": codes, "digests": digests}


def time_cell(cell: Matrix[Setting], skipped: dict[str, str]) -> dict[str, Any]:
    """One matrix: its times, in the order of the settings; who does not take it is told to `skipped`."""
    refusals = {name: row_too_long(name, cell.cols) for name in OTHERS}
    skipped |= {f"{name} on {cell.rows}x{cell.cols}": why for name, why in refusals.items() if why}
    others = {name: call_of(name) for name, why in refusals.items() if not why}
    settings = {str(one): one for one in cell.contenders}
    calls = {name: one.call for name, one in settings.items()}
    us, copy_us = time_beside_copies(cell.case, {**others, **calls})
    return {
        "rows": cell.rows,
        "cols": cell.cols,
        "copy_us": round(copy_us, 3),
        "others": {name: round(us[name], 3) for name in others},
        "times": [{**vars(one), "us": round(us[name], 3)} for name, one in settings.items()],
    }


def machine_codes(settings: Sequence[Setting], progress: Progress) -> list[dict[str, Any]]:
    """What the compiler makes of each setting for this GPU, several at once; fields as in `UnrollTime`."""
    codes = []
    with ThreadPool() as pool:
        for code in pool.imap(partial(_code, arch_of()), settings):
            codes.append(code)
            progress("compiling", len(codes), len(settings))
    return codes


def _code(arch: int, setting: Setting) -> dict[str, Any]:
    kernel, size = setting.compiled, setting.block_size
    cols = WORKLOG[1]  # of which no macro tells the compiler
    found = row_reads(reads(kernel, size, cols, arch))
    code = inspect(kernel.program(size, cols), size, [arch])[-1]
    return {
        **vars(setting),
        "registers": code.registers,
        "spill_bytes": code.spill_bytes,
        "asked_bytes": round(in_flight_per_thread(found), 1),
        "instructions": round(sum(read.instructions for read in found), 1),
        "blocks": code.blocks_a_multiprocessor,
    }


def search(rows: int, cols: int, progress: Progress) -> dict[str, Any]:
    """The same run with the kernel itself on one matrix alone; raises what `run_suite` does."""
    cell = Matrix("searched", rows, cols, grid(SEARCHED_SIZES))
    codes = machine_codes(cell.contenders, progress)
    return {**run_cells([cell], time_cell, progress), "codes": codes}
