"""What an x-ray finds wrong with a kernel, in sentences that name file, line and threads."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from softmax_lib.engine.declarations import blank_opaque
from softmax_lib.engine.source import Source
from softmax_lib.engine.written.metering import Metered, Place
from softmax_lib.engine.written.structs import HazardKind


@dataclass(frozen=True)
class Hazard:
    """Something wrong at a line of the source.

    `kind` is one of: race, uninitialised, out of bounds, misaligned, input written, absent lane,
    overflow, barrier, deadlock, waiting, hang, fault. `stops` is whether the launch ended here.
    """

    kind: str
    file: str
    line: int
    message: str
    stops: bool = False

    @property
    def words(self) -> str:
        """The message, behind its kind where it does not begin with it."""
        begins_with_it = self.message.startswith((f"{self.kind} ", f"{self.kind}:"))
        return self.message if begins_with_it else f"{self.kind}: {self.message}"


INTENDED = "race: intended"
"""A comment that says this of a line with one of the accesses, and the race is no hazard."""


def read_hazards(metered: Metered) -> tuple[tuple[Hazard, ...], tuple[str, ...]]:
    """What stopped the launch, if anything did, and what went wrong before, from line to line, each cause once.

    And remarks, on what looks wrong and changes nothing: stores of one value in no order, a barrier of two branches.
    """
    fault = metered.fault
    found = [Hazard(fault.kind, fault.file, fault.line, str(fault), stops=True)] if fault else []
    watched, remarks = [], []
    for rows in _causes(metered):
        kind, sentence = HazardKind(rows[0]["kind"]), _sentence(metered, rows)
        file, line = metered.places[rows[0]["place"]]
        if kind in _REMARKS:
            remarks.append(sentence)
        else:
            watched.append(Hazard(_SENTENCES[kind][0], file, line, sentence))
    found += sorted(watched, key=lambda hazard: (hazard.file, hazard.line))
    return tuple(dict.fromkeys(found)), tuple(remarks)


_RACE = "race on {word}: {who} {does} it at {at}, {other} {other_does} it at {other_at}"

_SENTENCES = {
    HazardKind.RACE: (
        "race",
        f"{_RACE}, and nothing orders the two",
    ),
    HazardKind.RACE_OVER_CALL: (
        "race",
        f"{_RACE}, and nothing orders the two: shuffles and votes order no memory, __syncwarp() does",
    ),
    HazardKind.RACE_IN_STEP: (
        "race",
        f"{_RACE}, and nothing orders the two: since Volta lanes of a warp need a __syncwarp() between volatile accesses",
    ),
    HazardKind.SAME_VALUE: (
        "",
        "{who} at {at} and {other} at {other_at} write one value to {word}: which comes last makes no difference",
    ),
    HazardKind.UNINITIALISED: ("uninitialised", "{who} reads {word} at {at}, which {nobody}"),
    HazardKind.ABSENT_LANE: (
        "absent lane",
        "{who} shuffles from lane {lane} at {at}, which takes no part in the call: on a GPU the value is undefined",
    ),
    HazardKind.INPUT_WRITTEN: ("input written", "{who} writes into the input, {word}, at {at}"),
    HazardKind.UNWRITTEN_LOCAL: (
        "uninitialised",
        "{who} reads a variable of its own at {at}, which it has not written yet",
    ),
    HazardKind.TWO_BARRIERS: (
        "barrier",
        "{who} meets {other} at two barriers, {at} and {other_at}: a GPU takes them for one, but CUDA asks that all "
        "threads come to the same",
    ),
    HazardKind.OVERFLOW: (
        "overflow",
        "overflow: {overflow}, which does not fit an int, as {who} computes it at {at}",
    ),
    HazardKind.IN_FLIGHT: (
        "race",
        "{who} {does} {word} at {at}, which a copy begun at {other_at} may still be {copying}",
    ),
}
"""What each kind is called, and what is said of it."""


_RACES = (
    HazardKind.RACE,
    HazardKind.RACE_OVER_CALL,
    HazardKind.RACE_IN_STEP,
    HazardKind.IN_FLIGHT,
)
_REMARKS = (HazardKind.SAME_VALUE, HazardKind.TWO_BARRIERS)

Row = np.void
"""One of `structs.HAZARD`."""


def _texts(source: Source) -> dict[str, str]:
    return {**source.headers, source.file_name: source.text}


def _meant(metered: Metered) -> list[Row]:
    """The rows, without races at a line that says they are intended, and overflows that are meant."""
    marked = {
        (name, number)
        for name, text in _texts(metered.source).items()
        if INTENDED in text
        for number, line in enumerate(text.splitlines(), 1)
        if INTENDED in line
    }
    return [
        row
        for row in metered.hazards
        if row["kind"] not in _RACES or marked.isdisjoint(_lines(metered, row))
        if row["kind"] != HazardKind.OVERFLOW or _overflow(metered, row)
    ]


def _lines(metered: Metered, row: Row) -> list[Place]:
    has_other = row["kind"] in (*_RACES, *_REMARKS)
    names = ("place", "other_place") if has_other else ("place",)
    return [metered.places[row[name]] for name in names]


def _keys(metered: Metered, row: Row) -> set[object]:
    """Rows with a key in common have one cause."""
    kind, lines = HazardKind(row["kind"]), _lines(metered, row)
    if kind not in (*_RACES, HazardKind.UNINITIALISED, HazardKind.SAME_VALUE):
        return {(kind, line) for line in lines}
    array = metered.element(row).partition("[")[0]
    all_reads = {(kind, array)} if kind is HazardKind.UNINITIALISED else set()
    return all_reads.union((array, line) for line in lines)


def _causes(metered: Metered) -> list[list[Row]]:
    """Rows that one missing barrier explains: races on one array at lines that hang together, and what is read
    there too early. Of what nobody writes, all reads of the array. The first row of a cause speaks for it."""
    causes: list[tuple[set[object], list[Row]]] = []
    for row in sorted(
        _meant(metered),
        key=lambda row: (row["kind"] not in _RACES, row["kind"] != HazardKind.IN_FLIGHT),
    ):
        keys = _keys(metered, row)
        joined = [cause for cause in causes if cause[0] & keys]
        causes = [cause for cause in causes if not cause[0] & keys]
        rows = [each for _, each_rows in joined for each in each_rows]
        causes.append((keys.union(*(known for known, _ in joined)), [*rows, row]))
    return [rows for _, rows in causes]


def _sentence(metered: Metered, rows: list[Row]) -> str:
    """What is said of the first of `rows`, how often all of them happened, and where else."""
    _, sentence = _SENTENCES[HazardKind(rows[0]["kind"])]
    times = sum(int(row["times"]) for row in rows)
    said = _lines(metered, rows[0])
    others = sorted({line for row in rows for line in _lines(metered, row)}.difference(said))
    more = [f"{times} times"] if times > 1 else []
    if others:
        more.append(f"also at {' and '.join('{}:{}'.format(*line) for line in others)}")
    return (
        sentence.format(**_words(metered, rows[0]))
        + (f" ({', '.join(more)})" if more else "")
        + "."
    )


def _overflow(metered: Metered, row: Row) -> str | None:
    if row["kind"] != HazardKind.OVERFLOW:
        return None
    source, (file, line) = metered.source, metered.places[row["place"]]
    texts = _texts(source)
    result = int(row["address"].astype(np.int64))
    return describe_overflow(texts[file], line, result) if file in texts else None


def _words(metered: Metered, row: Row) -> dict[str, str]:
    """What sentences have in their braces."""
    at, other_at = ("{}:{}".format(*metered.places[row[name]]) for name in ("place", "other_place"))
    elsewhere = " of another block" if row["other_is_elsewhere"] else ""
    return {
        "word": metered.element(row),
        "lane": str(row["address"]),
        "who": metered.geometry.who(int(row["block"]), int(row["thread"])),
        "does": "writes" if row["is_store"] else "reads",
        "at": at,
        "other": f"thread {row['other_thread']}{elsewhere}",
        "other_does": "writes" if row["other_is_store"] else "reads",
        "other_at": other_at,
        "overflow": _overflow(metered, row) or "",
        "copying": "writing" if row["other_is_store"] else "reading",
        "nobody": "no thread of its block wrote" if row["is_shared"] else "nobody has written yet",
    }


# ---- which overflows of an int are mistakes: all but those of hashes and random numbers, which are meant to wrap

_ARITHMETIC = re.compile(r"[-+*]")
_CHAIN = re.compile(r"[\w.]+(?:\s*[-+*]\s*(?:\(\w+\)\s*)?[\w.]+)+")
_ASSIGNED = re.compile(r"(\w+)\s*(?:[-+*]|<<|>>)?=(?!=)([^;]*)")
_LITERAL = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b")


def describe_overflow(text: str, line: int, result: int) -> str | None:
    """Such as "rows * cols is 4900000000" of the `line` of a source's text; None where it is meant."""
    code = blank_opaque(text)
    statements = [one for one in _statements(code, line) if _ARITHMETIC.search(one)]
    if any(_is_meant(one, code) for one in statements):
        return None
    if not statements:
        return f"an int comes to {result}"
    changed = _ASSIGNED.search(statements[0])
    expression = changed[2].strip() if changed else statements[0]
    chain = _CHAIN.search(expression)
    is_all = chain and len(_ARITHMETIC.findall(chain[0])) == 1
    return f"{chain[0] if chain else expression} {'is' if is_all else 'comes to'} {result}"


def _statements(code: str, line: int) -> list[str]:
    """Those of which some is in the line."""

    def line_of(at: int) -> int:
        return code.count("\n", 0, at) + 1

    return [
        " ".join(found[0].split())
        for found in re.finditer("[^;{}]+", code)
        if line_of(found.start()) <= line <= line_of(found.end())
    ]


def _is_meant(statement: str, code: str) -> bool:
    """Whether it looks like a hash: bits are mixed, or something is multiplied by itself and more, or by a large odd number."""
    names = "|".join(re.findall(r"[A-Za-z_]\w*", statement)) or "(?!)"
    defined = (
        rf"\b(?:const\w*|define)\b[^;=\n]*\b(?:{names})\b\s*=?\s*\(?(0[xX][0-9a-fA-F]+|[1-9]\d*)"
    )
    numbers = (*_LITERAL.findall(statement), *re.findall(defined, code))
    values = [int(number, 0) for number in numbers if not re.match(r"0\d", number)]
    if re.search(r"[\^~]", statement) or any(
        v in (31, 37, 131) or (v % 2 and v >= 1000) for v in values
    ):
        return True
    changed = _ASSIGNED.search(statement)
    if changed is None:
        return False
    name, right = changed.groups()
    mixes = rf"\b{name}\b\s*\)*\s*(?:\*|<<|>>)|(?:\*|<<|>>)\s*\(*\s*{name}\b"
    return bool(re.search(mixes, right) and re.search(r"[-+]|<<", right))
