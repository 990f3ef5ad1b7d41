"""What `softmax-lib bench --suite symptoms` measured: each symptom of the page A method beside its cure, and timelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from softmax_lib.records.measurement import Case, Profile
from softmax_lib.records.reading import read_fields, require_types
from softmax_lib.records.schema import EXECUTION, METRICS
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, matching
from softmax_lib.suites.times import Samples, lines_of
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.registry import kernels

Symptom = Literal[
    "uncoalesced", "bank conflicts", "too few bytes in flight", "low occupancy", "barriers", "tail of blocks", "launch-bound",
    "L2-resident", "host-bound",
]  # fmt: skip
SYMPTOMS: tuple[Symptom, ...] = get_args(Symptom)
"""In the order of the page."""

Role = Literal["symptom", "control", "cure"]
How = Literal["cold", "warm", "eager", "graph"]
"""Replays of a CUDA graph with a cold or a warm L2, by events; or calls by the host's clock, eager or as one graph."""
Program = Literal["small, eager", "small, one graph", "large, eager"]
PROGRAMS: tuple[Program, ...] = get_args(Program)
Track = Literal["call", "launch", "kernel"]


@dataclass(frozen=True)
class Side:
    """Who is timed as which part of a symptom: on which float32 matrix, at how many threads per block, and how."""

    role: Role
    who: str
    rows: int
    cols: int
    block_size: int = 0
    how: How = "cold"

    @property
    def case(self) -> Case:
        """The same as the timing protocol has it; 0 threads are the kernel's own choice."""
        l2: Literal["cold", "hot"] = "hot" if self.how == "warm" else "cold"
        return Case(self.who, self.rows, self.cols, block_size=self.block_size or None, l2=l2)


@dataclass(frozen=True, kw_only=True)
class SymptomTime(Samples, Side):
    """Samples of one side in their order, in microseconds of one call, and what ncu counted, if it could."""

    symptom: Symptom
    counters: dict[str, int]

    @property
    def side(self) -> Side:
        """What was timed."""
        return Side(self.role, self.who, self.rows, self.cols, self.block_size, self.how)

    @property
    def profile(self) -> Profile:
        """ncu's counters. Raises `BadInput` where there are none."""
        if not self.counters:
            raise BadInput(f"ncu did not count {self.who} for {self.symptom}.")
        return Profile(self.case, self.counters)


@dataclass(frozen=True)
class Event:
    """What torch's profiler saw on one track: when it began, after the first, and for how many microseconds."""

    track: Track
    name: str
    at_us: float
    us: float

    @property
    def end_us(self) -> float:
        return self.at_us + self.us


def symptom_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[SymptomTime]:
    """All times of that run whose fields are as `wanted`: `symptom_times(symptom="barriers", role="cure")`.

    Raises `BadInput` where no such run was kept.
    """
    return matching(_runs.found(gpu)[0], **wanted)


def timeline_events(program: Program, gpu: str = DEFAULT_GPU) -> list[Event]:
    """What the profiler saw of one of `PROGRAMS`, in the order of time. Raises `BadInput` where it was not recorded."""
    _, found = _runs.found(gpu)
    if program not in found:
        raise BadInput(f"There is no timeline of {program!r:.40}; there are {', '.join(found)}.")
    return found[program]


def times_of(run: dict[str, Any]) -> list[SymptomTime]:
    """Every time of a run."""
    return [_time(line) for line in lines_of(run)]


def timelines_of(run: dict[str, Any]) -> dict[str, list[Event]]:
    """The events of each program of a run."""
    return {one["program"]: _events(one) for one in run["timelines"]}


def _time(line: dict[str, Any]) -> SymptomTime:
    found = read_fields(SymptomTime, line)
    if found.who not in (*kernels, "torch", "softmax()"):
        raise BadInput(f"{found.who!r:.40} is not known here")
    if unknown := found.counters.keys() - METRICS.keys() - EXECUTION.keys():
        raise BadInput(f"{min(unknown):.40} is no counter")
    return found


def _events(timeline: dict[str, Any]) -> list[Event]:
    require_types(timeline, {"program": Program})
    found = [Event(**_event(event)) for event in timeline["events"]]
    if not any(one.track == "kernel" for one in found):
        raise BadInput(f"{timeline['program']} has no kernel")
    return found


def _event(event: dict[str, Any]) -> dict[str, Any]:
    require_types(event, {"track": Track, "name": str, "us": float})
    if not isinstance(event["at_us"], int | float) or event["at_us"] < 0:
        raise BadInput(f"at_us is {event['at_us']!r:.40}, which cannot be")
    return event


_runs = Runs(
    "symptoms",
    lambda run: (times_of(run), timelines_of(run)),
    of_gpu={"l2_bytes": int, "multiprocessors": int},
)
symptom_source = _runs.source
