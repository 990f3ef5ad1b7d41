"""What a kernel is: its file, how it is launched, which block sizes and rows it takes, what it reads and writes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from softmax_lib.engine.grids import REGISTERS_A_BLOCK, check_threads
from softmax_lib.engine.source import WARP, Edit, Program, Source
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.worklog.errors import BadInput, BlockSizeNotAllowed, CompileError, RowTooLong
from softmax_lib.worklog.files import KERNEL_FOLDER

if TYPE_CHECKING:  # they need numpy, and whoever names a kernel does not
    from softmax_lib.engine.arrays import Matrix
    from softmax_lib.engine.signature import Signature
    from softmax_lib.engine.spec import LaunchSpec, Unkept

Grid = Literal["thread a row", "lanes a row", "block a row", "thread an element"]
"""How a launch shares out the matrix: `Step.blocks` has how many blocks each takes."""

Pattern = Literal[
    "row a thread",
    "strided",
    "by lanes",
    "strided float4",
    "chunk a thread",
    "contiguous",
    "same row",
    "value of the row",
]
"""How one pass over the matrix is spread over the lanes of a warp; `prediction` counts sectors from it.

row a thread    lane i reads row i: neighbours are a whole row apart
strided         lane i reads column i, i + block, ...: neighbours are next to each other
by lanes        the same, where LANES threads share a row, and a warp takes neighbouring rows
strided float4  the same by 16 bytes, the ends of a row by single floats
chunk a thread  lane i reads the i-th chunk of the row: neighbours are a chunk apart
contiguous      lane i takes element i of the whole matrix
same row        each element's thread reads its whole row: all lanes read one address
value of the row  each thread of a row's block reads one scratch value of it
"""


WARP_MULTIPLES = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
POWERS_OF_TWO = (32, 64, 128, 256, 512, 1024)

MAX_ROWS = 2**31 - 1024
"""Rows are counted in an int with room for the threads of the last block."""
MAX_COLS = 2**31 - 4096
"""Columns are counted in an int with room for one more stride of a block."""

Macros = tuple[tuple[str, int], ...]
"""Names of macros, and the number that each is defined as."""


@dataclass(frozen=True)
class Step:
    """One launch of a kernel's sequence: most kernels have one, an unfused one has several."""

    entry: str
    grid: Grid
    arguments: tuple[str, ...] = ("x", "y", "rows", "cols")
    elements_a_thread: int = 1
    lanes: int = 1
    turns: int = 1
    cluster: int = 1

    def blocks(self, rows: int, cols: int, block_size: int) -> int:
        """Number of blocks of `block_size` threads for a (rows, cols) matrix."""
        threads = {
            "thread a row": rows,
            "lanes a row": -(-rows // self.turns) * self.lanes,
            "block a row": rows * self.cluster * block_size,
            "thread an element": -(-rows * cols // self.elements_a_thread),
        }
        return -(-threads[self.grid] // block_size)

    @property
    def facts(self) -> dict[str, object]:
        """What a digest is made of, by names that outlive those of the fields."""
        facts: dict[str, object] = {
            "entry": self.entry,
            "grid": self.grid,
            "arguments": self.arguments,
            "elements_a_thread": self.elements_a_thread,
        }
        if self.grid == "lanes a row":
            facts |= {"lanes": self.lanes, "turns": self.turns}
        if self.cluster > 1:
            facts["cluster"] = self.cluster
        return facts


@dataclass(frozen=True)
class Kernel:
    """A softmax kernel and all that launching and judging it needs.

    `loads` and `stores` name the passes over the matrix in global memory; `thread_share` is how many
    floats of its row each thread should get, by which the kernel chooses its block size;
    `per_thread` lists how many floats a thread may hold where a kernel keeps its row on chip, one
    compilation for each; `share` is how many a block may keep in dynamic shared memory; `vector` is the
    floats of a load, where rows have to be whole ones, each aligned; `macros` are what else its text leaves open, as it is compiled if nothing else is said,
    and `choices` the numbers that each of them takes; `edits` make a control of the file's text, and
    `changes` says in words what they change; `flaw` says which inputs a foil gets wrong on purpose;
    `suite` is the suite of `softmax-lib bench` that times it, where `record` does not.
    """

    name: str
    stem: str
    steps: tuple[Step, ...]
    loads: tuple[Pattern, ...]
    stores: tuple[Pattern, ...]
    block_sizes: tuple[int, ...] = WARP_MULTIPLES
    default_block_size: int = 256
    thread_share: int | None = None
    per_thread: tuple[int, ...] = ()
    share: int = 0
    vector: int = 1
    macros: Macros = ()
    choices: tuple[int, ...] = ()
    in_place: bool = False
    foil: bool = False
    flaw: str | None = None
    of: str | None = None
    changes: str = ""
    edits: tuple[Edit, ...] = ()
    suite: str = ""
    given_source: Source | None = None

    # ---- the source

    @property
    def path(self) -> Path:
        return KERNEL_FOLDER / f"{self.stem}.cu"

    @cached_property
    def source(self) -> Source:
        """The .cu file, read, and for a control edited."""
        if self.given_source:
            return self.given_source
        text = Source.read(self.path)
        return text.edited(f"{self.name}.cu", self.edits) if self.edits else text

    @cached_property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of program and launch facts, by name: what was checked and measured."""
        facts = {
            "program": Program(self.source).digest,
            "steps": [step.facts for step in self.steps],
            "block_sizes": self.block_sizes,
            "per_thread": self.per_thread,
            "in_place": self.in_place,
        }
        if self.vector > 1:
            facts["vector"] = self.vector
        if self.macros:
            facts["macros"] = dict(self.macros)
        if self.share:
            facts["share"] = self.share
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def program(self, block_size: int, cols: int) -> Program:
        """What to compile for this launch, with those macros that the source names. Raises `RowTooLong`."""
        self._check_length(block_size, cols)
        values = {"BLOCK": block_size, **dict(self.macros)}
        if self.source.mentions("PER_THREAD"):
            threads = self.threads_a_row(block_size)
            values["PER_THREAD"] = min(n for n in self.per_thread if threads * n >= cols)
        return Program(
            self.source, tuple((k, v) for k, v in values.items() if self.source.mentions(k))
        )

    def setting(self, **macros: int) -> Kernel:
        """The kernel with other numbers for some macros: `kernels["unroll"].setting(UNROLL=8)`. Raises `BadInput`."""
        known = dict(self.macros)
        for macro, number in macros.items():
            if macro not in known:
                has = " and ".join(known) or "none"
                raise BadInput(f"{self.name} leaves no macro {macro} open; it has {has}.")
            if number not in self.choices:
                taken = ", ".join(map(str, self.choices))
                raise BadInput(f"{macro} is {number!r}; {self.name} takes {taken}.")
        known |= macros
        fields = {"LANES": "lanes", "TURNS": "turns", "CLUSTER": "cluster"}  # these count blocks
        counts: dict[str, Any] = {
            field: known[macro] for macro, field in fields.items() if macro in known
        }
        steps = tuple(replace(step, **counts) for step in self.steps)
        return replace(self, macros=tuple(known.items()), steps=steps)

    def launches(
        self,
        x: Matrix,
        y: Matrix | Unkept,
        block_size: int,
        *,
        grid: int | None = None,
        warp_size: int = WARP,
    ) -> tuple[LaunchSpec, ...]:
        """y = kernel(x) as the engine takes it: a launch for each step, on the same arrays.

        `x` and `y` are contiguous float32 arrays or CPU tensors of shape (rows, cols), not empty; `y` may be `x`, or `Unkept`.
        `grid` replaces the number of blocks. Raises `RowTooLong`, and `BadInput` for a block or a warp that there
        cannot be.
        """
        import numpy as np

        from softmax_lib.engine.arrays import address, is_array
        from softmax_lib.engine.spec import LaunchSpec

        check_threads(block_size)
        rows, cols = x.shape
        program = self.program(block_size, cols)
        values = {"x": x, "y": y, "rows": rows, "cols": cols}
        values |= {name: np.full(rows, np.nan, np.float32) for name in self.scratch}
        is_in_place = is_array(y) and address(y) == address(x)
        return tuple(
            LaunchSpec(
                program.source,
                step.entry,
                (grid or step.blocks(rows, cols, block_size), 1, 1),
                (block_size, 1, 1),
                tuple(values[name] for name in step.arguments),
                self.shared_bytes(cols),
                cluster=(step.cluster, 1, 1),
                defines=program.defines,
                entries=self.entries,
                warp_size=warp_size,
                names=step.arguments,
                inputs=frozenset() if is_in_place else frozenset({"x"}),
                unwritten=frozenset({"y", *self.scratch}),
                has_no_shared=not self.share,
                check=partial(self._check_parameters, step),
            )
            for step in self.steps
        )

    def _check_parameters(self, step: Step, signature: Signature) -> None:
        """Raises `CompileError` where a kernel takes something else than arrays of float and int sizes."""
        from softmax_lib.engine.signature import Kind

        taken = signature.parameters
        expected = [
            (0, Kind.SIGNED) if n in ("rows", "cols") else (1, Kind.FLOATING)
            for n in step.arguments
        ]
        if [(p.depth, p.kind) for p in taken] != expected or any(p.size != 4 for p in taken):
            calls = ", ".join(f"{one.entry}({', '.join(one.arguments)})" for one in self.steps)
            raise CompileError(
                f"{self.source.file_name} is launched as {calls}, with arrays of float and int sizes, "
                "and its kernels take something else."
            )

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the source's kernels that are launched, each once."""
        return tuple(dict.fromkeys(step.entry for step in self.steps))

    # ---- what it reads and writes

    @property
    def scratch(self) -> tuple[str, ...]:
        """Names of the arrays of one float per row that the steps hand to each other."""
        names = (name for step in self.steps for name in step.arguments)
        return tuple(dict.fromkeys(n for n in names if n not in ("x", "y", "rows", "cols")))

    def traffic(self, cols: int) -> tuple[int, int]:
        """Reads and writes of global memory an element, for rows of `cols` elements."""
        an_element = {"same row": cols, "value of the row": 0}
        loads, stores = (
            sum(an_element.get(pattern, 1) for pattern in passes)
            for passes in (self.loads, self.stores)
        )
        return loads, stores

    # ---- block sizes, and the rows that they take

    @property
    def cluster(self) -> int:
        """Blocks of a cluster, which share a row."""
        return dict(self.macros).get("CLUSTER", 1)

    def shared_bytes(self, cols: int) -> int:
        """Of dynamic shared memory, a block: whole vectors."""
        return 4 * self.vector * -(-cols // self.vector // self.cluster) if self.share else 0

    def threads_a_row(self, block_size: int) -> int:
        """Of its lanes, its block or its cluster."""
        return dict(self.macros).get("LANES", block_size * self.cluster)

    def largest_per_thread(self, block_size: int) -> int:
        """Floats that a thread holds at most: half of its registers, and 128 of the 255 it can name."""
        return max(n for n in self.per_thread if n <= REGISTERS_A_BLOCK // 2 // block_size)

    def max_cols(self, block_size: int) -> int:
        """Longest row at this block size."""
        if self.share:
            return self.cluster * self.share
        if not self.per_thread:
            return MAX_COLS
        return self.threads_a_row(block_size) * self.largest_per_thread(block_size)

    def longer(self, cols: int) -> int:
        """The shortest row of `cols` elements or more that it takes."""
        return -(-cols // self.vector) * self.vector

    def legal_block_sizes(self, cols: int) -> tuple[int, ...]:
        """Block sizes that take rows of `cols` elements."""
        return tuple(size for size in self.block_sizes if cols <= self.max_cols(size))

    def choose_block_size(self, cols: int) -> int:
        """The smallest block that gives no thread more than `thread_share`, else the largest; without one the default.

        Raises `RowTooLong` when no block takes rows of `cols` elements.
        """
        if self.thread_share is None:
            return self.default_block_size
        self._check_length(max(self.block_sizes, key=self.max_cols), cols)
        legal = self.legal_block_sizes(cols)
        share = self.thread_share * self.cluster
        return next((s for s in legal if s * share >= cols), legal[-1])

    def settle_block_size(self, block_size: int | None, cols: int) -> int:
        """`block_size`, or its own choice for None. Raises `WrongType`, `BlockSizeNotAllowed` or `RowTooLong`."""
        if block_size is None:
            return self.choose_block_size(cols)
        block_size = whole("block_size", block_size)
        for entry in self.entries:
            if declared := self.source.kernel(entry):
                declared.check_threads(block_size)
        if block_size not in self.block_sizes:
            allowed = ", ".join(map(str, self.block_sizes))
            raise BlockSizeNotAllowed(
                f"{self.name} is not built for {block_size} threads per block; it takes {allowed}."
            )
        self._check_length(block_size, cols)
        return block_size

    def _check_length(self, block_size: int, cols: int) -> None:
        if cols % self.vector:
            raise BadInput(
                f"{self.name} loads {self.vector} floats at a time and takes rows of a multiple of "
                f"{self.vector}, not of {cols}; float4 takes rows of any length."
            )
        limit = self.max_cols(block_size)
        if cols > limit:
            lanes = dict(self.macros).get("LANES")
            shared = f"{block_size} threads per block" + (f", {lanes} per row" if lanes else "")
            shared += f", {self.cluster} blocks per row" * (self.cluster > 1)
            where = "shared memory" if self.share else "registers"
            raise RowTooLong(
                f"A row of {cols} elements is too long for {self.name} at {shared}: "
                f"it keeps the row in {where} and takes at most {limit}; float4 takes rows of any length."
            )
