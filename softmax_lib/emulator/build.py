"""From a .cu file to a shared library for the CPU, kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from softmax_lib.emulator import flags, messages
from softmax_lib.emulator.flags import CPP_FOLDER
from softmax_lib.emulator.toolchain import Toolchain, toolchain
from softmax_lib.errors import CompileError, NotAvailable
from softmax_lib.files import cache_folder
from softmax_lib.kernel import Step
from softmax_lib.source import Program, Source

GAP_BYTES = 4096
LIBRARY_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"

_DYNAMIC = re.compile(r"extern\s+__shared__\s[^;\[]*?(\w+)\s*\[\s*\]")
"""The name in `extern __shared__ float tile[];`."""

_builds: dict[Path, threading.Lock] = {}


def runtime_library() -> Path:
    """The emulator's runtime, built if it is not there. Raises `NotAvailable` if it does not build."""
    tools = toolchain()
    path = _place("runtime", (tools, flags.runtime_flags(""), _cpp_digest()))
    return _build_once(path, lambda folder, out: _build_runtime(tools, out))


def kernel_library(program: Program, steps: Sequence[Step], warp_size: int, traced: bool) -> Path:
    """The library with the kernels that `steps` launch, built if it is not there.

    Raises `CompileError` with the compiler's message at the source's own lines, or `NotAvailable`.
    """
    tools = toolchain()
    runtime = runtime_library()
    text = _with_entries(program.source, steps)
    compiling = flags.kernel_flags(tools, program, warp_size, traced)
    linking = flags.link_flags(runtime)
    source = program.source
    key = (tools, compiling, linking, source.file_name, text, source.headers, _cpp_digest())
    path = _place(Path(source.file_name).stem, key)
    files = {**source.headers, source.file_name: text}

    def build(folder: Path, out: Path) -> None:
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
        command = [*tools.command, *compiling, "-x", "c++", source.file_name]
        compiled = "kernel.s"
        _check(
            command, compiled, folder, lambda said: _why_not(command, program, steps, folder, said)
        )
        _part_shared_arrays(folder / compiled)
        _check(
            [*tools.command, compiled, *linking],
            str(out),
            folder,
            lambda said: _refuse_lacking(source, said),
        )

    return _build_once(path, build)


def _build_runtime(tools: Toolchain, out: Path) -> None:
    command = [*tools.command, *flags.runtime_flags(out.name), str(CPP_FOLDER / "runtime.cpp")]
    done = _compile([*command, "-o", str(out)], CPP_FOLDER)
    if done.returncode:
        reason = messages.first_error(done.stderr)
        raise NotAvailable(f"{tools.description} cannot build the emulator's runtime: {reason}")


def _check(
    command: list[str], out: str, folder: Path, explain: Callable[[str], str | None]
) -> None:
    compile_only = {".o": ["-c"], ".s": ["-S"]}.get(Path(out).suffix, [])
    done = _compile([*command, *compile_only, "-o", out], folder)
    if done.returncode:
        message = messages.readable(done.stderr, folder, CPP_FOLDER)
        raise CompileError(explain(message) or message)


def _part_shared_arrays(assembly: Path) -> None:
    """Leave a gap behind each shared array: what runs over the end of one must not meet the next.

    A trace names it; a plain run, which does not look, must at least not hit what is Python's.
    Shared arrays are the thread-local variables, which lie in sections called .tbss. The gap is a
    multiple of the 32 banks, so that each array keeps its place among them.
    """
    lines, in_tbss = [], False
    for line in assembly.read_text(encoding="latin-1").splitlines():
        words = line.split()
        if words and words[0] in (".section", ".text", ".data", ".bss"):
            in_tbss = words[0] == ".section" and words[1].startswith(".tbss")
        lines.append(line)
        if in_tbss and words and words[0] == ".zero":
            lines.append(f"\t.zero\t{GAP_BYTES}")
    assembly.write_text("\n".join(lines) + "\n", encoding="latin-1")


def _why_not(
    command: list[str], program: Program, steps: Sequence[Step], folder: Path, said: str
) -> str | None:
    """The message for the source alone; if that compiles, its kernels take other arguments."""
    _refuse_lacking(program.source, said)
    (folder / program.source.file_name).write_text(program.source.text, encoding="utf-8")
    alone = _compile([*command, "-fsyntax-only"], folder)
    if alone.returncode:
        return messages.readable(alone.stderr, folder, CPP_FOLDER)
    calls = ", ".join(f"{step.entry}({', '.join(step.arguments)})" for step in steps)
    return (
        f"{program.source.file_name} is launched as {calls}, with arrays of float and int sizes, "
        "and its kernels take something else."
    )


def _refuse_lacking(source: Source, said: str) -> None:
    """Raises `NotAvailable` when what the compiler `said` is about something the emulator lacks."""
    lacking = messages.name_lacking(source, said)
    if lacking:
        raise NotAvailable(lacking)


def _compile(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    plain = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=plain, check=False
    )


def _with_entries(source: Source, steps: Sequence[Step]) -> str:
    """The source, and after its last line what the runtime needs: ways to call its kernels."""
    entries = dict.fromkeys((step.entry, step.arguments) for step in steps)
    calls = [_entry(name, arguments) for name, arguments in entries]
    names = dict.fromkeys(_DYNAMIC.findall(source.code))
    dynamic = [f"EMULATOR_DYNAMIC({name}, _ZTH{len(name)}{name})" for name in names]
    return "\n".join((source.text, *calls, *dynamic, ""))


def _entry(name: str, arguments: Sequence[str]) -> str:
    kinds = ("int" if argument in ("rows", "cols") else "float*" for argument in arguments)
    values = ", ".join(f"({kind})a[{i}]" for i, kind in enumerate(kinds))
    return f"EMULATOR_ENTRY({name}, {len(arguments)}, {values})"


@cache
def _cpp_digest() -> str:
    files = sorted(path for path in CPP_FOLDER.rglob("*") if path.is_file())
    texts = [
        (str(path.relative_to(CPP_FOLDER)), path.read_text(encoding="utf-8")) for path in files
    ]
    return hashlib.sha256(repr(texts).encode()).hexdigest()


def _place(stem: str, key: object) -> Path:
    # The folder is part of the key: a kernel finds its runtime by the runtime's file name alone.
    folder = cache_folder("emulator")
    digest = hashlib.sha256(repr((folder, key)).encode()).hexdigest()[:24]
    return folder / f"{stem}-{digest}{LIBRARY_SUFFIX}"


def _build_once(path: Path, build: Callable[[Path, Path], None]) -> Path:
    """Builds `path` unless it is there; another process may do the same, and the last one stays."""
    with _builds.setdefault(path, threading.Lock()):
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=path.parent, prefix="building-") as name:
                folder = Path(name)
                build(folder, folder / path.name)
                os.replace(folder / path.name, path)
    return path
