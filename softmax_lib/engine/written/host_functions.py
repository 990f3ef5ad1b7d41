"""Functions of the host that kernels call: a GPU has none of them, so a library that needs one is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ALLOWED = re.compile(
    r"mem(cpy|move|set|cmp)|str(cmp|len)|__\w+_chk|__stack_chk_fail|__tls_get_addr"
    r"|__cxa_(finalize|pure_virtual)|_ZTVN10__cxxabiv1\w+|__gxx_personality_v0|_?_?(gmon|ITM|Unwind)_\w+"
)
"""What compilers call by themselves, and what CUDA has under the same name."""
_HOSTS = re.compile(r"libc\.|libstdc\+\+|libc\+\+|libpthread|libdl")
_LOCATION = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]+)"')


def find_host_function(library: Path) -> str | None:
    """What the library at `path` takes from the host's C or C++ library and must not; None where nothing is.

    Of a library that is no ELF file, or of one without versions, nothing is known.
    """
    from elftools.common.exceptions import ELFError

    try:
        return next((name for name in _taken(library) if not _ALLOWED.fullmatch(name)), None)
    except ELFError:
        return None


def _taken(library: Path) -> Iterator[str]:
    """The names of what a library takes from the host's own libraries."""
    from elftools.elf.elffile import ELFFile

    with library.open("rb") as file:
        elf = ELFFile(file)
        sections: list[Any] = [
            elf.get_section_by_name(name) for name in (".dynsym", ".gnu.version", ".gnu.version_r")
        ]
        if None in sections:
            return
        symbols, versions, needs = sections
        owners = {
            one["vna_other"]: need.name for need, wanted in needs.iter_versions() for one in wanted
        }
        for number, symbol in enumerate(symbols.iter_symbols()):
            version = versions.get_symbol(number)["ndx"]
            if symbol["st_shndx"] == "SHN_UNDEF" and _HOSTS.match(owners.get(version, "")):
                yield symbol.name


def sentence(name: str, assembly: Path, file_name: str) -> str:
    """Where the source in the file of this name calls it, in words."""
    line = _line_of(name, assembly.read_text(encoding="latin-1"), file_name)
    at = f"{file_name}:{line}" if line else file_name
    what = (
        "the host's C++ library" if name.startswith("_Z") else f"{name}(), a function of the host"
    )
    return f"{at} calls {what}, which a GPU does not have."


def _line_of(name: str, assembly: str, file_name: str) -> int:
    """The last line of the source that the assembly tells before it names the function; 0 where there is none."""
    wanted = re.compile(rf"\b{re.escape(name)}\b")
    sources: set[str] = set()
    at = 0
    for line in assembly.splitlines():
        if found := _FILE.match(line):
            if Path(found[2]).name == file_name:
                sources.add(found[1])
        elif found := _LOCATION.match(line):
            if found[1] in sources:
                at = int(found[2])
        elif at and wanted.search(line):
            return at
    return 0
