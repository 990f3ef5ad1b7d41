"""The machine code or PTX of an x-ray, instruction by instruction: the line that it is from, and what it costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from softmax_lib.engine.compiled.counters import kind_of
from softmax_lib.engine.compiled.launching import Counted
from softmax_lib.engine.compiled.listing import TARGET
from softmax_lib.engine.compiled.registers import live_after, loads_in_flight
from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.lines import LineCounters
from softmax_lib.engine.xrays.machine_lines import Places


@dataclass(frozen=True)
class LineInstructions:
    """Instructions of one kind that a source line executes: by warps, and by how many lanes in all."""

    file: str
    line: int
    kind: str
    warps: int
    lanes: int


@dataclass(frozen=True)
class Instruction:
    """One instruction of a kernel called `entry`, from a line of the source.

    `label` is what branches call the place, "" where none leads there.
    It was executed by so many `warps`, and `lanes` in all.
    """

    entry: str
    label: str
    text: str
    file: str
    line: int
    warps: int
    lanes: int


@dataclass(frozen=True)
class CodeLine(Instruction):
    """One of machine code, at `address`, which does something of a `kind`.

    Once it is done, `live` registers of a thread hold what is needed later, and `in_flight` loads from global memory
    are on their way, read from top to bottom.
    """

    address: int
    kind: str
    live: int
    in_flight: int


def read_instructions(
    steps: Sequence[Counted], source: Source, written: Iterable[LineCounters]
) -> tuple[LineInstructions, ...]:
    """What each line executes, by kind, from the first line to the last."""
    sums: dict[tuple[str, int, str], list[int]] = defaultdict(lambda: [0, 0])
    places = Places(source, written)
    for counted in steps:
        for statement, executed in zip(counted.decoded.statements, counted.executed, strict=True):
            if executed["warps"]:
                both = sums[(*places.of(statement), kind_of(statement))]
                both[0] += int(executed["warps"])
                both[1] += int(executed["lanes"])
    return tuple(LineInstructions(*key, *both) for key, both in sorted(sums.items()))


def read_code(
    steps: Sequence[Counted], source: Source, written: Iterable[LineCounters]
) -> tuple[CodeLine, ...]:
    """Every instruction of each step in the order of their addresses, without what fills the end."""
    places = Places(source, written)
    found: list[CodeLine] = []
    for counted in steps:
        listing = counted.decoded.listing
        named = {
            label
            for one in listing.statements
            if one.opcode != "RET"
            for label in TARGET.findall(", ".join(one.operands))
        }
        labels = {at: label for label, at in listing.labels.items() if label in named}
        costs = zip(
            listing.statements, counted.executed, live_after(listing), loads_in_flight(listing), strict=True
        )  # fmt: skip
        for statement, executed, live, loads in costs:
            if statement.opcode != "NOP":
                at, (file, line) = statement.address, places.of(statement)
                what = (listing.name, labels.get(at, ""), statement.text)
                warps, lanes = int(executed["warps"]), int(executed["lanes"])
                kind = kind_of(statement)
                found.append(CodeLine(*what, file, line, warps, lanes, at, kind, len(live), loads))
    return tuple(found)


def read_ptx(
    steps: Sequence[Counted], source: Source, written: Iterable[LineCounters]
) -> tuple[Instruction, ...]:
    """Every statement of PTX of each step in its order, functions where they are called, without `.loc` and the like.

    The interpreter may do several things for a statement; it was executed as often as the first of them.
    """
    places = Places(source, written)
    found: list[Instruction] = []
    for counted in steps:
        stated, starts = counted.decoded.stated, counted.decoded.starts
        assert stated is not None
        named = {operand for one in stated.statements for operand in one.operands}
        labels = {at: label for label, at in stated.labels.items() if label in named}
        is_own = [bool(one.opcode) for one in counted.decoded.statements]
        for number, statement in enumerate(stated.statements):
            rows = range(starts[number], starts[number + 1])
            row = next((one for one in rows if is_own[one]), starts[number])
            executed, (file, line) = counted.executed[row], places.of(statement)
            what = (stated.name, labels.get(number, ""), f"{statement.text};")
            did = (int(executed["warps"]), int(executed["lanes"]))
            found.append(Instruction(*what, file, line, *did))
    return tuple(found)
