"""What a cubin says of a kernel beside its instructions: parameters, memory, constants, variables."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

from softmax_lib.errors import NotAvailable

# Attributes of .nv.info: what each entry there is about
_PARAMETER_BANK, _PARAMETER, _MIN_STACK = 0x0A, 0x17, 0x12
_SIZED = 4
"""The format of an attribute that says its length."""

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
    """Facts of one kernel of a cubin. `constants` are the contents of constant banks by number."""

    kernel: str
    parameters: tuple[Parameter, ...]
    parameters_at: int
    shared_bytes: int
    local_bytes: int
    constants: dict[int, bytes]
    variables: tuple[Variable, ...]
    globals: bytes
    addresses: tuple[tuple[int, int], ...]
    """Places in bank 4, and the offset among the globals whose address belongs there."""


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
    held, start_of = _globals(elf)
    return Cubin(
        kernel,
        tuple(one for _, one in sorted(parameters, key=lambda pair: pair[0])),
        at,
        max(0, shared["sh_size"] - SHARED_BASE[arch]) if shared else 0,
        _stack(elf, kernel) + _LEAST_STACK,
        constants,
        tuple(_variables(elf, start_of)),
        held,
        tuple(_addresses(elf, start_of)),
    )


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _SIZED:
            yield attribute, data[at : at + size]
            at += size


def _stack(elf: ELFFile, kernel: str) -> int:
    symbols = elf.get_section_by_name(".symtab")
    section = elf.get_section_by_name(".nv.info")
    for attribute, content in _attributes(section.data()) if section else ():
        if attribute == _MIN_STACK:
            number, size = struct.unpack("<II", content)
            if symbols.get_symbol(number).name == kernel:
                return int(size)
    return 0


def _globals(elf: ELFFile) -> tuple[bytes, dict[int, int]]:
    """All of the source's variables in global memory, and where each section begins there."""
    held, start_of = b"", {}
    for number, section in enumerate(elf.iter_sections()):
        if section.name in (".nv.global", ".nv.global.init"):
            held += bytes(-len(held) % max(16, section["sh_addralign"]))
            start_of[number] = len(held)
            is_empty = section["sh_type"] == "SHT_NOBITS"
            held += bytes(section["sh_size"]) if is_empty else section.data()
    return held, start_of


def _variables(elf: ELFFile, start_of: dict[int, int]) -> Iterator[Variable]:
    for symbol in elf.get_section_by_name(".symtab").iter_symbols():
        index: Any = symbol["st_shndx"]
        if symbol["st_info"]["type"] != "STT_OBJECT" or not isinstance(index, int):
            continue
        is_constant = elf.get_section(index).name == ".nv.constant3"
        if is_constant or index in start_of:
            start = 0 if is_constant else start_of[index]
            yield Variable(
                symbol.name, is_constant, start + symbol["st_value"], symbol["st_size"]
            )


def _addresses(elf: ELFFile, start_of: dict[int, int]) -> Iterator[tuple[int, int]]:
    for section in elf.iter_sections():
        if not (isinstance(section, RelocationSection) and section.name.endswith("nv.constant4")):
            continue
        symbols = elf.get_section(section["sh_link"])
        for relocation in section.iter_relocations():
            symbol = symbols.get_symbol(relocation["r_info_sym"])
            if symbol["st_shndx"] in start_of:
                extra = relocation["r_addend"] if relocation.is_RELA() else 0
                place = start_of[symbol["st_shndx"]] + symbol["st_value"] + extra
                yield relocation["r_offset"], place
