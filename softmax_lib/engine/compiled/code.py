"""A program's machine code: what came along for the book's kernels, else what NVRTC and nvdisasm make of it here."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from softmax_lib.engine.caches import cache_folder, read_or_make
from softmax_lib.engine.compiled.cubin import Cubin, kernels_of, read_cubin
from softmax_lib.engine.compiler import LINES_A_FILE, nvrtc
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.folders import listing_folder
from softmax_lib.engine.signature import HEADER
from softmax_lib.engine.source import Program

TESTED_DISASSEMBLER = "13.5.37"
"""The version of nvidia-cuda-nvdisasm whose listings the tests read."""

_KEPT = re.compile(r"^(?://-+ \.text\.|//## File|[.$\w]+:$|/\*[0-9a-f]{4,}\*/)")
_LINE = re.compile(r"\bline (\d+)")
_ENCODING = re.compile(r"/\* 0x([0-9a-f]{8})[0-9a-f]{8} \*/$")
"""The lower half of an instruction's encoding, whose upper word is the number that is part of it."""

_NO_NUMBER = re.compile(r"[+-]?QNAN")
_OF_HALVES = re.compile(r"\*/\s+(?:@\S+\s+)?H[A-Z]")
_IN_A_FOLDER = re.compile(r'"[^"]*[/\\]([^"/\\]+)"')


@dataclass(frozen=True, eq=False)
class Code:
    """The machine code of a program for sm_`arch`: nvdisasm's `text`, and facts of each kernel by its name there.

    `entry` is the name of the kernel that a program is compiled for, "" where it is compiled for all of them;
    `made_by` are the compiler and the disassembler with their versions.
    """

    arch: int
    entry: str
    made_by: str
    text: str
    cubins: Mapping[str, Cubin]

    @property
    def compiler(self) -> str:
        """Such as "NVRTC 12.9"."""
        return self.made_by.partition(",")[0]

    def as_json(self) -> dict[str, Any]:
        """Plain lists and dictionaries, without the arch."""
        cubins = {name: cubin.as_json() for name, cubin in self.cubins.items()}
        return {"entry": self.entry, "made_by": self.made_by, "text": self.text, "cubins": cubins}

    @classmethod
    def from_json(cls, held: dict[str, Any], arch: int) -> Code:
        """What `as_json` gave."""
        cubins = {name: Cubin.from_json(one) for name, one in held["cubins"].items()}
        return cls(arch, held["entry"], held["made_by"], held["text"], cubins)


@lru_cache(maxsize=64)
def code_of(program: Program, arch: int) -> Code:
    """The machine code of `program` for sm_`arch`, from what came along where it is there.

    Raises `NotAvailable` without NVRTC or nvdisasm where it is not, and `CompileError`.
    """
    return find_code(program, arch) or compile_code(program, arch)


def find_code(program: Program, arch: int) -> Code | None:
    """What came along for `program`; None where nothing did, or the source has changed since."""
    held = read_file(file_of(program, arch)).get(key_of(program))
    return Code.from_json(held, arch) if held else None


def file_of(program: Program, arch: int) -> Path:
    """Where the machine code of `program` would be among what came along: a file inside of an archive."""
    return listing_folder() / f"sm_{arch}.zip" / f"{Path(program.source.file_name).stem}.json"


def key_of(program: Program) -> str:
    """What `program` is called in that file: changes whenever its machine code or the lines it comes from may."""
    asked = HEADER.read_text(encoding="utf-8") if program.entry else ""
    return hashlib.sha256(f"{program.text_digest}{asked}".encode()).hexdigest()[:32]


def files_in(archive: Path) -> set[Path]:
    """The files inside of an archive; none where there is none, or where it is damaged."""
    with suppress(OSError, BadZipFile):
        return {archive / name for name in _open(archive).namelist()}
    return set()


@lru_cache(maxsize=64)
def read_file(path: Path) -> dict[str, Any]:
    """By key what a file inside of an archive holds; nothing where there is none, or where it is damaged."""
    return json.loads(read_content(path) or b"{}")


def read_content(path: Path) -> bytes:
    """The bytes of a file inside of an archive; none where there is none, or where it is damaged."""
    with suppress(OSError, BadZipFile, KeyError, lzma.LZMAError, EOFError):
        return _open(path.parent).read(path.name)
    return b""


@lru_cache
def _open(archive: Path) -> ZipFile:
    """Held in memory: an open file would be shared with processes that are forked."""
    return ZipFile(BytesIO(archive.read_bytes()))


def compile_code(program: Program, arch: int) -> Code:
    """What NVRTC and nvdisasm make of `program` here. Raises `NotAvailable` without them, and `CompileError`."""
    cubin, entry = nvrtc().compile_kernel(program, arch)
    return read_code(cubin, arch, entry, compiler=nvrtc().compiler())


def read_code(cubin: bytes, arch: int, entry: str = "", *, compiler: str = "") -> Code:
    """What nvdisasm lists of a cubin, from the disk cache when it is there. Raises `NotAvailable` without nvdisasm.

    Warns of an nvdisasm that was not tested: what it prints is documented nowhere.
    """
    version = disassembler_version()
    if version not in ("", TESTED_DISASSEMBLER):
        warnings.warn(
            f"nvdisasm {version} lists the machine code; {TESTED_DISASSEMBLER} is the one that was tested.",
            stacklevel=2,
        )
    made_by = f"{compiler}, nvdisasm {version}".removeprefix(", ")

    def make() -> bytes:
        text = _trim(disassemble(cubin, arch, "-gi", "-c", "-hex"))
        cubins = {name: read_cubin(cubin, name, arch) for name in kernels_of(cubin)}
        return json.dumps(Code(arch, entry, made_by, text, cubins).as_json()).encode()

    key = hashlib.sha256(repr((cubin, arch, entry, made_by, _own_digest())).encode()).hexdigest()
    held = read_or_make(cache_folder("machine") / f"{key}.listing", make)
    return Code.from_json(json.loads(held), arch)


@cache
def disassembler() -> Path | None:
    """Where the package nvidia-cuda-nvdisasm has put its program; None without it."""
    try:
        files = metadata.files("nvidia-cuda-nvdisasm") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in files if f.stem == "nvdisasm"), None)


def disassembler_version() -> str:
    """The version of the package that nvdisasm comes from; "" without it."""
    try:
        return metadata.version("nvidia-cuda-nvdisasm")
    except metadata.PackageNotFoundError:
        return ""


def disassemble(cubin: bytes, arch: int, *options: str) -> str:
    """What nvdisasm prints of code for sm_`arch`. Raises `NotAvailable` when it is missing or cannot."""
    program = disassembler()
    if program is None:
        raise NotAvailable(
            "nvdisasm is missing; install it with `pip install nvidia-cuda-nvdisasm`."
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(program), *options, file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotAvailable(f"nvdisasm cannot read code for sm_{arch}: {done.stderr.strip()}")
    return done.stdout


def _trim(text: str) -> str:
    """Nothing but what `read_listing` reads, files without their folders, and lines as these number them."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(map(_plain, filter(_KEPT.match, lines)))


def _plain(line: str) -> str:
    if not line.startswith("//##"):
        return _with_bits(line)
    line = _IN_A_FOLDER.sub(r'"\1"', line)
    return _LINE.sub(lambda match: f"line {int(match[1]) % LINES_A_FILE}", line)


def _with_bits(line: str) -> str:
    """A statement without its encoding; what nvdisasm calls no number, whatever its bits, as those bits."""
    encoded = _ENCODING.search(line)
    if encoded is None:
        return line
    line, literal = line[: encoded.start()].rstrip(), int(encoded[1], 16)
    is_single = not _OF_HALVES.search(line)
    return _NO_NUMBER.sub(
        lambda match: _bits_of(match[0], literal) if is_single else match[0], line
    )


def _bits_of(text: str, literal: int) -> str:
    usual = 0xFFFFFFFF if text.startswith("-") else 0x7FFFFFFF
    return text if literal == usual else f"{literal:#x}"


@lru_cache(maxsize=1)
def _own_digest() -> str:
    """Of the Python that reads a cubin."""
    files = (Path(__file__), Path(__file__).with_name("cubin.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
