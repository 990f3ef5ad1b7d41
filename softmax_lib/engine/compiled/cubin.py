"""What a cubin says of a kernel beside its instructions: parameters, memory, constants, variables."""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

from softmax_lib.engine.errors import NotAvailable

# Attributes of .nv.info: what each entry there is about
_PARAMETER_BANK, _PARAMETER, _MIN_STACK, _REGISTERS = 0x0A, 0x17, 0x12, 0x2F
_SIZED = 4
"""The format of an attribute that says its length."""

_VARIABLE_ALIGNMENT = 256

_LEAST_STACK = 1024
"""Bytes of local memory that a thread has for calls, as CUDA gives it."""

SHARED_BASE = {75: 0, 80: 0, 86: 0, 87: 0, 89: 0, 90: 0x400}
"""The address of a block's first byte of shared memory, per arch: before it lies what is the system's."""


@dataclass(frozen=True)
class Parameter:
    """Where a kernel's argument lies in its parameters, in bytes."""

    offset: int
    bytes: int


@dataclass(frozen=True)
class Variable:
    """A `__device__` or `__constant__` variable: its name, where it lies in its section, its bytes."""

    name: str
    is_constant: bool
    offset: int
    bytes: int


@dataclass(frozen=True)
class Cubin:
    """Facts of one kernel of a cubin. `registers` are those of a thread, `constants` are the contents of constant banks by number."""

    kernel: str
    registers: int
    parameters: tuple[Parameter, ...]
    parameters_at: int
    shared_bytes: int
    local_bytes: int
    constants: dict[int, bytes]
    variables: tuple[Variable, ...]
    globals: bytes
    addresses: tuple[tuple[int, int], ...]
    """Places in bank 4, and the offset among the globals whose address belongs there."""

    @property
    def stack_bytes(self) -> int:
        """What a thread needs of local memory, beside what it has for calls."""
        return self.local_bytes - _LEAST_STACK

    def as_json(self) -> dict[str, Any]:
        """Plain lists and dictionaries; bytes as hexadecimal digits."""
        constants = {str(bank): content.hex() for bank, content in self.constants.items()}
        return asdict(self) | {"constants": constants, "globals": self.globals.hex()}

    @classmethod
    def from_json(cls, held: dict[str, Any]) -> Cubin:
        """What `as_json` gave."""
        read = {
            "parameters": tuple(Parameter(**one) for one in held["parameters"]),
            "constants": {int(b): bytes.fromhex(text) for b, text in held["constants"].items()},
            "variables": tuple(Variable(**one) for one in held["variables"]),
            "globals": bytes.fromhex(held["globals"]),
            "addresses": tuple((place, offset) for place, offset in held["addresses"]),
        }
        return cls(**held | read)


def called(kernel: str, names: Collection[str]) -> str:
    """What a kernel of a source is called among `names`: as it is there, or what C++ makes of it."""
    mangled = (name for name in names if name.startswith(f"_Z{len(kernel)}{kernel}"))
    return kernel if kernel in names else next(mangled, kernel)


def kernels_of(cubin: bytes) -> tuple[str, ...]:
    """Names of the kernels in a cubin."""
    sections = _open(cubin).iter_sections()
    return tuple(s.name.removeprefix(".nv.info.") for s in sections if s.name.startswith(".nv.info."))  # fmt: skip


def _open(cubin: bytes) -> ELFFile:
    return ELFFile(io.BytesIO(cubin))


def read_cubin(cubin: bytes, kernel: str, arch: int) -> Cubin:
    """What is known of `kernel`. Raises `NotAvailable` for an arch or a kernel that is not there."""
    if arch not in SHARED_BASE:
        known = ", ".join(f"sm_{one}" for one in SHARED_BASE)
        raise NotAvailable(f"Machine code for sm_{arch} is not run here; {known} are.")
    elf = _open(cubin)
    info = elf.get_section_by_name(f".nv.info.{kernel}")
    if info is None:
        raise NotAvailable(f"The machine code has no kernel {kernel}.")
    parameters, at = [], 0
    for attribute, content in _attributes(info.data()):
        if attribute == _PARAMETER:
            ordinal, offset, flags = struct.unpack_from("<4xHHI", content)
            parameters.append((ordinal, Parameter(offset, flags >> 18)))
        elif attribute == _PARAMETER_BANK:
            at = struct.unpack_from("<4xHH", content)[0]
    shared = elf.get_section_by_name(f".nv.shared.{kernel}")
    constants = {}
    for bank in range(1, 8):
        for name in (f".nv.constant{bank}", f".nv.constant{bank}.{kernel}"):
            if section := elf.get_section_by_name(name):
                constants[bank] = section.data()
    held = _globals(elf)
    return Cubin(
        kernel,
        _said(elf, kernel, _REGISTERS),
        tuple(one for _, one in sorted(parameters, key=lambda pair: pair[0])),
        at,
        max(0, shared["sh_size"] - SHARED_BASE[arch]) if shared else 0,
        _said(elf, kernel, _MIN_STACK) + _LEAST_STACK,
        constants,
        (*_constants(elf), *(variable for _, _, variable in held.places)),
        bytes(held.content),
        tuple(_addresses(elf, held)),
    )


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _SIZED:
            yield attribute, data[at : at + size]
            at += size


def _said(elf: ELFFile, kernel: str, wanted: int) -> int:
    """What the whole cubin's .nv.info says of one kernel."""
    symbols: Any = elf.get_section_by_name(".symtab")
    section = elf.get_section_by_name(".nv.info")
    for attribute, content in _attributes(section.data()) if section else ():
        if attribute == wanted:
            number, said = struct.unpack("<II", content)
            if symbols.get_symbol(number).name == kernel:
                return int(said)
    return 0


@dataclass
class _Globals:
    """Variables in global memory, each at a multiple of 256 bytes."""

    content: bytearray
    places: list[tuple[int, int, Variable]]
    """Section and offset there of each."""

    def find(self, section: int, offset: int) -> int | None:
        """Where a place of a section is now."""
        for number, start, variable in self.places:
            if number == section and start <= offset < start + variable.bytes:
                return variable.offset + offset - start
        return None


def _objects(elf: ELFFile) -> Iterator[tuple[int, Any, Any]]:
    """Variables: the number of their section, the section, the symbol."""
    symbols: Any = elf.get_section_by_name(".symtab")
    for symbol in symbols.iter_symbols():
        number: Any = symbol["st_shndx"]
        if symbol["st_info"]["type"] == "STT_OBJECT" and isinstance(number, int):
            yield number, elf.get_section(number), symbol


def _globals(elf: ELFFile) -> _Globals:
    found = _Globals(bytearray(), [])
    for number, section, symbol in _objects(elf):
        if section.name not in (".nv.global", ".nv.global.init"):
            continue
        found.content += bytes(-len(found.content) % _VARIABLE_ALIGNMENT)
        start, size = symbol["st_value"], symbol["st_size"]
        variable = Variable(symbol.name, False, len(found.content), size)
        found.places.append((number, start, variable))
        is_empty = section["sh_type"] == "SHT_NOBITS"
        found.content += bytes(size) if is_empty else section.data()[start : start + size]
    return found


def _constants(elf: ELFFile) -> Iterator[Variable]:
    for _, section, symbol in _objects(elf):
        if section.name == ".nv.constant3":
            yield Variable(symbol.name, True, symbol["st_value"], symbol["st_size"])


def _addresses(elf: ELFFile, globals_: _Globals) -> Iterator[tuple[int, int]]:
    for section in elf.iter_sections():
        if not (isinstance(section, RelocationSection) and section.name.endswith("nv.constant4")):
            continue
        symbols: Any = elf.get_section(section["sh_link"])
        for relocation in section.iter_relocations():
            symbol = symbols.get_symbol(relocation["r_info_sym"])
            extra = relocation["r_addend"] if relocation.is_RELA() else 0
            place = globals_.find(symbol["st_shndx"], symbol["st_value"] + extra)
            if place is not None:
                yield relocation["r_offset"], place
