"""Structs, tables and enums that Python and C++ hand to each other: one description, held against both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ctypes import Structure, sizeof
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np


def of(kind: Any, names: str) -> list[tuple[str, Any]]:
    """Fields of one type, of a struct or of a numpy dtype."""
    return [(name, kind) for name in names.split()]


@dataclass(frozen=True)
class Layout:
    """What crosses over between Python and C++, as the first of two `files` has it."""

    files: str
    structs: tuple[type[Structure], ...]
    dtypes: Mapping[str, np.dtype]
    enums: tuple[type[IntEnum], ...] = ()

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Size of each struct, offset of each field, value of each enumerator."""
        for struct in self.structs:
            yield struct.__name__, sizeof(struct)
            for name, *_ in struct._fields_:
                yield f"{struct.__name__}.{name}", getattr(struct, name).offset
        for title, dtype in self.dtypes.items():
            yield title, dtype.itemsize
            for name, (_, offset, *_) in (dtype.fields or {}).items():
                yield f"{title}.{name}", offset
        for enum in self.enums:
            for member in enum:
                yield f"{enum.__name__}.{member.name.lower()}", member.value

    def check(self, compiled: Mapping[str, int]) -> None:
        """Raises RuntimeError, naming where Python and C++ differ: then one of them has been changed alone."""
        ours = dict(self)
        for name in ours | dict(compiled):
            if ours.get(name) != compiled.get(name):
                raise RuntimeError(
                    f"{self.files} disagree about {name}: "
                    f"{ours.get(name, 'not there')} and {compiled.get(name, 'not there')}."
                )
