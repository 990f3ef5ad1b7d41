"""nvdisasm's text of machine code, instruction by instruction."""

from __future__ import annotations

import re
from dataclasses import dataclass

from softmax_lib.engine.errors import NotAvailable

INSTRUCTION_BYTES = 16

Place = tuple[str, int]
"""A file's name and a line of it."""

_SECTION = re.compile(r"^//-+ \.text\.(\S+)\s+-+$", re.MULTILINE)
_PLACE = re.compile(r'//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?')
_LABEL = re.compile(r"^([.$\w]+):$")
_STATEMENT = re.compile(
    r"^/\*([0-9a-f]{4,})\*/\s+(?:@(!?)(U?P[T\d]+)\s+)?([A-Z][A-Za-z0-9_.]*)\s*(.*?)\s*;$"
)
TARGET = re.compile(r"`\(([.$\w]+)\)")
"""A label that a branch leads to."""

_NOTE = re.compile(r"\s*\(\*.*?\*\)")


@dataclass(frozen=True)
class Statement:
    """One instruction as it is printed: `LDG.E.CONSTANT R4, desc[UR4][R4.64]` has the opcode LDG.

    `guard` is the predicate under which it happens, such as "!P0", or "". `places` lead from the innermost
    place in a source to where that was inlined, and so on.
    """

    address: int
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str
    places: tuple[Place, ...]

    @property
    def text(self) -> str:
        """As nvdisasm prints it, without the guard's @."""
        name = ".".join((self.opcode, *self.modifiers))
        words = f"{name} {', '.join(self.operands)}".strip()
        return f"@{self.guard} {words}" if self.guard else words


@dataclass(frozen=True)
class Listing:
    """The statements of one kernel, and the address that each label stands for."""

    name: str
    statements: tuple[Statement, ...]
    labels: dict[str, int]


def read_listing(text: str, kernel: str) -> Listing:
    """The listing of `kernel` in what `nvdisasm -gi -c` prints. Raises `NotAvailable` where it cannot be read."""
    pieces = _SECTION.split(text)
    bodies = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    if kernel not in bodies:
        raise NotAvailable(f"nvdisasm lists no kernel {kernel}.")
    statements: list[Statement] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    places: tuple[Place, ...] = ()
    is_fresh = True
    for line in map(str.strip, bodies[kernel].splitlines()):
        if place := _PLACE.match(line):
            places = () if is_fresh else places
            places = _add_place(places, place)
            is_fresh = False
        elif label := _LABEL.match(line):
            waiting.append(label[1])
        elif line.startswith("/*"):
            statement = _read_statement(line, places)
            labels |= dict.fromkeys(waiting, statement.address)
            waiting, is_fresh = [], True
            statements.append(statement)
    labels |= dict.fromkeys(waiting, len(statements) * INSTRUCTION_BYTES)
    addresses = [statement.address for statement in statements]
    if addresses != [n * INSTRUCTION_BYTES for n in range(len(statements))]:
        raise NotAvailable(f"nvdisasm's listing of {kernel} has gaps.")
    return Listing(kernel, tuple(statements), labels)


def _add_place(places: tuple[Place, ...], match: re.Match[str]) -> tuple[Place, ...]:
    file, line, outer, outer_line = match.groups()
    here = (*places, (file, int(line))) if (file, int(line)) not in places[-1:] else places
    return (*here, (outer, int(outer_line))) if outer else here


def _read_statement(line: str, places: tuple[Place, ...]) -> Statement:
    match = _STATEMENT.match(_NOTE.sub("", line))
    if match is None:
        raise NotAvailable(f"nvdisasm prints what cannot be read here: {line[:120]}")
    address, flip, guard, name, operands = match.groups()
    opcode, *modifiers = name.split(".")
    # before a suffix it prints a constant's bank and place apart: c[0x2] [0x8].F32
    operands = operands.replace(".reuse", "").replace("] [", "][")
    read = tuple(split_operands(operands))
    guarded = f"{flip}{guard}" if guard else ""
    return Statement(int(address, 16), opcode, tuple(modifiers), read, guarded, places)


def split_operands(text: str) -> list[str]:
    """The operands between the commas that no bracket encloses."""
    found, depth = [""], 0
    for sign in text:
        depth += (sign in "[({") - (sign in "])}")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [one.strip() for one in found if one.strip()]


def goal_of(listing: Listing, statement: Statement) -> int | None:
    """The number of the statement that a branch or a call leads to; None where no label says it."""
    match = TARGET.search(", ".join(statement.operands))
    at = listing.labels.get(match[1]) if match else None
    return None if at is None else at // INSTRUCTION_BYTES


def find_loops(listing: Listing) -> list[range]:
    """Numbers of the statements of each loop: from where a branch leads back to, to that branch."""
    found = []
    for number, statement in enumerate(listing.statements):
        start = goal_of(listing, statement) if statement.opcode in ("BRA", "bra") else None
        if start is not None and start <= number:
            found.append(range(start, number + 1))
    return found
