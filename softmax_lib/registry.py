"""What kernels exist: name, file, launch shape, limits and traffic. Launch facts live here and nowhere else."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from softmax_lib import source
from softmax_lib.errors import (
    BadInput,
    BlockSizeNotAllowed,
    RowTooLong,
    UnknownKernel,
    WrongType,
)
from softmax_lib.source import Program, Source

Grid = Literal["thread a row", "block a row", "thread an element"]

Pattern = Literal[
    "row a thread",
    "strided",
    "strided float4",
    "chunk a thread",
    "contiguous",
    "same row",
    "one a row",
]
"""How one pass over the matrix is spread over the lanes of a warp; `traffic` counts sectors from it.

row a thread    lane i reads row i: neighbours are a whole row apart
strided         lane i reads column i, i + block, ...: neighbours are next to each other
strided float4  the same by 16 bytes, the ends of a row by single floats
chunk a thread  lane i reads the i-th chunk of the row: neighbours are a chunk apart
contiguous      lane i takes element i of the whole matrix
same row        each element's thread reads its whole row: all lanes read one address
one a row       each element's thread reads one scratch value of its row
"""

WARP_MULTIPLES = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
POWERS_OF_TWO = (32, 64, 128, 256, 512, 1024)

FLOATS_A_THREAD = (4, 8, 16, 32, 64, 128)
"""How many floats of its row a thread may keep: one compilation for each."""

MAX_ROWS = 2**31 - 1024
"""Rows are counted in an int with room for the threads of the last block."""
MAX_COLS = 2**31 - 4096
"""Columns are counted in an int with room for one more stride of a block."""

REGISTERS_A_BLOCK = 65536
"""32-bit registers that one block can have, on every arch from sm_75 up."""


@dataclass(frozen=True)
class Step:
    """One launch of a kernel's sequence: most kernels have one, an unfused one has several."""

    entry: str
    grid: Grid
    arguments: tuple[str, ...] = ("x", "y", "rows", "cols")
    elements_a_thread: int = 1

    def blocks(self, rows: int, cols: int, block_size: int) -> int:
        """Number of blocks of `block_size` threads for a (rows, cols) matrix."""
        threads = {
            "thread a row": rows,
            "block a row": rows * block_size,
            "thread an element": -(-rows * cols // self.elements_a_thread),
        }
        return -(-threads[self.grid] // block_size)


@dataclass(frozen=True)
class Kernel:
    """A softmax kernel and all that launching and judging it needs.

    `loads` and `stores` name the passes over the matrix in global memory; `per_thread` lists how many
    floats a thread may hold where a kernel keeps its row on chip, one compilation for each; `flaw`
    says which inputs a foil gets wrong on purpose.
    """

    name: str
    stem: str
    summary: str
    steps: tuple[Step, ...]
    loads: tuple[Pattern, ...]
    stores: tuple[Pattern, ...]
    block_sizes: tuple[int, ...] = WARP_MULTIPLES
    default_block_size: int = 256
    per_thread: tuple[int, ...] = ()
    in_place: bool = False
    foil: bool = False
    flaw: str | None = None
    given_source: Source | None = None

    @property
    def chapter(self) -> str:
        """Number of the chapter, as in the file's name: "05"."""
        return self.stem[:2]

    @property
    def needs_power_of_two(self) -> bool:
        """Whether the algorithm halves the block, so that only powers of two are allowed."""
        return self.block_sizes == POWERS_OF_TWO

    @property
    def path(self) -> Path:
        """The .cu file."""
        return source.KERNEL_FOLDER / f"{self.stem}.cu"

    @cached_property
    def source(self) -> Source:
        """The .cu file, read."""
        return self.given_source or Source.read(self.path)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Names of the arrays of one float a row that the steps hand to each other."""
        names = (name for step in self.steps for name in step.arguments)
        return tuple(dict.fromkeys(n for n in names if n not in ("x", "y", "rows", "cols")))

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of code, prelude, flags and launch facts: what was checked and measured."""
        facts = (self.steps, self.block_sizes, self.per_thread, self.in_place)
        parts = repr((Program(self.source).digest, facts))
        return hashlib.sha256(parts.encode()).hexdigest()

    def traffic(self, cols: int) -> tuple[int, int]:
        """Reads and writes of global memory an element, for rows of `cols` elements."""
        return _accesses(self.loads, cols), _accesses(self.stores, cols)

    def largest_per_thread(self, block_size: int) -> int:
        """Floats that a thread holds at most: half of its registers, and 128 of the 255 it can name."""
        return max(n for n in self.per_thread if n <= REGISTERS_A_BLOCK // 2 // block_size)

    def max_cols(self, block_size: int, arch: int = 75) -> int:
        """Longest row at this block size on `arch` (75 for sm_75); a register file is 64 K words on all."""
        if not self.per_thread:
            return MAX_COLS
        return block_size * self.largest_per_thread(block_size)

    def legal_block_sizes(self, cols: int) -> tuple[int, ...]:
        """Block sizes that take rows of `cols` elements."""
        return tuple(size for size in self.block_sizes if cols <= self.max_cols(size))

    def choose_block_size(self, cols: int) -> int:
        """The default block size; where the row stays on chip, one that gives a thread 16 floats of it.

        Raises `RowTooLong` when no block takes rows of `cols` elements.
        """
        if not self.per_thread:
            return self.default_block_size
        legal = self.legal_block_sizes(cols)
        if not legal:
            raise RowTooLong(self._too_long(cols, max(self.block_sizes, key=self.max_cols)))
        return next((size for size in legal if size * 16 >= cols), legal[-1])

    def settle_block_size(self, block_size: int | None, cols: int) -> int:
        """`block_size` if the kernel takes it, its own choice for None.

        Raises `BlockSizeNotAllowed` or `RowTooLong`.
        """
        if block_size is None:
            return self.choose_block_size(cols)
        if block_size not in self.block_sizes:
            allowed = ", ".join(map(str, self.block_sizes))
            raise BlockSizeNotAllowed(
                f"{self.name} is not built for {block_size} threads a block; it takes {allowed}."
            )
        if cols > self.max_cols(block_size):
            raise RowTooLong(self._too_long(cols, block_size))
        return block_size

    def program(self, block_size: int, cols: int) -> Program:
        """What to compile for this launch: macros are defined only when the source names them."""
        values = {"BLOCK": block_size}
        if self.source.mentions("PER_THREAD"):
            values["PER_THREAD"] = self._bucket(block_size, cols)
        return Program(
            self.source, tuple((k, v) for k, v in values.items() if self.source.mentions(k))
        )

    def programs(self) -> dict[tuple[int, int | None], Program]:
        """Every compilation the registry allows, by (block size, floats a thread)."""
        found: dict[tuple[int, int | None], Program] = {}
        for size in self.block_sizes:
            if not self.per_thread:
                found[size, None] = self.program(size, 1)
            for bucket in self.per_thread:
                if size * bucket <= self.max_cols(size):
                    found[size, bucket] = self.program(size, size * bucket)
        return found

    def _bucket(self, block_size: int, cols: int) -> int:
        return min(n for n in self.per_thread if block_size * n >= cols)

    def _too_long(self, cols: int, block_size: int) -> str:
        limit = self.max_cols(block_size)
        return (
            f"A row of {cols} elements is too long for {self.name} at {block_size} threads a block: "
            f"it keeps the row in registers and takes at most {limit}; float4 takes rows of any length."
        )


def _accesses(passes: tuple[Pattern, ...], cols: int) -> int:
    an_element = {"same row": cols, "one a row": 0}
    return sum(an_element.get(pattern, 1) for pattern in passes)


def _one(entry: str, grid: Grid) -> tuple[Step, ...]:
    return (Step(f"softmax_{entry}", grid),)


_ALL = (
    Kernel("unsafe", "01_unsafe", "a thread a row, no maximum subtracted",
           _one("unsafe", "thread a row"), 2 * ("row a thread",), ("row a thread",),
           default_block_size=32, foil=True, flaw="exp overflows above 88.7 and underflows below -103"),
    Kernel("naive", "03_naive", "a thread a row, three passes",
           _one("naive", "thread a row"), 3 * ("row a thread",), ("row a thread",), default_block_size=32),
    Kernel("per_element", "03_per_element", "a thread an element, each recomputing its row",
           _one("per_element", "thread an element"), ("same row", "same row", "contiguous"), ("contiguous",),
           foil=True),
    Kernel("online", "04_online", "a thread a row, running maximum and sum in one pass",
           _one("online", "thread a row"), 2 * ("row a thread",), ("row a thread",), default_block_size=32),
    Kernel("max_from_zero", "04_max_from_zero", "a running maximum that starts at 0",
           _one("max_from_zero", "thread a row"), 2 * ("row a thread",), ("row a thread",),
           default_block_size=32, foil=True, flaw="a row whose values all lie below -103 sums to 0"),
    Kernel("shared", "05_shared", "a block a row, tree reduction in shared memory",
           _one("shared", "block a row"), 2 * ("strided",), ("strided",),
           block_sizes=POWERS_OF_TWO, default_block_size=1024),
    Kernel("chunked", "05_chunked", "a block a row, one contiguous chunk a thread",
           _one("chunked", "block a row"), 2 * ("chunk a thread",), ("chunk a thread",),
           block_sizes=POWERS_OF_TWO, default_block_size=1024, foil=True),
    Kernel("shuffle", "06_shuffle", "a block a row, reduction by warp shuffles",
           _one("shuffle", "block a row"), 2 * ("strided",), ("strided",), default_block_size=1024),
    Kernel("float4", "07_float4", "16-byte loads and stores",
           _one("float4", "block a row"), 2 * ("strided float4",), ("strided float4",),
           default_block_size=1024),
    Kernel("fusion", "08_fusion", "the row stays in registers: one read, one write",
           _one("fusion", "block a row"), ("strided float4",), ("strided float4",),
           block_sizes=POWERS_OF_TWO, per_thread=FLOATS_A_THREAD, in_place=True),
    Kernel("unfused", "08_unfused", "max, subtract and exp, sum, divide as four launches",
           (Step("softmax_unfused_max", "block a row", ("x", "row_max", "rows", "cols")),
            Step("softmax_unfused_exp", "thread an element", ("x", "row_max", "y", "rows", "cols")),
            Step("softmax_unfused_sum", "block a row", ("y", "row_sum", "rows", "cols")),
            Step("softmax_unfused_divide", "thread an element", ("row_sum", "y", "rows", "cols"))),
           ("strided", "contiguous", "one a row", "strided", "contiguous", "one a row"), 2 * ("contiguous",),
           foil=True),
)  # fmt: skip

kernels: Mapping[str, Kernel] = MappingProxyType({kernel.name: kernel for kernel in _ALL})
"""All kernels by name, rungs and foils, in the order of the chapters."""


COPY = Kernel("copy", "02_copy", "y = x by 16-byte loads and stores",
              (Step("copy_float4", "thread an element", elements_a_thread=4),),
              ("contiguous",), ("contiguous",))  # fmt: skip
"""No softmax, and so not among `kernels`: the floor that `benchmark` measures beside them."""


def rungs() -> tuple[Kernel, ...]:
    """The kernels of the ladder, slowest first."""
    return tuple(kernel for kernel in _ALL if not kernel.foil)


def find_kernel(name: str) -> Kernel:
    """The kernel called `name`. Raises `UnknownKernel`, naming the nearest ones."""
    if name in kernels:
        return kernels[name]
    near = difflib.get_close_matches(name, kernels, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(kernels)}."
    raise UnknownKernel(f"There is no kernel called {name!r}; {hint}")


def resolve(kernel_or_source: str | Path | Kernel | Source, grid: Grid = "block a row") -> Kernel:
    """The kernel that a name, a .cu file, or CUDA text stands for.

    Text or a file needs exactly one `extern "C" __global__` kernel taking
    (const float* x, float* y, int rows, int cols). One that is named as a kernel of this registry,
    `softmax_naive` say, is launched as that one is; any other as `grid` says.
    Raises `UnknownKernel` or `BadInput`.
    """
    given = kernel_or_source
    if isinstance(given, str):
        if given in kernels:
            return kernels[given]
        if "{" in given:
            given = Source("kernel.cu", given)
        elif given.endswith(".cu"):
            given = Path(given)
        else:
            return find_kernel(given)
    if isinstance(given, Path):
        given = Source.read(given)
    if isinstance(given, Source):
        return _readers_kernel(given, grid)
    if isinstance(given, Kernel):
        return given
    raise WrongType(
        f"A kernel is a name, a .cu file or CUDA text, and not a {type(given).__name__}."
    )


def _readers_kernel(given: Source, grid: Grid) -> Kernel:
    if len(given.entries) != 1:
        found = ", ".join(given.entries) or "none"
        raise BadInput(
            f'{given.file_name} needs exactly one extern "C" __global__ kernel taking '
            f"(const float* x, float* y, int rows, int cols); it has {found}."
        )
    for kernel in _ALL:
        if kernel.steps[0].entry == given.entries[0]:
            return replace(kernel, given_source=given, flaw=None)
    per_thread = FLOATS_A_THREAD if given.mentions("PER_THREAD") else ()
    return Kernel(
        given.file_name.removesuffix(".cu"), given.file_name.removesuffix(".cu"), "a reader's own kernel",
        (Step(given.entries[0], grid),), ("strided",), ("strided",), per_thread=per_thread, given_source=given,
    )  # fmt: skip
