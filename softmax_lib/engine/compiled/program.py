"""A kernel's machine code as the interpreter takes it: decoded from nvdisasm's text, and kept."""

from __future__ import annotations

import hashlib
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from softmax_lib.engine.caches import cache_folder, read_or_make
from softmax_lib.engine.compiled import library
from softmax_lib.engine.compiled.code import Code, code_of
from softmax_lib.engine.compiled.cubin import Cubin, called
from softmax_lib.engine.compiled.draft import NOWHERE, Draft, Unsupported, guard_of
from softmax_lib.engine.compiled.library import INSTRUCTION, Rows
from softmax_lib.engine.compiled.listing import Listing, Place, Statement, read_listing
from softmax_lib.engine.compiled.opcodes import READERS
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.source import Program

Decoder = Callable[[Program, int, str], "Decoded"]
"""What a program's kernel of a name, "" for its `entry`, is for an arch: from its machine code, or from its PTX."""


@dataclass(frozen=True, eq=False)
class Decoded:
    """One kernel for one arch. `code` has a row of `INSTRUCTION` for each statement, and one behind the last.

    It comes from what `language` says, machine code or PTX; of PTX `stated` has the statements as they stand there,
    and `starts` the row at which each begins, and the one behind the last. `fixed` are rows that stay the same; `sites` the statements, by number, that access memory;
    `refused` says of each statement that cannot be done why; `first_rank` stands in addresses for the first block of a
    cluster.
    """

    arch: int
    cubin: Cubin
    listing: Listing
    code: np.ndarray
    fixed: np.ndarray
    rows: int
    cleared: int
    sites: tuple[int, ...]
    refused: dict[int, str]
    made_by: str = ""
    predicates: int = NOWHERE + 1
    language: str = "machine code"
    first_rank: int = 0
    stated: Listing | None = None
    starts: tuple[int, ...] = ()

    @property
    def kernel(self) -> str:
        """Its name in the machine code."""
        return self.listing.name

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The instructions, in the order of their addresses."""
        return self.listing.statements


def decode_program(program: Program, arch: int, kernel: str) -> Decoded:
    """The machine code of `kernel`, "" for the program's `entry`, for sm_`arch`; raises what `code_of` raises."""
    code = code_of(program, arch)
    return decode(code, called(kernel or code.entry, code.cubins))


@lru_cache(maxsize=64)
def decode(code: Code, kernel: str) -> Decoded:
    """`kernel` of a program's machine code, from the disk cache when it is there."""
    cubin = code.cubins.get(kernel)
    if cubin is None:
        raise NotAvailable(f"The machine code has no kernel {kernel}.")
    key = (code.text, cubin, kernel, code.arch, library.digest(), _digest())
    name = hashlib.sha256(repr(key).encode()).hexdigest()

    def make() -> bytes:
        return pickle.dumps(decode_listing(read_listing(code.text, kernel), cubin, code.arch))

    held: Decoded = pickle.loads(read_or_make(cache_folder("machine") / f"{name}.decoded", make))
    return replace(held, made_by=code.made_by)


def decode_listing(listing: Listing, cubin: Cubin, arch: int) -> Decoded:
    """What the interpreter is to do for each statement."""
    operations = library.operations()
    statements = listing.statements
    rows = Rows(count_registers(statements, "R"), count_registers(statements, "UR"))
    code = np.zeros(len(statements) + 1, INSTRUCTION)
    code["guard"], code["operation"] = 7, operations["no code here"]
    sites: list[int] = []
    refused: dict[int, str] = {}
    for number, statement in enumerate(statements):
        draft = Draft(statement, rows, listing.labels)
        try:
            if statement.opcode not in READERS:
                raise draft.refuse()
            reader, more = READERS[statement.opcode]
            reader(draft, *more)
            site = len(sites) if draft.is_site else -1
            draft.finish(operations, code[number], site)
            if draft.is_site:
                sites.append(number)
        except (Unsupported, IndexError) as error:
            refused[number] = str(error) if isinstance(error, Unsupported) else statement.text
            code[number]["guard"], code[number]["guard_flip"] = guard_of(statement)
    return Decoded(
        arch, cubin, listing, code, rows.table(), rows.count, rows.cleared,
        tuple(sites), refused,
    )  # fmt: skip


def count_registers(statements: tuple[Statement, ...], kind: str) -> int:
    """One more than the highest register that is named, "R" or "UR", and those that may lie behind it in an access."""
    register = rf"(?<!U){kind}(\d+)"
    operands = (operand for statement in statements for operand in statement.operands)
    numbers = [int(number) for operand in operands for number in re.findall(register, operand)]
    return max(numbers, default=0) + 4


@cache
def _digest() -> str:
    """Of the Python that decodes."""
    return library.digest_of(Path(__file__).parent.rglob("*.py"))


def place_of(decoded: Decoded, number: int) -> Place:
    """The file, without its folders, and the line that a statement comes from; "" and 0 where none is known."""
    places = decoded.statements[min(number, len(decoded.statements) - 1)].places
    file, line = places[0] if places else ("", 0)
    return Path(file).name, line


def explain(decoded: Decoded, number: int) -> NotAvailable:
    """What to say of a statement that cannot be done, with the line that it comes from."""
    file, line = place_of(decoded, number)
    where = f"{file}:{line}" if line else decoded.kernel
    said = decoded.refused.get(number, decoded.statements[number].text)
    return NotAvailable(f"The {decoded.language} of {where} has {said}, which is not run here.")
