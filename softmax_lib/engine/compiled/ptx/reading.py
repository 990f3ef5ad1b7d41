"""PTX text, function by function: variables, registers and statements, each name in the scope that declares it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from softmax_lib.engine.compiled.listing import INSTRUCTION_BYTES, Place, Statement, split_operands
from softmax_lib.engine.compiler import LINES_A_FILE
from softmax_lib.engine.errors import NotAvailable

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_FUNCTION = re.compile(
    r"(?:\.(?:visible|weak|extern)\s+)*\.(entry|func)\s*(?:\(([^()]*)\)\s*)?([\w$]+)\s*(?:\(([^()]*)\))?([^{};]*)([{;])"
)
_DECLARED = re.compile(
    r"\.(global|const|shared|local|param)\s+((?:\.align\s+\d+\s+)?)\.(\w+)\s+(?:\.ptr\b.*\s)?([\w$]+)((?:\[\d*\])*)\s*(?:=\s*(.*))?$",
    re.DOTALL,
)
_TOKEN = re.compile(
    r"\s*(?:(?P<place>\.loc\s[^\n]*)|(?P<label>[\w$.%]+)\s*:(?!:)|(?P<brace>[{}])|(?P<statement>[^;{}]*(?:\{[^{}]*\}[^;{}]*)*);)"
)
_BRACE = re.compile(r"[{}]")
_PLACE = re.compile(r"(?:\.loc|inlined_at)\s+(\d+)\s+(\d+)")
_GUARD = re.compile(r"@(!?)(%?[\w$]+)\s+")
_RANGE = re.compile(r"(%?[\w$]+?)(?:<(\d+)>)?$")
NAME = re.compile(r"(?<![\w$%.])%?[A-Za-z_$][\w$]*")
"""A name in an operand; not the digits of a number, nor what follows a dot."""

SIZES = {
    "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4, "s32": 4,
    "f32": 4, "f16x2": 4, "bf16x2": 4, "u16x2": 4, "s16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16, "pred": 0,
}  # fmt: skip
"""Bytes of a number of each type."""


@dataclass(frozen=True)
class Variable:
    """A stretch of memory: in which space, its size and alignment in bytes, and what it begins as.

    Of a `dynamic` one the launch says how long it is; `points` says that its content has addresses in it.
    """

    name: str
    space: str
    size: int
    alignment: int
    content: bytes = b""
    dynamic: bool = False
    points: bool = False


@dataclass
class Scope:
    """Names that are declared between two braces: the types of registers, variables, labels by the statement behind them."""

    outer: Scope | None
    registers: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, tuple[str, int]] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def type_of(self, name: str) -> str | None:
        """Of a register that is declared here; None where none is."""
        if name in self.registers:
            return self.registers[name]
        stem = name.rstrip("0123456789")
        type_, count = self.ranges.get(stem, ("", 0))
        digits = name[len(stem) :]
        return type_ if digits and int(digits) < count else None

    def declares(self, name: str) -> bool:
        """Whether a name is declared here."""
        return any(name in held for held in (self.variables, self.labels, self.tables)) or (
            self.type_of(name) is not None
        )


@dataclass(frozen=True)
class Function:
    """A kernel, or a function that one calls: what it takes and gives, its statements, each with its scope, and all scopes."""

    name: str
    is_kernel: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    statements: tuple[tuple[Statement, Scope], ...]
    scopes: tuple[Scope, ...]


@dataclass(frozen=True)
class Module:
    """All of a PTX text."""

    functions: dict[str, Function]
    variables: dict[str, Variable]


def read_module(text: str) -> Module:
    """What a PTX text declares. Raises `NotAvailable` for what cannot be read."""
    files = {int(number): Path(name).name for number, name in _FILE.findall(text)}
    text = _FILE.sub("", _COMMENT.sub(" ", text))
    functions: dict[str, Function] = {}
    outside, at = "", 0
    while match := _FUNCTION.search(text, at):
        outside += text[at : match.start()]
        at = match.end()
        if match[6] == "{":
            end = _end_of(text, at)
            functions[match[3]] = _read_function(match, text[at:end], files)
            at = end + 1
    outside += text[at:]
    declared = (_read_variable(one.strip()) for one in outside.split(";"))
    return Module(functions, {one.name: one for one in declared if one})


def _end_of(text: str, at: int) -> int:
    """Where the brace that is open at `at` closes. Raises `NotAvailable` where it never does."""
    depth = 1
    for brace in _BRACE.finditer(text, at):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    raise NotAvailable("PTX that cannot be read here: a brace is never closed.")


def _read_variable(text: str) -> Variable | None:
    match = _DECLARED.search(text)
    if match is None:
        return None
    space, aligned, type_, name, lengths, given = match.groups()
    size = SIZES[type_]
    count, dynamic = 1, False
    for length in re.findall(r"\[(\d*)\]", lengths):
        count, dynamic = count * int(length or 0), dynamic or not length
    alignment = int(aligned.split()[1]) if aligned else size
    content = _content(given, type_) if given else b""
    points = bool(given and re.search(r"[A-Za-z_$]", re.sub(r"0[xfdFD][0-9A-Fa-f]+", "", given)))
    return Variable(name, space, size * count, alignment, content, dynamic, points)


def _content(text: str, type_: str) -> bytes:
    """Bytes of an initial value; words that are no numbers are zeros, and `Variable.points` tells."""
    words = (word.strip() for word in text.strip("{} \n").split(",") if word.strip())
    return b"".join(_bytes_of(word, SIZES[type_]) for word in words)


def _bytes_of(word: str, size: int) -> bytes:
    try:
        return (literal(word) & (1 << 8 * size) - 1).to_bytes(size, "little")
    except ValueError:
        return bytes(size)


def literal(text: str) -> int:
    """The bits of a number as PTX writes it: 12, -3, 0xff, 0f3F800000, 0d3FF0000000000000.

    Raises ValueError for anything else.
    """
    if text == "WARP_SZ":
        return 32
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return int(text[2:], 16)
    return int(text.rstrip("U"), 0)


def _read_function(match: re.Match[str], body: str, files: dict[int, str]) -> Function:
    kind, results, name, parameters, *_ = match.groups()
    scopes = [Scope(None)]
    statements = tuple(_read_statements(body, scopes, files))
    named = (_read_all(results or ""), _read_all(parameters or ""))
    return Function(name, kind == "entry", named[1], named[0], statements, tuple(scopes))


def _read_all(text: str) -> tuple[Variable, ...]:
    found = (_read_variable(" ".join(one.split())) for one in split_operands(text))
    return tuple(one for one in found if one)


def _read_statements(
    body: str, scopes: list[Scope], files: dict[int, str]
) -> Iterator[tuple[Statement, Scope]]:
    """Each statement, with its scope; scopes that open are added to `scopes`."""
    scope, body = scopes[0], body.rstrip()
    at = number = 0
    places: tuple[Place, ...] = ()
    last_label = ""
    while at < len(body):
        match = _TOKEN.match(body, at)
        if match is None:
            raise NotAvailable(f"PTX that cannot be read here: {body[at : at + 80].strip()}")
        at = match.end()
        if match["place"]:
            places = _read_places(match["place"], files)
        elif match["label"]:
            last_label = match["label"]
            scope.labels[last_label] = number
        elif match["brace"] == "{":
            scope = Scope(scope)
            scopes.append(scope)
        elif match["brace"]:
            scope = scope.outer or scope
        else:
            text = " ".join(match["statement"].split())
            if text.startswith("."):
                _declare(text, scope, last_label)
            elif text:
                yield _read_statement(text, number, places), scope
                number += 1


def _read_places(text: str, files: dict[int, str]) -> tuple[Place, ...]:
    found = (
        (files.get(int(file), ""), int(line) % LINES_A_FILE) for file, line in _PLACE.findall(text)
    )
    return tuple(one for one in found if one[1])


def _declare(text: str, scope: Scope, label: str) -> None:
    if text.startswith(".reg"):
        type_, names = text[len(".reg") :].split(None, 1)
        for name in split_operands(names):
            match = _RANGE.match(name)
            assert match is not None
            if match[2]:
                scope.ranges[match[1]] = (type_[1:], int(match[2]))
            else:
                scope.registers[name] = type_[1:]
    elif text.startswith(".branchtargets"):
        scope.tables[label] = tuple(split_operands(text.split(None, 1)[1]))
    elif variable := _read_variable(text):
        scope.variables[variable.name] = variable


def _read_statement(text: str, number: int, places: tuple[Place, ...]) -> Statement:
    guard = ""
    if match := _GUARD.match(text):
        guard = match[1] + match[2]
        text = text[match.end() :]
    name, _, operands = text.partition(" ")
    opcode, *modifiers = name.split(".")
    return Statement(INSTRUCTION_BYTES * number, opcode, tuple(modifiers), tuple(split_operands(operands)), guard, places)  # fmt: skip
