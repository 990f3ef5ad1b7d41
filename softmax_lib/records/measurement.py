"""One measured time: what was timed, how long it took beside a copy, and where that comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from softmax_lib.worklog.errors import BadInput

L2 = Literal["cold", "hot"]
Data = Literal["normal", "spread", "masked", "ascending", "descending", "equal", "in steps"]
"""What the matrix holds: normal noise, the same times 60, or of which half is -inf; the same with its rows sorted;
one number; or numbers that rise every 512 of a row and have no order among those."""

ITEM_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes of an element, by the dtypes that records know."""

KNOWN = {"dtype": tuple(ITEM_BYTES), "l2": get_args(L2), "data": get_args(Data)}
"""What a case may have there."""

PEERS = ("torch", "torch.compile", "triton", "triton-tile", "liger", "quack", "helion")
"""The softmaxes of others that a record has, in the order in which tables and pictures have them."""

LABELS = {
    "triton": "Triton tutorial", "triton-tile": "simple Triton", "liger": "Liger", "quack": "QuACK",
    "helion": "Helion", "flashinfer": "FlashInfer", "flaggems": "FlagGems", "transformer-engine": "Transformer Engine",
    "tilegym": "TileGym",
}  # fmt: skip
"""What a table or picture calls a peer, where that is not its name."""


PACKAGES = {
    "torch": "torch", "torch.compile": "torch", "triton": "triton", "triton-tile": "triton",
    "liger": "liger-kernel", "quack": "quack-kernels", "helion": "helion",
    "flashinfer": "flashinfer-python", "flaggems": "flag-gems", "transformer-engine": "transformer-engine",
    "tilegym": "tilegym",
}  # fmt: skip
"""The package that each peer is a part of, or made with."""


def versions_of(providers: Iterable[str], software: Mapping[str, str]) -> str:
    """The packages of those among `providers` that are peers: "torch 2.11.0, triton 3.6.0"."""
    there = set(providers)
    packages = dict.fromkeys(of for peer, of in PACKAGES.items() if peer in there)
    return ", ".join(f"{name} {software[name]}" for name in packages if name in software)


@dataclass(frozen=True)
class Case:
    """What is timed: a provider (a kernel, a peer or a copy) on one matrix, with a cold or hot L2.

    A kernel has a block size; a peer and a copy have none. `step` is the entry of the one launch of
    a kernel that is timed alone, "" for the whole. Raises `BadInput` for a matrix without elements,
    or a dtype, L2 or data that is not known here.
    """

    provider: str
    rows: int
    cols: int
    dtype: str = "float32"
    block_size: int | None = None
    l2: L2 = "cold"
    data: Data = "normal"
    step: str = ""

    def __post_init__(self) -> None:
        if self.rows < 1 or self.cols < 1:
            raise BadInput(f"A matrix of shape {self.shape} has nothing to time.")
        for name, known in KNOWN.items():
            value = getattr(self, name)
            if value not in known:
                raise BadInput(f"{name} is one of {', '.join(known)}, and not {value!r}.")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, self.cols

    @property
    def matrix_bytes(self) -> int:
        """Bytes of the matrix."""
        return self.rows * self.cols * ITEM_BYTES[self.dtype]

    def __str__(self) -> str:
        threads = "" if self.block_size is None else f" at {self.block_size} threads per block"
        data = "" if self.data == "normal" else f" of {self.data} values"
        of = f"{self.step} of " if self.step else ""
        return f"{of}{self.provider} on {self.shape} {self.dtype}{data}{threads}, {self.l2} L2"


TIE = 1.02
"""Times that differ by less than this factor are a tie: so much do two recordings of a case differ."""


@dataclass(frozen=True)
class Measurement:
    """Time of one case in microseconds: median and quartiles, and that of a copy in the same run.

    `host_us` is one eager call on the host, where that was timed. `source` says in words whether it
    is live or recorded, on which GPU and when; `stale` that the kernel has changed since.
    """

    case: Case
    median_us: float
    low_us: float
    high_us: float
    copy_us: float
    host_us: float | None = None
    source: str = "live"
    stale: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it was taken here and now."""
        return self.source.startswith("live")

    @property
    def gb_per_s(self) -> float:
        """Bandwidth that one read and one write of the matrix make, in 10^9 bytes a second."""
        return gb_per_s(self.case.matrix_bytes, self.median_us)

    @property
    def copy_gb_per_s(self) -> float:
        """Bandwidth of that copy, in 10^9 bytes a second."""
        return gb_per_s(self.case.matrix_bytes, self.copy_us)

    @property
    def copy_share(self) -> float:
        """Speed as a share of that copy's: 1.0 is as fast."""
        return self.copy_us / self.median_us

    def ties(self, other: Measurement) -> bool:
        """Whether the two times differ by less than two recordings of one case do."""
        return max(self.median_us, other.median_us) < TIE * min(self.median_us, other.median_us)

    @property
    def label(self) -> str:
        """What to call the provider; a star marks one whose kernel has changed since."""
        return LABELS.get(self.case.provider, self.case.provider) + ("*" if self.stale else "")


@dataclass(frozen=True)
class Profile:
    """Hardware counters of one launch, by the names in `schema.METRICS`; those of all steps added up.

    Those of `schema.EXECUTION` are missing where ncu could not read them; what is made of them
    raises `BadInput` then.
    """

    case: Case
    counters: dict[str, int]

    @property
    def instructions_per_element(self) -> float:
        """Instructions that the threads executed for each element of the matrix."""
        return 32 * self._ran("instructions") / (self.case.rows * self.case.cols)

    @property
    def issue_share(self) -> float:
        """Issue slots used: instructions issued in each cycle of a scheduler, which can issue one."""
        return self._ran("instructions_issued") / self._ran("scheduler_cycles")

    @property
    def warps_per_multiprocessor(self) -> float:
        """Warps that a multiprocessor held, on average over the cycles in which it held any."""
        return self._ran("warp_cycles") / self._ran("multiprocessor_cycles")

    @property
    def l1_hit_share(self) -> float:
        """Of the sectors that loads asked L1 for, the share that it had."""
        return self._ran("global_load_hit_sectors") / self.counters["global_load_sectors"]

    @property
    def stalls(self) -> dict[str, float]:
        """What warps waited for, as shares of all their cycles, by ncu's reasons, largest first."""
        self._ran("warp_cycles")
        found = {n: v for n, v in self.counters.items() if n.startswith("stalled_")}
        in_order = sorted(found, key=lambda name: -found[name])
        return {n.removeprefix("stalled_"): found[n] / sum(found.values()) for n in in_order}

    def _ran(self, name: str) -> int:
        """A counter of how the kernel ran. Raises `BadInput` where ncu could not read it."""
        if "warp_cycles" not in self.counters:
            raise BadInput(f"How {self.case.provider} ran on {self.case.shape} was not counted.")
        return self.counters[name]


@dataclass(frozen=True)
class Probe:
    """What a probe of the GPU found, by its unit, `at` certain settings: 39.9 {"cycles"} at {"kib": 4}."""

    name: str
    at: dict[str, int]
    found: dict[str, float]


def gb_per_s(matrix_bytes: int, time_us: float) -> float:
    """Bandwidth that one read and one write of a matrix make in `time_us`, in 10^9 bytes a second."""
    return 2 * matrix_bytes / time_us / 1e3


@dataclass(frozen=True, kw_only=True)
class BesideCopy:
    """The time of one float32 matrix, `us` in microseconds, and `copy_us` of a copy of it in the same run."""

    rows: int
    cols: int
    us: float
    copy_us: float

    @property
    def gb_per_s(self) -> float:
        """Bandwidth that one read and one write of the matrix make, in 10^9 bytes a second."""
        return gb_per_s(self.rows * self.cols * ITEM_BYTES["float32"], self.us)

    @property
    def copy_share(self) -> float:
        """Speed as a share of the copy's."""
        return self.copy_us / self.us
