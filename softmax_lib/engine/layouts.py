"""Structs that Python and C++ hand to each other: told in C++ headers, and read from there as ctypes and numpy have them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_COMMENT = re.compile(r"//[^\n]*")
_STRUCT = re.compile(r"^struct (\w+)(?: : (\w+))? \{(.*?)\n\};", re.DOTALL | re.MULTILINE)
_ENUM = re.compile(r"^enum (?:class )?(\w+) : (\w+)", re.MULTILINE)
_UNION = re.compile(r"union \{\s*(.*?;).*?\n    \}", re.DOTALL)
_NAME = re.compile(r"(\w+)(?:\[(\d+)\])?$")


class Headers:
    """The C++ headers at some paths, for the structs that are declared there."""

    def __init__(self, *paths: Path):
        text = _COMMENT.sub("", "\n".join(path.read_text(encoding="utf-8") for path in paths))
        self._structs = {name: (base, body) for name, base, body in _STRUCT.findall(text)}
        self._enums = dict(_ENUM.findall(text))

    def fields(self, struct: str) -> list[tuple[str, Any]]:
        """Name and type of each member, as `ctypes.Structure` takes them; pointers are addresses, and a union is its first member."""
        base, body = self._structs[struct]
        inherited = self.fields(base) if base else ()
        return [*inherited, *self._members(_UNION.sub(r"\1", body))]

    def dtype(self, struct: str) -> np.dtype:
        """The same as numpy has it, for arrays of them."""
        fields = [(name, np.dtype(kind)) for name, kind in self.fields(struct)]
        return np.dtype(fields, align=True)

    def _members(self, body: str) -> Iterator[tuple[str, Any]]:
        for declaration in filter(None, map(str.strip, body.split(";"))):
            word, names = declaration.removeprefix("const ").split(None, 1)
            kind = ctypes.c_void_p if "*" in declaration else self._type(word)
            for text in names.split(","):
                name, length = _NAME.findall(text)[0]
                yield name, kind * int(length) if length else kind

    def _type(self, word: str) -> Any:
        """Of a whole number, or of an enum; anything else is an address."""
        name = self._enums.get(word, word).removesuffix("_t")
        return getattr(ctypes, f"c_{name}", ctypes.c_void_p)
