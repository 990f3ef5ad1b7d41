"""Reading DWARF tables through pyelftools: source lines, `__shared__` and `__device__` variables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from softmax_lib.engine.toolchain import SHARED_FOLDER
from softmax_lib.engine.written.flags import CPP_FOLDER
from softmax_lib.engine.written.stretches import Stretch

Place = tuple[str, int]
"""A file and a line of it."""

Row = tuple[int, str, int]
"""First address of some instructions, and the file and line they come from."""

_OWN_FILES = frozenset(
    path.name for folder in (CPP_FOLDER, SHARED_FOLDER) for path in folder.rglob("*")
)
_LIBRARY = re.compile(r"/(c\+\+|libcxx|gcc)/")
_LIBRARY_FILE = "<standard library>"
_OWN_SYMBOLS = ("emulator_", "_ZN8emulator", "_ZN16kernel_signature", "_ZZN8emulator")
_ENCODINGS = {2: "b", 4: "f", 5: "i", 6: "i", 7: "u", 8: "u", 16: "u"}  # DW_ATE_*, as numpy codes
_POINTERS = ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
_SIXTEEN_BITS = {"__half": "f2", "__nv_bfloat16": "bf2"}


def read(library: Any) -> tuple[list[Row], list[Stretch]]:
    """Rows sorted by address, and variables, at their offsets, of a library opened as an `ELFFile`."""
    # a library is linked: nothing of its tables is left to relocate
    tables = library.get_dwarf_info(relocate_dwarf_sections=False)
    units = [_Unit(unit) for unit in tables.iter_CUs()]
    rows = sorted((row for unit in units for row in unit.rows()), key=lambda row: row[0])
    at = {(v.is_shared, v.address, v.bytes): v for v in _variables(library, units)}
    return rows, list(at.values())


def _variables(library: Any, units: list[_Unit]) -> Iterator[Stretch]:
    """The thread-local variables, which the source calls `__shared__`, and all that are there once.

    Where they lie is in the symbol table, since not every compiler tells DWARF; their types are
    in DWARF, whose names the symbols end in.
    """
    declared = [variable for unit in units for variable in unit.declared()]
    for symbol in library.get_section_by_name(".symtab").iter_symbols():
        kind, section = symbol["st_info"]["type"], symbol["st_shndx"]
        if kind not in ("STT_TLS", "STT_OBJECT") or symbol.name.startswith(_OWN_SYMBOLS):
            continue
        length = symbol["st_size"]
        if section == "SHN_UNDEF" or not (length or kind == "STT_TLS"):
            continue
        fitting = [v for v in declared if v.bytes in (length, 0) and _names(symbol.name, v.name)]
        found = max(fitting, key=lambda v: len(v.name), default=None)
        is_writable = _is_writable(library, section)
        is_constant = symbol["st_other"]["visibility"] == "STV_PROTECTED"  # as cuda_shim.h has it
        if found is None and not (is_writable and _is_named(symbol.name)):
            continue
        found = found or Stretch(_plain(symbol.name), 0, 0, "u1")
        yield Stretch(
            found.name,
            symbol["st_value"],
            length,
            found.code,
            is_shared=kind == "STT_TLS",
            is_writable=is_writable and not is_constant,
        )


def _is_writable(library: Any, section: int | str) -> bool:
    if isinstance(section, str):  # no section, but a number that is no address
        return False
    found = library.get_section(section)
    return bool(found["sh_flags"] & 1) and not found.name.startswith(".data.rel.ro")


def _is_named(symbol: str) -> bool:
    """Whether a source can have called it so; what the linker adds has other names."""
    return symbol.isidentifier() and not symbol.startswith(("__", "_TLS_"))


def _plain(symbol: str) -> str:
    """The name at the end of a mangled one: "tile" of "_ZZ1kPfE4tile"."""
    if not symbol.startswith("_Z"):
        return symbol
    name, at = symbol, 0
    while found := re.compile(r"\d+").search(symbol, at):
        at = found.end() + int(found[0])
        name = symbol[found.end() : at] or name
    return name


def _names(symbol: str, name: str) -> bool:
    """Whether `symbol` is the mangled form of a variable called `name`, in whatever function."""
    return symbol == name or re.search(rf"{len(name)}{name}E?(_+\d+_?|_)?$", symbol) is not None


def _is_own(place: Place) -> bool:
    """Whether it is a line of the emulator's, or of the standard library's."""
    return place[0] in _OWN_FILES or place[0] == _LIBRARY_FILE


class _InlinedCall(NamedTuple):
    """The instructions of an inlined function from `low` up to `high`: where it is called and declared."""

    low: int
    high: int
    place: Place
    declared: Place


class _Unit:
    """One compilation unit's tables."""

    def __init__(self, unit: Any):
        self.dwarf = unit.dwarfinfo
        self.unit = unit
        self.program = self.dwarf.line_program_for_CU(unit)
        self.first_file = 1 if self.program.header.version < 5 else 0
        self.files = [self._file_name(entry) for entry in self.program.header.file_entry]
        self.dies = list(unit.iter_DIEs())
        self.calls = list(self._inlined_calls())
        self.bounds = np.array([call[:2] for call in self.calls], np.int64).reshape(-1, 2).T
        self.places = list(self._places())
        self.last_lines = self._last_lines()

    def _file_name(self, entry: Any) -> str:
        name = entry.name.decode()
        folders = self.program.header.include_directory
        folder_at = entry.dir_index - self.first_file
        folder = folders[folder_at].decode() if 0 <= folder_at < len(folders) else ""
        is_library = _LIBRARY.search(os.path.join(folder, name)) is not None
        return _LIBRARY_FILE if is_library else os.path.basename(name)

    def file_name(self, number: int) -> str:
        """Of a file in the line program's table; DWARF 4 counts from 1, DWARF 5 from 0."""
        at = number - self.first_file
        return self.files[at] if 0 <= at < len(self.files) else ""

    def rows(self) -> Iterator[Row]:
        """(address, file, line) wherever the line changes, of the reader's code: see `_reading_place`."""
        before = None
        for address, place in self.places:
            file, line = self._reading_place(address, place)
            if (file, line) != before:
                yield address, file, line
            before = (file, line)

    def _places(self) -> Iterator[tuple[int, Place]]:
        """Each address at which the line program has a place."""
        for entry in self.program.get_entries():
            state = entry.state
            if state is not None:
                end = state.end_sequence
                yield state.address, ("", 0) if end else (self.file_name(state.file), state.line)

    def _around(self, address: int) -> list[_InlinedCall]:
        """The inlined functions that an instruction is of, the innermost first."""
        low, high = self.bounds
        around = np.flatnonzero((low <= address) & (address < high))
        # in the tables a function comes before those that are inlined into it
        return [self.calls[at] for at in around[::-1]]

    def _reading_place(self, address: int, place: Place) -> Place:
        """Where a reader looks for it: what the emulator's own lines do is the caller's, and so is what a
        function of a single line does, which is but a name for that.
        """
        for call in self._around(address):
            is_own = _is_own(place) or _is_own(call.declared)
            if not is_own and self.last_lines.get(call.declared, 0) > call.declared[1] + 1:
                break
            place = call.place
        return place

    def _last_lines(self) -> dict[Place, int]:
        """The last line on which any instance of an inlined function of the reader's does something."""
        last: dict[Place, int] = {}
        for (address, place), (end, _) in pairwise([*self.places, (-1, ("", 0))]):
            for call in (
                self._around(address) if address != end else ()
            ):  # else it has no instruction
                if not (_is_own(place) or _is_own(call.declared)):
                    last[call.declared] = max(place[1], last.get(call.declared, 0))
                    break
                place = call.place
        return last

    def _inlined_calls(self) -> Iterator[_InlinedCall]:
        for die in self.dies:
            if die.tag == "DW_TAG_inlined_subroutine" and "DW_AT_call_line" in die.attributes:
                file = self.file_name(die.attributes["DW_AT_call_file"].value)
                place = (file, die.attributes["DW_AT_call_line"].value)
                declared = self._declared_at(die)
                for low, high in self._ranges(die):
                    yield _InlinedCall(low, high, place, declared)

    def _declared_at(self, die: Any) -> Place:
        """Where the function stands that `die` is an instance of."""
        origin = self._described(die, "DW_AT_decl_line")
        if origin is None:
            return "", 0
        file = self._described(die, "DW_AT_decl_file").attributes["DW_AT_decl_file"].value
        return self.file_name(file), origin.attributes["DW_AT_decl_line"].value

    def _ranges(self, die: Any) -> Iterator[tuple[int, int]]:
        attributes = die.attributes
        if "DW_AT_ranges" in attributes:
            base = self.unit.get_top_DIE().attributes.get("DW_AT_low_pc")
            start = base.value if base else 0
            tables, at = self.dwarf.range_lists(), attributes["DW_AT_ranges"].value
            for entry in tables.get_range_list_at_offset(at, self.unit):
                if hasattr(entry, "base_address"):
                    start = entry.base_address
                else:
                    shift = 0 if getattr(entry, "is_absolute", False) else start
                    yield entry.begin_offset + shift, entry.end_offset + shift
        elif "DW_AT_high_pc" in attributes:
            low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
            yield low, high.value if high.form == "DW_FORM_addr" else low + high.value

    def declared(self) -> Iterator[Stretch]:
        """All variables that have a type, at offset 0; of an array without a length, 0 bytes."""
        for die in self.dies:
            typed = self._described(die, "DW_AT_type") if die.tag == "DW_TAG_variable" else None
            count, kind = _element_type(typed) if typed else (0, None)
            if kind is not None:
                yield Stretch(self._name(die), 0, count * _bytes(kind), _code(kind))

    def _name(self, die: Any) -> str:
        origin = self._described(die, "DW_AT_name")
        return origin.attributes["DW_AT_name"].value.decode() if origin else "?"

    def _described(self, die: Any, attribute: str) -> Any:
        """The entry itself or the declaration it completes, whichever has `attribute`."""
        while die is not None and attribute not in die.attributes:
            links = ("DW_AT_specification", "DW_AT_abstract_origin")
            link = next((key for key in links if key in die.attributes), None)
            die = die.get_DIE_from_attribute(link) if link else None
        return die


def _element_type(die: Any) -> tuple[int, Any]:
    """How many of which type a variable or a member is; None where nothing says of which."""
    count, kind = 1, _type_of(die)
    while kind is not None and kind.tag == "DW_TAG_array_type":
        count *= _elements(kind)
        kind = _type_of(kind)
    return count, kind


def _type_of(die: Any) -> Any:
    """What it is of behind other names: a type that has a size, an array or a pointer; None where nothing says."""
    while "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
        if "DW_AT_byte_size" in die.attributes or die.tag in (*_POINTERS, "DW_TAG_array_type"):
            return die
    return None


def _bytes(kind: Any) -> int:
    return 8 if kind.tag in _POINTERS else kind.attributes["DW_AT_byte_size"].value


def _code(kind: Any) -> str:
    """Of a number; of a structure, what all its members are, else its bytes."""
    if kind.tag in _POINTERS:  # and not of what it points to, which may be the structure it is in
        return "u8"
    size = _bytes(kind)
    if "DW_AT_encoding" in kind.attributes:
        return f"{_ENCODINGS.get(kind.attributes['DW_AT_encoding'].value, 'u')}{size}"
    name = kind.attributes.get("DW_AT_name")
    if name is not None and name.value.decode() in _SIXTEEN_BITS:
        return _SIXTEEN_BITS[name.value.decode()]
    members = [one for one in kind.iter_children() if one.tag == "DW_TAG_member"]
    codes = {_code(of) for one in members if (of := _element_type(one)[1]) is not None}
    return codes.pop() if len(codes) == 1 else f"V{size}"


def _elements(array: Any) -> int:
    """How many an array has; 0 where that is left open."""
    count = 1
    for dimension in array.iter_children():
        if "DW_AT_count" in dimension.attributes:
            count *= dimension.attributes["DW_AT_count"].value
        elif "DW_AT_upper_bound" in dimension.attributes:
            count *= dimension.attributes["DW_AT_upper_bound"].value + 1
        elif dimension.tag == "DW_TAG_subrange_type":
            count = 0
    return count
