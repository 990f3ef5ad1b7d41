"""A kernel's PTX as the interpreter of machine code takes it."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from softmax_lib.engine.compiled.code import file_of, key_of, read_file
from softmax_lib.engine.compiled.cubin import called
from softmax_lib.engine.compiled.program import Decoded
from softmax_lib.engine.compiled.ptx.inlining import flatten
from softmax_lib.engine.compiled.ptx.opcodes import READERS
from softmax_lib.engine.compiled.ptx.reading import Module, read_module
from softmax_lib.engine.compiled.ptx.writer import Writer
from softmax_lib.engine.compiler import nvrtc
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.source import Program

_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_FOLDER = re.compile(r'"[^"]*[/\\]')


@lru_cache(maxsize=64)
def ptx_of(program: Program, arch: int) -> tuple[Module, str, str]:
    """The PTX of `program` for sm_`arch`, the name of its `entry` there, "" without one, and who made it.

    It is what came along, else what NVRTC makes. Raises `NotAvailable` without NVRTC where nothing did, and
    `CompileError`.
    """
    if held := find_ptx(program, arch):
        return read_module(held["text"]), "", held["made_by"]
    made_by = nvrtc().compiler()
    text, entry = nvrtc().compile_ptx(program, arch)
    return read_module(text), entry, made_by


def find_ptx(program: Program, arch: int) -> dict[str, str] | None:
    """What came along for `program`: its `text`, and who it is `made_by`; None where nothing did, or the source has changed."""
    return read_file(ptx_file_of(program, arch)).get(key_of(program))


def ptx_file_of(program: Program, arch: int) -> Path:
    """Where the PTX of `program` would be among what came along."""
    file = file_of(program, arch)
    return file.parents[1] / f"ptx_{arch}.zip" / file.name


def listed_ptx(program: Program, arch: int) -> dict[str, str]:
    """What is to come along for a program without an `entry`: PTX without comments, files without their folders."""
    text, _ = nvrtc().compile_ptx(program, arch)
    lines = (_FOLDER.sub('"', line) for line in _COMMENT.sub("", text).splitlines() if line.strip())
    return {"text": "\n".join(lines), "made_by": nvrtc().compiler()}


@lru_cache(maxsize=64)
def translate(program: Program, arch: int, kernel: str) -> Decoded:
    """`kernel` of a program's PTX for sm_`arch`; without a name it is the program's `entry`.

    Raises `NotAvailable` where there is no such kernel, and what `ptx_of` raises.
    """
    module, entry, made_by = ptx_of(program, arch)
    return translate_module(module, called(kernel or entry, module.functions), arch, made_by)


def translate_module(module: Module, kernel: str, arch: int, made_by: str = "") -> Decoded:
    """What the interpreter is to do for each statement of `kernel`."""
    function = module.functions.get(kernel)
    if function is None or not function.is_kernel:
        raise NotAvailable(f"The PTX has no kernel {kernel}.")
    return Writer(flatten(module, function), function, arch, READERS).write(made_by)
