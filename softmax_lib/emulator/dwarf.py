"""Reading DWARF tables through pyelftools: source lines and `__shared__` variables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from softmax_lib.emulator.flags import CPP_FOLDER

Row = tuple[int, str, int]
"""First address of some instructions, and the file and line they come from."""

_OWN_FILES = frozenset(path.name for path in CPP_FOLDER.glob("*.h"))
_DYNAMIC_PREFIX = "emulator_dynamic_"  # of EMULATOR_DYNAMIC in cpp/cuda_shim.h
_FLOAT_ENCODING = 4  # DW_ATE_float


@dataclass(frozen=True)
class Variable:
    """A `__shared__` variable: its bytes in the block's shared memory, and what an element is."""

    name: str
    offset: int
    bytes: int
    element_bytes: int
    is_float: bool


def read(library: Any) -> tuple[list[Row], list[Variable]]:
    """Rows sorted by address, and variables, of a library opened as an `ELFFile`."""
    units = [_Unit(unit) for unit in library.get_dwarf_info().iter_CUs()]
    rows = sorted((row for unit in units for row in unit.rows()), key=lambda row: row[0])
    return rows, list(_shared_variables(library, units))


def _shared_variables(library: Any, units: list[_Unit]) -> Iterator[Variable]:
    """The thread-local variables: those that the source calls `__shared__`.

    Where they lie is in the symbol table, since not every compiler tells DWARF; their types are
    in DWARF, whose names the symbols end in.
    """
    declared = [variable for unit in units for variable in unit.declared()]
    for symbol in library.get_section_by_name(".symtab").iter_symbols():
        if symbol["st_info"]["type"] == "STT_TLS" and symbol["st_size"]:
            length = symbol["st_size"]
            fitting = [v for v in declared if v.bytes == length and _names(symbol.name, v.name)]
            kind = max(fitting, key=lambda v: len(v.name), default=None)
            if kind is not None:
                yield replace(kind, offset=symbol["st_value"])


def _names(symbol: str, name: str) -> bool:
    """Whether `symbol` is the mangled form of a variable called `name`, in whatever function."""
    return symbol == name or re.search(rf"{len(name)}{name}(_+\d+_?|_)?$", symbol) is not None


class _Unit:
    """One compilation unit's tables."""

    def __init__(self, unit: Any):
        self.dwarf = unit.dwarfinfo
        self.unit = unit
        self.program = self.dwarf.line_program_for_CU(unit)
        self.dies = list(unit.iter_DIEs())
        self.calls = list(self._inlined_calls())

    def file_name(self, number: int) -> str:
        """Of a file in the line program's table; DWARF 4 counts from 1, DWARF 5 from 0."""
        first = 1 if self.program.header.version < 5 else 0
        entries = self.program.header.file_entry
        at = number - first
        return os.path.basename(entries[at].name.decode()) if 0 <= at < len(entries) else ""

    def rows(self) -> Iterator[Row]:
        """(address, file, line) wherever the line changes; the emulator's own lines are the caller's."""
        before = None
        for entry in self.program.get_entries():
            state = entry.state
            if state is None:
                continue
            file, line = ("", 0) if state.end_sequence else (self.file_name(state.file), state.line)
            if file in _OWN_FILES:
                file, line = self._caller(state.address) or (file, line)
            if (file, line) != before:
                yield state.address, file, line
            before = (file, line)

    def _caller(self, address: int) -> tuple[str, int] | None:
        """Where the innermost call stands that leads from the reader's code to `address`."""
        around = [call for call in self.calls if call[0] <= address < call[1]]
        around.sort(key=lambda call: call[1] - call[0])
        places = ((file, line) for _, _, file, line in around)
        return next((place for place in places if place[0] not in _OWN_FILES), None)

    def _inlined_calls(self) -> Iterator[tuple[int, int, str, int]]:
        """(first address, end, file and line of the call) of every inlined function."""
        for die in self.dies:
            if die.tag == "DW_TAG_inlined_subroutine" and "DW_AT_call_line" in die.attributes:
                file = self.file_name(die.attributes["DW_AT_call_file"].value)
                line = die.attributes["DW_AT_call_line"].value
                for low, high in self._ranges(die):
                    yield low, high, file, line

    def _ranges(self, die: Any) -> Iterator[tuple[int, int]]:
        attributes = die.attributes
        if "DW_AT_ranges" in attributes:
            base = self.unit.get_top_DIE().attributes.get("DW_AT_low_pc")
            start = base.value if base else 0
            tables = self.dwarf.range_lists()
            for entry in tables.get_range_list_at_offset(
                attributes["DW_AT_ranges"].value, self.unit
            ):
                if hasattr(entry, "base_address"):
                    start = entry.base_address
                else:
                    absolute = getattr(entry, "is_absolute", False)
                    shift = 0 if absolute else start
                    yield entry.begin_offset + shift, entry.end_offset + shift
        elif "DW_AT_high_pc" in attributes:
            low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
            yield low, high.value if high.form == "DW_FORM_addr" else low + high.value

    def declared(self) -> Iterator[Variable]:
        """All variables that have a type, at offset 0."""
        for die in self.dies:
            if die.tag == "DW_TAG_variable" and self._described(die, "DW_AT_type"):
                layout = self._layout(die)
                if layout:
                    yield Variable(self._name(die).removeprefix(_DYNAMIC_PREFIX), 0, *layout)

    def _name(self, die: Any) -> str:
        origin = self._described(die, "DW_AT_name")
        return origin.attributes["DW_AT_name"].value.decode() if origin else "?"

    def _described(self, die: Any, attribute: str) -> Any:
        """The entry itself or the declaration it completes, whichever has `attribute`."""
        while die is not None and attribute not in die.attributes:
            link = next(
                (
                    key
                    for key in ("DW_AT_specification", "DW_AT_abstract_origin")
                    if key in die.attributes
                ),
                None,
            )
            die = die.get_DIE_from_attribute(link) if link else None
        return die

    def _layout(self, die: Any) -> tuple[int, int, bool] | None:
        """Bytes of the variable, bytes of an element of it, whether that is a float."""
        owner = self._described(die, "DW_AT_type")
        kind = owner.get_DIE_from_attribute("DW_AT_type")
        count = 1
        while "DW_AT_byte_size" not in kind.attributes or kind.tag == "DW_TAG_array_type":
            if kind.tag == "DW_TAG_array_type":
                count *= _elements(kind)
            if "DW_AT_type" not in kind.attributes:
                return None
            kind = kind.get_DIE_from_attribute("DW_AT_type")
        size = kind.attributes["DW_AT_byte_size"].value
        encoding = kind.attributes.get("DW_AT_encoding")
        is_float = encoding.value == _FLOAT_ENCODING if encoding else True
        return count * size, size if encoding else 4, is_float


def _elements(array: Any) -> int:
    count = 1
    for dimension in array.iter_children():
        if "DW_AT_count" in dimension.attributes:
            count *= dimension.attributes["DW_AT_count"].value
        elif "DW_AT_upper_bound" in dimension.attributes:
            count *= dimension.attributes["DW_AT_upper_bound"].value + 1
    return count
