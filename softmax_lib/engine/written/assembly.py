"""The compiler's assembly, changed before it becomes a library: where a block's shared arrays lie, what may run.

And functions of the host that kernels call: a GPU has none of them, so a library that needs one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

GAP_BYTES = 4096

_THREAD_LOCAL = re.compile(
    r"\b(?!_ZTH|_ZTW)([\w.$]+)@(?:tlsgd|tlsld|dtpoff|gottpoff|tpoff|tlsdesc)\b|:(?:tlsdesc|gottprel)[\w]*:([\w.$]+)",
    re.IGNORECASE,  # clang++ writes these in capitals
)
_DEFINED = re.compile(r"^(?:([\w.$]+):|\s*\.set\s+([\w.$]+)\s*,)", re.MULTILINE)
_FIRST_VALUES = re.compile(r"\b(_ZTH[\w.$]+)")
_INDEX_CHECK = re.compile(
    r"(\.(?:quad|xword)[^\n]*\n\s*\.(?:long|word)\s+)(\d+)((?:[^\n]*\n\s*\.(?:long|word)\s+\d+)(?=(?:[^\n]*\n\s*\.(?:quad|xword)){2}))"
)
_SHARED = re.compile(r"\b__(?:shared|device)__\b[^;()]*;")
_NAME_OF_ARRAY = re.compile(r"(\w+)\s*\[")
_ARRAY = re.compile(r"(?:\b(?!return\b|else\b)\w+|[>&*,])\s+[&*]?(\w+)\s*\[")
_CONSTRUCTORS = re.compile(r"^\s*\.section\s+\.init_array\b.*$", re.MULTILINE)


def settle(assembly: Path, dynamic_bytes: int, texts: Iterable[str]) -> None:
    """Give shared memory its places, and let nothing of the source run when the library is loaded.

    On a GPU no variable has a first value that takes code; such a one is the host's. `texts` are the source's.
    """
    text = _with_index_checks(assembly.read_text(encoding="latin-1"), texts)
    lines = list(_with_gaps(_CONSTRUCTORS.sub('\t.section\t.never_run,"aw"', text).splitlines()))
    lines += _dynamic_array(_undefined_thread_locals(text), dynamic_bytes)
    lines += _first_values(text)
    assembly.write_text("\n".join(lines) + "\n", encoding="latin-1")


def _with_index_checks(assembly: str, texts: Iterable[str]) -> str:
    """Indices are checked of arrays in structs and of a thread's own, by their lines, and of no rows.

    Of all other arrays addresses are: `tile[0][40]` may mean an element of the next row.
    """
    lines = {number: line for text in texts for number, line in enumerate(text.splitlines(), 1)}
    names = "|".join({"a^", *(name for text in texts for name in own_arrays(text))})
    kept = re.compile(rf"(?!.*\]\s*\[).*(?:(?:\.|->)\s*\w+|\b(?:{names}))\s*\[")
    return _INDEX_CHECK.sub(
        lambda data: data[0] if kept.match(lines.get(int(data[2]), "")) else f"{data[1]}0{data[3]}",
        assembly,
    )


def own_arrays(text: str) -> set[str]:
    """Names of arrays that a source declares, but for those of shared or global memory."""
    others = {name for shared in _SHARED.findall(text) for name in _NAME_OF_ARRAY.findall(shared)}
    return set(_ARRAY.findall(_SHARED.sub("", text))) - others


def _with_gaps(lines: Iterable[str]) -> Iterator[str]:
    """Leave a gap behind each shared array, and behind variables that begin as zeros.

    What runs over the end of one array must not meet the next: a trace names it; a plain run, which
    does not look, must at least not hit what is Python's. Shared arrays are the thread-local
    variables, which lie in sections called .tbss. The gap is a multiple of the 32 banks, so that
    each array keeps its place among them.
    """
    has_gaps = False
    for line in lines:
        words = line.split()
        if words and words[0] in (".section", ".text", ".data", ".bss"):
            has_gaps = words[0] == ".section" and words[1].startswith((".tbss", ".bss."))
        yield line
        if has_gaps and words and words[0] == ".zero":
            yield f"\t.zero\t{GAP_BYTES}"


def _undefined_thread_locals(text: str) -> list[str]:
    """What an `extern __shared__` array is called in the assembly: used, and defined nowhere."""
    lines = (line for line in text.splitlines() if "@" in line or ":" in line)  # a tenth of them
    found = (one for line in lines for one in _THREAD_LOCAL.findall(line))
    used = dict.fromkeys(first or second for first, second in found)
    defined = _defined(text)
    return [name for name in used if name not in defined]


def _defined(text: str) -> set[str]:
    """What has a place in the assembly, by a label or as another's name."""
    return {label or alias for label, alias in _DEFINED.findall(text)}


def _dynamic_array(names: Sequence[str], length: int) -> list[str]:
    """All of `names` are one array of `length` bytes."""
    if not names:
        return []
    lines = ['\t.section\t.tbss.dynamic,"awT",%nobits', "\t.balign\t1024"]
    for name in names:
        lines += [f"\t.globl\t{name}", f"\t.hidden\t{name}", f"\t.type\t{name}, %tls_object"]
        lines += [f"\t.size\t{name}, {length}", f"{name}:"]
    return [*lines, f"\t.zero\t{length + GAP_BYTES}"]


def _first_values(text: str) -> list[str]:
    """What gives an `extern __shared__` array its first values, which are none: called where it is
    declared, also where nothing of it is used."""
    lines = ["\t.text"]
    used = set(_FIRST_VALUES.findall(text)) if "_ZTH" in text else set()
    for name in sorted(used - _defined(text) if used else ()):
        lines += [f"\t.weak\t{name}", f"{name}:", "\tret"]
    return lines


# ---- inline assembly, and functions of the host

_INLINE = re.compile(r"^\s*[#/@;]+APP$(.*?)^\s*[#/@;]+NO_APP$", re.MULTILINE | re.DOTALL)
_STATEMENT = re.compile(r'# (\d+) "([^"]+)" 1$')  # g++'s alone
_INSTRUCTION = re.compile(r"\s*(?:[\w.$]+:)?\s*[A-Za-z_]\w*\b(?!:)")


def find_inline(assembly: Path) -> tuple[str, int] | None:
    """File and line of the first asm statement that is not empty, "" and 0 where that is not told; None without one."""
    text = assembly.read_text(encoding="latin-1")
    files = {number: Path(path).name for number, path in _FILE.findall(text)}
    for found in _INLINE.finditer(text):
        before = [*_LOCATION.finditer(text, 0, found.start())][-1:]
        place = [(files.get(one[1], ""), int(one[2])) for one in before]
        is_told = False
        for line in found[1].splitlines():
            if stated := _STATEMENT.match(line):
                place, is_told = [(Path(stated[2]).name, int(stated[1]))], True
            elif _INSTRUCTION.match(line) or (is_told and line.strip() and line[0] not in "#/@;"):
                return place[0] if place else ("", 0)
    return None


_ALLOWED = re.compile(
    r"mem(cpy|move|set|cmp)|str(cmp|len)|__\w+_chk|__stack_chk_fail|__tls_get_addr"
    r"|__cxa_(finalize|pure_virtual)|_ZTVN10__cxxabiv1\w+|__gxx_personality_v0|_?_?(gmon|ITM|Unwind)_\w+"
)
"""What compilers call by themselves, and what CUDA has under the same name."""
_HOSTS = re.compile(r"libc\.|libstdc\+\+|libc\+\+|libpthread|libdl")
_LOCATION = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)", re.MULTILINE)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]+)"', re.MULTILINE)


def find_host_function(library: Path) -> str | None:
    """What the library at `path` takes from the host's C or C++ library and must not; None where nothing is.

    Of a library that is no ELF file, or of one without versions, nothing is known.
    """
    with suppress(ELFError):
        return next((name for name in _taken(library) if not _ALLOWED.fullmatch(name)), None)
    return None


def _taken(library: Path) -> Iterator[str]:
    """The names of what a library takes from the host's own libraries."""
    with library.open("rb") as file:
        elf = ELFFile(file)
        names = (".dynsym", ".gnu.version", ".gnu.version_r")
        sections: list[Any] = [elf.get_section_by_name(name) for name in names]
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


def name_caller(name: str, assembly: Path, file_name: str) -> str:
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
