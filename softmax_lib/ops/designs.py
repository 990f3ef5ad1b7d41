"""How a row is shared among the threads of a GPU, and the kernel that this makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

CHUNK_BYTES = 16
"""What one load or store of a thread moves; numbers of a row that make no chunk are its edges."""
LINE_BYTES = 128
L2_BYTES = 64 * 2**20
"""About the largest L2 cache so far; what comes after a smaller matrix may find its result there."""
REGISTERS_AN_SM = 65536
SHARED_BYTES_AN_SM = 227 * 1024
THREADS_AN_SM = 2048
BLOCKS_AN_SM = 32

CUDA_TYPES = {"float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16"}
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of a number of each dtype that the kernels take, above it what C++ calls it."""

Regime = Literal["warp", "block", "cluster", "grid"]


@dataclass(frozen=True)
class Task:
    """What is to be computed: rows of `cols` numbers of dtype `of`, into numbers of dtype `to`.

    `backward` takes the result of the forward pass and its gradient, both of dtype `of`. With `edges` rows
    may begin anywhere and have any length; without, each begins at 16 bytes and is a multiple of them.
    `scores` are multiplied with a scale, and perhaps seen in part; `masked`, something is added to them.
    """

    rows: int
    cols: int
    of: str
    to: str
    backward: bool = False
    log: bool = False
    edges: bool = False
    scores: bool = False
    masked: bool = False

    def __str__(self) -> str:
        """In short: "log_softmax, gradient, of 300 x 4096 float32"."""
        kind = ", gradient" * self.backward + ", scores" * (self.scores and not self.backward)
        name = f"{'log_' * self.log}softmax{f'{kind},' * bool(kind)}"
        return f"{name} of {self.rows} x {self.cols} {self.of}"

    @property
    def holds_two(self) -> bool:
        """Whether a thread needs registers for two chunks to each one of a row: another input, or 16 bits as float32."""
        return self.backward or self.masked or (self.scores and self.size == 2)

    @property
    def holds_in_shared(self) -> bool:
        """Whether its kernels can hold a part of a row in shared memory."""
        return not (self.backward or self.scores)

    @property
    def size(self) -> int:
        """Bytes of a number that is read."""
        return SIZES[self.of]

    @property
    def result_size(self) -> int:
        """Bytes of a number that is written."""
        return SIZES[self.to]

    @property
    def row_bytes(self) -> int:
        return self.cols * self.size

    @property
    def flags(self) -> tuple[str, ...]:
        """For the compiler: results of 16 bits need no floats below 1e-38, whose care takes instructions."""
        return ("-ftz=true",) if self.result_size == 2 else ()

    @property
    def types(self) -> str:
        """As C++ has them."""
        return f"{CUDA_TYPES[self.of]}, {CUDA_TYPES[self.to]}"


@dataclass(frozen=True)
class Design:
    """`team` threads of a warp for each row, or `team` blocks of `threads`.

    A thread holds up to `registers` chunks of 16 bytes in registers and `shared` more in shared memory; a
    row that this cannot hold is read twice, `streamed`. `loads` and `stores` say how those treat the caches;
    `balanced` asks for clusters to be dealt out evenly rather than near one another.
    """

    regime: Regime
    team: int
    threads: int
    registers: int = 8
    shared: int = 0
    loads: Literal["PLAIN", "EVICT_LAST"] = "PLAIN"
    stores: Literal["PLAIN", "L2", "STREAMING"] = "PLAIN"
    balanced: bool = False
    streamed: bool = False

    def __str__(self) -> str:
        """In short: "cluster 8 x 256, 8 + 5, EVICT_LAST, STREAMING, balanced"."""
        team = {"warp": f"{self.team} of ", "block": ""}.get(self.regime, f"{self.team} x ")
        held = "streamed" if self.streamed else f"{self.registers} + {self.shared}"
        words = [f"{self.regime} {team}{self.threads}", held]
        words += [policy for policy in (self.loads, self.stores) if policy != "PLAIN"]
        return ", ".join([*words, "balanced"] if self.balanced else words)

    def fit(self, task: Task) -> Design | None:
        """The same for this task, with as many chunks a thread as its rows need; None when they do not fit."""
        if self.regime == "warp" and task.edges and self.team < 2 * CHUNK_BYTES // task.size:
            return None  # there is a thread for each edge
        if self.streamed:
            return self if task.backward or not task.scores else None
        # as share.cuh shares a row out: blocks get whole lines
        unit = LINE_BYTES // CHUNK_BYTES if self.blocks_a_row > 1 else 1
        chunks = -(-task.row_bytes // CHUNK_BYTES // self.blocks_a_row)
        needed = -(-max(1, -(-chunks // unit) * unit) // self.threads_a_share)
        if needed > self.registers + (self.shared if task.holds_in_shared else 0):
            return None
        registers = min(needed, self.registers)
        loads = self.loads if task.rows * task.row_bytes >= L2_BYTES else "PLAIN"
        design = replace(self, registers=registers, shared=needed - registers, loads=loads)
        # scores that are not held have other bits: where they begin does not decide it
        is_too_much = task.rows >> 32 or design.spills(replace(task, edges=True))
        return None if task.scores and is_too_much else design

    @property
    def blocks_a_row(self) -> int:
        """Blocks among which a row is shared out."""
        return self.team if self.regime in ("cluster", "grid") else 1

    @property
    def threads_a_share(self) -> int:
        """Threads that hold a row, or a block's share of it."""
        return self.team if self.regime == "warp" else self.threads

    @property
    def shared_bytes(self) -> int:
        """Of dynamic shared memory, a block."""
        return CHUNK_BYTES * self.shared * self.threads

    def blocks(self, rows: int) -> int:
        """Of a launch; a grid's are those of as many rows as are under way at once."""
        if self.regime == "warp":
            return -(-rows * self.team // self.threads)
        return rows * self.blocks_a_row

    def expression(self, task: Task) -> str:
        """The kernel's C++ name, such as "softmax_block<Forward<float, float, ...>, 256, 4>"."""
        team = () if self.regime == "block" else (self.team,)
        parts = (self.row(task), *team, self.threads, self.blocks_an_sm(task))
        more = ("Scaling",) if task.scores else ()
        return f"softmax_{self.regime}<{', '.join(map(str, (*parts, *more)))}>"

    def row(self, task: Task) -> str:
        """What the kernel is made for, one of rows.cuh."""
        kind = "Backward" if task.backward else "Forward"
        log = str(task.log).lower()
        if self.streamed:
            return f"Streamed{kind}<{task.types}, {self.threads_a_share}, {log}>"
        edges = str(task.edges).lower()
        held = f"{self.threads_a_share}, {self.registers}"
        if task.holds_in_shared:
            held += f", {self.shared}"
        if task.scores and not task.backward:
            kind, log = "Scores", f"{log}, {str(task.masked).lower()}"
        return f"{kind}<{task.types}, {held}, {edges}, {log}, {self.loads}, {self.stores}>"

    def blocks_an_sm(self, task: Task) -> int:
        """How many should fit on a multiprocessor (SM): the compiler gets the registers that this leaves.

        Those for what a thread holds, and some 24 for its way through the kernel; streamed rows take 80.
        """
        registers = 80 if self.streamed else min(128, -(-self._registers(task) // 8) * 8)
        by_registers = REGISTERS_AN_SM // (self.threads * registers)
        by_shared = SHARED_BYTES_AN_SM // (self.shared_bytes + 1024)
        return max(1, min(by_registers, by_shared, THREADS_AN_SM // self.threads, BLOCKS_AN_SM))

    def spills(self, task: Task) -> bool:
        """Whether a thread needs more registers than it can have, for rows that its table was not measured on."""
        return self._registers(task) > min(128, REGISTERS_AN_SM // self.threads)

    def _registers(self, task: Task) -> int:
        held = CHUNK_BYTES // 4 * self.registers * (2 if task.holds_two else 1)
        of_edges = 8 if task.edges else 0
        of_scores = 16 * task.scores * (1 + task.edges)
        return held + 24 + of_edges + of_scores + 8 * (self.regime == "grid")


@dataclass(frozen=True)
class Tile:
    """For short rows that lie one behind another: `lanes` threads for each, of which the first has `held` numbers."""

    lanes: int
    held: int
    threads: int = 128

    def __str__(self) -> str:
        """In short: "tile of 128, 2 threads a row, 17 numbers each"."""
        return f"tile of {self.threads}, {self.lanes} threads a row, {self.held} numbers each"

    def blocks(self, rows: int) -> int:
        """Of a launch."""
        return -(-rows * self.lanes // self.threads)

    def shared_bytes(self, task: Task) -> int:
        """Of dynamic shared memory, a block: its rows of each input, and of a result with another size."""
        a_number = task.size * (2 if task.backward else 1)
        if task.result_size != task.size:
            a_number += task.result_size
        return self.threads // self.lanes * task.cols * a_number

    def expression(self, task: Task) -> str:
        """The kernel's C++ name."""
        kind = "BackwardTile" if task.backward else "ForwardTile"
        row = f"{kind}<{task.types}, {self.held}, {str(task.log).lower()}>"
        registers = max(
            40,
            -(-(self.held * (2 if task.backward else 1) + (46 if task.backward else 30)) // 8) * 8,
        )
        blocks_an_sm = min(THREADS_AN_SM, REGISTERS_AN_SM // registers) // self.threads
        return f"softmax_tile<{row}, {self.lanes}, {self.threads}, {blocks_an_sm}>"


@dataclass(frozen=True)
class Strided:
    """For rows along another dimension than the last: `lanes` threads a block beside one another, `team` times.

    A thread has `count` rows, and of each up to `held` numbers; where `held` is 0 it reads them twice. A
    `cluster` of so many blocks shares a row out.
    """

    count: int
    lanes: int
    team: int
    held: int
    cluster: int = 1

    def __str__(self) -> str:
        """In short: "strided 8 x 64, 4 rows a thread, 16 held, clusters of 2"."""
        held = f"{self.held} held" if self.held else "read twice"
        clusters = f", clusters of {self.cluster}" * (self.cluster > 1)
        return f"strided {self.lanes} x {self.team}, {self.count} rows a thread, {held}{clusters}"

    @property
    def threads(self) -> int:
        """A block."""
        return self.lanes * self.team

    def blocks(self, outer: int, inner: int) -> int:
        """Of a launch for (outer, cols, inner)."""
        return outer * -(-inner // (self.lanes * self.count)) * self.cluster

    def blocks_an_sm(self, task: Task) -> int:
        """How many should fit on a multiprocessor: registers for what a thread holds, for its rows, and some 40."""
        held = self.held * max(1, self.count * task.size // 4) * (2 if task.backward else 1)
        registers = min(128, -(-(held + max(16, 4 * self.count) + 40) // 8) * 8)
        return max(1, min(THREADS_AN_SM, REGISTERS_AN_SM // registers) // self.threads)

    def expression(self, task: Task) -> str:
        """The kernel's C++ name."""
        kind = "BackwardColumns" if task.backward else "ForwardColumns"
        columns = f"{kind}<{task.types}, {self.count}, {str(task.log).lower()}>"
        parts = (self.lanes, self.team, self.held, self.cluster, self.blocks_an_sm(task))
        return f"softmax_strided<{columns}, {', '.join(map(str, parts))}>"
