"""Kernel sources: their text, what is put before it, and what identifies them."""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from softmax_lib.engine.declarations import Declaration, find_kernels, find_variables
from softmax_lib.engine.errors import BadInput
from softmax_lib.engine.folders import library_folder
from softmax_lib.engine.host_code import find_annotations, without_host_code

WARP = 32
"""Lanes of a warp, on every GPU so far."""

_INFINITY = "#define INFINITY __int_as_float(0x7f800000)\n"
PRELUDE = f"#define WARP {WARP}\n{_INFINITY}"
"""What a GPU build puts before each source: NVRTC has no INFINITY, and a constant WARP lets shuffle loops unroll."""

FLAGS = ("--std=c++17",)
"""What NVRTC is told for every kernel, beside the arch and the macros."""

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_DECLARES_WARP = re.compile(r"\b\w+\s+WARP\s*[={;(]|#\s*define\s+WARP\b")
_FILE_NAME = re.compile(r'[^-"\\/\x00-\x1f][^"\\/\x00-\x1f]{0,199}')
"""What compilers take for a name, and `#line` too."""
MOST_BYTES = 1 << 20
"""Of a file: what is larger than any kernel is not looked at."""

_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def blank_comments(text: str) -> str:
    """C++ with nothing in place of its comments, each line where it was."""
    return _COMMENT.sub(lambda match: match[1] or " " + "\n" * match[0].count("\n"), text)


def read_text(path: Path) -> str:
    """The text of a source's file, with "\\n" at the end of lines. Raises `BadInput`, `OSError` and `ValueError`."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise too_large(path)
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8").read()


def too_large(what: object) -> BadInput:
    """The refusal of a file or text by its length alone."""
    return BadInput(f"{what} is larger than any kernel: it has more than {MOST_BYTES >> 20} MiB.")


def _strip(text: str) -> str:
    bare = blank_comments(text)
    return "\n".join(line.rstrip() for line in bare.splitlines() if line.strip())


@dataclass(frozen=True)
class Edit:
    """One change of a source's text: `old`, which stands there in `places` places, becomes `new`."""

    old: str
    new: str
    places: int = 1


@dataclass(frozen=True)
class Source:
    """CUDA C++ text, the file name that diagnostics show for it, and the folder that its headers lie in."""

    file_name: str
    text: str
    folder: Path | None = None

    def __post_init__(self) -> None:
        if not _FILE_NAME.fullmatch(self.file_name):
            raise BadInput(f"The file of a kernel cannot be called {self.file_name!r}.")
        if len(self.text) > MOST_BYTES:
            raise too_large(self.file_name)
        if not self.text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in self.text):
            raise BadInput(f"The text of {self.file_name} has halves of characters in it.")

    @classmethod
    def read(cls, path: str | Path) -> Source:
        """Read a .cu file. Raises `BadInput` when it cannot be read."""
        try:
            text, folder = read_text(Path(path)), Path(path).resolve().parent
        except FileNotFoundError:
            raise BadInput(f"There is no file {path}.") from None
        except BadInput:
            raise
        except (OSError, ValueError) as error:  # it is no UTF-8, or there is a NUL in its name
            raise BadInput(f"Cannot read the kernel file {path}: {error}.") from None
        # the locale may not know all letters
        return cls(Path(path).name.encode(errors="replace").decode(), text, folder)

    def edited(self, file_name: str, edits: tuple[Edit, ...]) -> Source:
        """The text with all `edits` made, one after the other, under another name.

        Raises `BadInput` when one does not find what it replaces as often as it says.
        """
        text = self.text
        for edit in edits:
            found = text.count(edit.old)
            if found != edit.places:
                raise BadInput(
                    f"{file_name} replaces {edit.old.strip()!r} in {edit.places} place(s) of "
                    f"{self.file_name}, where it stands {found} times."
                )
            text = text.replace(edit.old, edit.new)
        return Source(file_name, text, self.folder)

    @cached_property
    def include_folders(self) -> tuple[Path, ...]:
        """Where `#include "name"` looks: beside the source, then in the library that `set_compiler` was given."""
        return tuple(dict.fromkeys((self.folder or Path().resolve(), library_folder())))

    @cached_property
    def headers(self) -> dict[str, str]:
        """Text of each header that the source, or one of its headers, includes as "name", by that name."""
        found: dict[str, str] = {}
        waiting: list[tuple[str, tuple[Path, ...]]]
        waiting = [(name, ()) for name in _INCLUDE.findall(self.text)]
        for name, beside in waiting:
            folders = (*beside, *self.include_folders)
            path = next((f / name for f in folders if (f / name).is_file()), None)
            if path is None or name in found:
                continue
            found[name] = read_text(path)
            waiting += [(more, (path.parent,)) for more in _INCLUDE.findall(found[name])]
        return found

    @cached_property
    def annotations(self) -> frozenset[str]:
        """The words that make a function a GPU's, macros of the text and its headers among them."""
        return find_annotations((*self.headers.values(), self.text))

    @cached_property
    def device_text(self) -> str:
        """The text without what only the host runs: what is compiled. Each line is where it was."""
        return without_host_code(self.text, self.annotations)

    @cached_property
    def device_headers(self) -> dict[str, str]:
        """The same of each header, by the name that it is included by."""
        return {
            name: without_host_code(text, self.annotations) for name, text in self.headers.items()
        }

    @property
    def has_host_code(self) -> bool:
        """Whether something was left out."""
        return self.device_text != self.text or self.device_headers != self.headers

    @cached_property
    def code(self) -> str:
        """Headers and text without comments and blank lines: what a compiled kernel depends on."""
        return "\n".join(map(_strip, (*self.device_headers.values(), self.device_text)))

    @cached_property
    def kernels(self) -> tuple[Declaration, ...]:
        """The kernels of the text, in its order, and then those of its headers."""
        texts = (self.text, *self.headers.values())
        found = {kernel.name: kernel for text in reversed(texts) for kernel in find_kernels(text)}
        return tuple(dict.fromkeys((*find_kernels(self.text), *found.values())))

    @cached_property
    def variables(self) -> dict[str, bool]:
        """The `__device__` and `__constant__` variables by name, "mine::count", and whether one is a constant."""
        texts = (*self.headers.values(), self.text)
        return {name: kind for text in texts for name, kind in find_variables(text).items()}

    @cached_property
    def entries(self) -> tuple[str, ...]:
        """Names of the text's own kernels, in its order."""
        return tuple(kernel.name for kernel in find_kernels(self.text))

    def kernel(self, expression: str) -> Declaration | None:
        """The declaration behind a name expression, such as "softmax<float, 256>", if it is seen."""
        name = expression.partition("<")[0].strip().removeprefix("::")
        return next((kernel for kernel in self.kernels if kernel.name == name), None)

    @property
    def declares_warp(self) -> bool:
        """Whether the source has a WARP of its own, so that no build may define one."""
        return _DECLARES_WARP.search(self.code) is not None

    def mentions(self, macro: str) -> bool:
        """Whether the code names `macro`, so that a build has to define it."""
        return re.search(rf"\b{re.escape(macro)}\b", self.code) is not None

    def with_prelude(self) -> str:
        """The text as NVRTC gets it: prelude first, less a WARP that it declares, line numbers unchanged."""
        prelude = _INFINITY if self.declares_warp else PRELUDE
        return f'{prelude}#line 1 "{self.file_name}"\n{self.device_text}'


@dataclass(frozen=True)
class Program:
    """One compilation: a source and the macros defined for it, such as (("BLOCK", 256),).

    With `entry`, a name expression such as "scale<float>", it is of that kernel alone. `flags` are what NVRTC is
    told beside FLAGS; the emulator knows none of them.
    """

    source: Source
    defines: tuple[tuple[str, int], ...] = ()
    entry: str = ""
    flags: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of code, prelude, flags and macros: changes whenever the machine code may."""
        parts = {
            "code": self.source.code,
            "prelude": PRELUDE,
            "flags": FLAGS,
            "defines": dict(self.defines),
        }
        if self.entry:
            parts["entry"] = self.entry
        if self.flags:
            parts["more flags"] = self.flags
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @cached_property
    def text_digest(self) -> str:
        """Hexadecimal SHA-256 of the same and of every line as it stands: changes whenever line numbers may."""
        headers = self.source.device_headers
        parts = [self.digest, self.source.file_name, self.source.device_text, headers]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
