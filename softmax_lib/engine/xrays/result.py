"""What an x-ray found: counters by line, hazards, and what the compiler changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import prod

from softmax_lib.engine.compiled.inspection import MachineCode, inspect
from softmax_lib.engine.compiled.launching import Counted
from softmax_lib.engine.errors import CompileError, NotAvailable
from softmax_lib.engine.grids import Axes
from softmax_lib.engine.source import WARP, Program
from softmax_lib.engine.words import count, plural
from softmax_lib.engine.xrays.changes import Change
from softmax_lib.engine.xrays.code_lines import (
    CodeLine,
    Instruction,
    LineInstructions,
    read_code,
    read_instructions,
    read_ptx,
)
from softmax_lib.engine.xrays.hazards import Hazard
from softmax_lib.engine.xrays.lines import LineCounters, add_up


@dataclass(frozen=True)
class XRay:
    """Counters and hazards of one launch of `blocks` blocks; a fault ends the counts where it happened.

    `rows`, `cols` and `item_bytes` are those of the matrix that a softmax or a reader's operator was launched on,
    None of any other kernel; `grid` and `block` are of its last step. `notes` say what a reader may not expect of it;
    `ragged` are the shapes of other matrices on which hazards were looked for, and `hazards_sought` says whether they
    were at all. `path` is "machine" where the machine code for `arch` was counted, as `made_by` made it: then there
    are the lines as `written` too, `changes`, what the compiler made of some of them, and `steps`, what was run. With
    "ptx" it was PTX, and `steps_of_ptx` is what was run: what a GPU executes is not known. Else it is "written".
    """

    kernel: str
    blocks: int
    grid: Axes
    block: Axes
    lines: tuple[LineCounters, ...]
    hazards: tuple[Hazard, ...]
    program: Program = field(repr=False)
    rows: int | None = None
    cols: int | None = None
    item_bytes: int = 4
    ragged: tuple[tuple[int, int], ...] = ()
    hazards_sought: bool = True
    notes: tuple[str, ...] = ()
    path: str = "written"
    arch: int | None = None
    made_by: str = ""
    written: tuple[LineCounters, ...] = ()
    changes: tuple[Change, ...] = ()
    steps: tuple[Counted, ...] = field(default=(), repr=False, compare=False)
    steps_of_ptx: tuple[Counted, ...] = field(default=(), repr=False, compare=False)

    @property
    def block_size(self) -> int:
        """Threads of a block."""
        return prod(self.block)

    @property
    def words(self) -> str:
        """What was launched, such as "naive on (64, 4096), 2 blocks of 32 threads"."""
        if self.rows is not None:
            shape = f"({self.rows}, {self.cols})"
            blocks, threads = count(self.blocks, "block"), count(self.block_size, "thread")
            return f"{self.kernel} on {shape}, {blocks} of {threads}"
        blocks, threads = (
            f"{_by(axes)} {plural(prod(axes), thing)}"
            for axes, thing in ((self.grid, "block"), (self.block, "thread"))
        )
        return f"{self.kernel}, {blocks} of {threads}"

    @property
    def has_stopped(self) -> bool:
        """Whether a fault cut the launch off, and with it the counts."""
        return any(hazard.stops for hazard in self.hazards)

    @property
    def total(self) -> dict[str, int]:
        """Counters of all lines, under the names that `schema.METRICS` gives ncu's, and a few more."""
        executed = sum(int(step.executed["warps"].sum()) for step in self.steps)
        return add_up(self.lines) | ({"instructions": executed} if self.steps else {})

    @cached_property
    def instructions(self) -> tuple[LineInstructions, ...]:
        """What each line executes, by kind; nothing of a source as it is written."""
        return read_instructions(self.steps, self.program.source, self.written)

    @cached_property
    def code(self) -> tuple[CodeLine, ...]:
        """The machine code, instruction by instruction; nothing of a source as it is written."""
        return read_code(self.steps, self.program.source, self.written)

    @cached_property
    def ptx(self) -> tuple[Instruction, ...]:
        """The PTX, statement by statement, where that is what was counted."""
        return read_ptx(self.steps_of_ptx, self.program.source, self.written)

    @property
    def counted(self) -> str:
        """How it was counted, such as "counted in machine code for sm_90"."""
        if self.path == "machine":
            return f"counted in machine code for sm_{self.arch}"
        if self.path == "ptx":
            return f"counted in PTX for sm_{self.arch}, before the assembler"
        return "counted in the source as it is written"

    @property
    def threads(self) -> int:
        """Threads of all blocks."""
        return self.blocks * self.block_size

    @property
    def warps(self) -> int:
        """Warps of all blocks."""
        return self.blocks * -(-self.block_size // WARP)

    @cached_property
    def machine_code(self) -> tuple[MachineCode, ...]:
        """What NVRTC makes of the kernel, per arch; empty where NVRTC is missing or refuses it."""
        try:
            return inspect(self.program, self.block_size)
        except (NotAvailable, CompileError):
            return ()

    def as_json(self, *, code: bool = False) -> dict:
        """Plain lists and dictionaries; the machine code or PTX itself is in it on request."""
        facts = (
            "kernel", "rows", "cols", "ragged", "grid", "block", "block_size", "blocks", "warps", "threads", "total",
            "path", "arch", "made_by", "hazards_sought",
        )  # fmt: skip
        return {
            **{name: getattr(self, name) for name in facts},
            "lines": [line.as_json() for line in self.lines],
            "instructions": [asdict(one) for one in self.instructions],
            "written": [line.as_json() for line in self.written],
            "changes": [asdict(change) for change in self.changes],
            **({"code": [asdict(one) for one in self.code or self.ptx]} if code else {}),
            "notes": list(self.notes),
            "hazards": [asdict(hazard) for hazard in self.hazards],
            "machine_code": [asdict(code) for code in self.machine_code],
        }


def _by(axes: Axes) -> str:
    """ "8", or "8 x 4" of more than one axis."""
    used = axes[: max((i for i, length in enumerate(axes, 1) if length > 1), default=1)]
    return " x ".join(map(str, used))
