"""From a .cu file to a shared library for the CPU, kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

from softmax_lib.engine import caches
from softmax_lib.engine.caches import cache_folder
from softmax_lib.engine.errors import CompileError, NotAvailable, NotEmulated, UnknownKernel
from softmax_lib.engine.signature import HEADER as SIGNATURE_HEADER
from softmax_lib.engine.source import WARP, Program, Source
from softmax_lib.engine.toolchain import (
    LIBRARY_SUFFIX,
    SHARED_FOLDER,
    Toolchain,
    build_once,
    build_own_once,
    compile_in,
    first_error,
    toolchain,
)
from softmax_lib.engine.written import assembly, casts, flags, host_words, marks, messages
from softmax_lib.engine.written.flags import CPP_FOLDER

_DEPTH = 6
"""Folders that a header's name can lead up."""

_PRELUDES_KEPT = 6
"""Compiled ones, of some 24 MB each: traced and not, of up to three checkouts or compilers."""

_ALIGNED_SHARED = re.compile(
    r"(?P<before>(?:\b(?:extern|static|volatile|const)\s+)*\b__shared__\s+(?:(?:volatile|const)\s+)*)"
    r"(?P<alignas>alignas\s*\((?:[^()]|\([^()]*\))*\))"
)


def runtime_library() -> Path:
    """The emulator's runtime, built if it is not there. Raises `NotAvailable` if it does not build."""
    tools = toolchain()
    path = _place("runtime", (tools, flags.runtime_flags(""), _cpp_digest()))
    own = (*flags.runtime_flags(path.name), f"-I{SHARED_FOLDER}")
    return build_own_once(path, own, [CPP_FOLDER / "runtime.cpp"])


def server_program() -> Path:
    """The program of the emulator's own process, built if it is not there. Raises `NotAvailable`."""
    tools = toolchain()
    path = _place("server", (tools, _cpp_digest())).with_suffix("")
    return build_own_once(path, ("-O1",), [CPP_FOLDER / "server_program.cpp"], libraries=("-ldl",))


def kernel_library(
    program: Program,
    entries: Sequence[str],
    warp_size: int,
    traced: bool,
    shared_bytes: int = 0,
    counted: bool = False,
) -> Path:
    """The library with the kernels `entries`, name expressions each, built if it is not there.

    A launch of it has `shared_bytes` of dynamic shared memory. Its accesses are told where it is `traced`, and not
    checked for their alignment before where they are `counted` (flags.py). Raises `CompileError` with the compiler's
    message at the source's own lines, `UnknownKernel` or `NotAvailable`.
    """
    tools = toolchain()
    runtime = runtime_library()
    # behind the last line, how the runtime calls the kernels, and what they take
    calls = [f"EMULATOR_ENTRY({number}, {name})" for number, name in enumerate(entries)]
    text = "\n".join((program.source.device_text, *calls, ""))
    compiling = flags.kernel_flags(tools, program, warp_size, traced, counted)
    linking = flags.link_flags(runtime)
    source = program.source
    # What lies in these folders is in the digest, so that every checkout finds what one has built.
    plain = [flag for flag in compiling if not flag.startswith("-I")]
    key = (tools, plain, linking, source.file_name, text, source.device_headers, shared_bytes)
    path = _place(Path(source.file_name).stem, (key, _cpp_digest()))

    def build(folder: Path, out: Path) -> None:
        flags.write_headers()
        lay_out = partial(_lay_out_files, source, text, folder, traced)
        here = lay_out()
        prelude = _compiled_prelude(tools, warp_size, traced, counted)
        if prelude:
            (here / f"{flags.PRELUDE}.gch").symlink_to(prelude)
        own = (f"-iquote{here}", f"-ffile-prefix-map={here}/=")
        command = [*tools.command, *own, *compiling, "-x", "c++", source.file_name]
        _refuse_host_words([*command, *(("-fpch-preprocess",) if prelude else ())], folder, here)
        compiled = "kernel.s"
        try:
            said = _check(command, compiled, here)
        except CompileError:  # of the source as it is written, and what is wrong with that
            lay_out = partial(lay_out, shield=str)
            lay_out()
            why_not = partial(_why_not, command, program, entries, here)
            said = _check(command, compiled, here, why_not)
        warned = marks.read_warnings(said) if traced else {}
        if warned:  # compiled once more, so that the launch shows whether it happens
            lay_out(warned)
            if compile_in([*command, "-S", "-o", "marked.s"], here).returncode == 0:
                compiled = "marked.s"
        if inline := assembly.find_inline(here / compiled):
            raise NotEmulated(messages.name_inline(source, *inline))
        _settle_casts(tools, command, compiled, here)
        texts = (source.device_text, *source.device_headers.values())
        assembly.settle(here / compiled, shared_bytes, texts)
        linked = [*tools.command, compiled, *linking]
        _check(linked, str(out), here, partial(_refuse, source))
        if hosts := assembly.find_host_function(out):
            raise CompileError(assembly.name_caller(hosts, here / compiled, source.file_name))

    return build_once(path, build)


def _compiled_prelude(tools: Toolchain, warp_size: int, traced: bool, counted: bool) -> Path | None:
    """What g++ makes of the prelude for warps of a GPU's size; None where it is to be read as it is written.

    A compiler that cannot use it reads what is written too, and so does one whose file is taken away.
    """
    if tools.is_clang or warp_size != WARP:
        return None
    own = flags.prelude_flags(tools, warp_size, traced, counted)
    path = _place("prelude", (tools, own, _cpp_digest())).with_suffix(".gch")

    def build(folder: Path, out: Path) -> None:
        (folder / flags.PRELUDE).write_text(flags.PRELUDE_TEXT, encoding="utf-8")
        said = compile_in(
            [*tools.command, *own, "-x", "c++-header", flags.PRELUDE, "-o", str(out)], folder
        )
        if said.returncode:
            raise NotAvailable(said.stderr)

    with contextlib.suppress(NotAvailable):
        if not caches.is_whole(path):
            build_once(path, build)
            _remove_old_preludes(path.parent)
        return path
    return None


def _remove_old_preludes(folder: Path) -> None:
    """All but the newest: they are large, and each change of a header makes new ones."""
    with contextlib.suppress(OSError):
        by_age = sorted(folder.glob("prelude-*.gch"), key=lambda path: path.stat().st_mtime)
        for path in by_age[:-_PRELUDES_KEPT]:
            path.unlink()


def _lay_out_files(
    source: Source,
    text: str,
    folder: Path,
    traced: bool,
    warned: Mapping[str, Collection[marks.Declared]] = MappingProxyType({}),
    shield: Callable[[str], str] = marks.shield_shifts,
) -> Path:
    """Write the source and its headers as they are compiled; the folder of the source, below `folder`.

    Each header lies where its name leads from there: "../common.h" is above, and still within. Traced,
    variables without a value are marked, by file also those that the compiler has `warned` of.
    """
    here = folder.joinpath(*_DEPTH * ["in"])
    here.mkdir(parents=True, exist_ok=True)
    (here / flags.PRELUDE).write_text(flags.PRELUDE_TEXT, encoding="utf-8")
    files = {**source.device_headers, source.file_name: text}
    has_warp_calls = marks.have_warp_calls(files.values())
    for name, content in files.items():
        path = Path(os.path.normpath(here / name))
        if path.is_relative_to(folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            if has_warp_calls:
                content = marks.mark_steps(content)
            if traced:
                content = marks.mark_unwritten(content, warned.get(name, ()))
            path.write_text(shield(_translate(content)), encoding="utf-8")
    return here


def _translate(text: str) -> str:
    """What CUDA's compilers take so that others do: `alignas` in front of `__shared__`, each line where it was."""
    return _ALIGNED_SHARED.sub(r"\g<alignas> \g<before>", text)


def _check(
    command: list[str], out: str, folder: Path, explain: Callable[[str], str | None] = str
) -> str:
    """Compile or link: what was said of it. Raises `CompileError`, which `explain` may say more of."""
    compile_only = {".s": ["-S"], ".ll": ["-S", "-emit-llvm"]}.get(Path(out).suffix, [])
    done = compile_in([*command, *compile_only, "-o", out], folder)
    if done.returncode and " PCH" in done.stderr:  # g++ finds no room for it where it was
        (folder / f"{flags.PRELUDE}.gch").unlink(missing_ok=True)
        done = compile_in([*command, *compile_only, "-o", out], folder)
    if done.returncode:
        message = messages.readable(done.stderr, folder, CPP_FOLDER)
        raise CompileError(explain(message) or message)
    return done.stderr


def _refuse_host_words(command: list[str], folder: Path, here: Path) -> None:
    out = folder / "alone.ii"
    if compile_in([*command, "-E", "-o", str(out)], here).returncode:
        return  # whoever compiles it says why
    if refused := host_words.name_host_words(out.read_text(errors="replace"), folder, here):
        raise CompileError(refused)


def _settle_casts(tools: Toolchain, command: list[str], compiled: str, folder: Path) -> None:
    """Where floats become whole numbers, compile once more so that they do as on a GPU."""
    path = folder / compiled
    text = path.read_text(encoding="latin-1")
    if tools.is_clang and casts.HAS_CASTS.search(text):
        code = path.with_suffix(".ll")
        _check(command, code.name, folder)
        content = casts.saturate_llvm(code.read_text(encoding="latin-1"))
        code.write_text(content, encoding="latin-1")
        rest = [*command[: command.index("-x")], "-Xclang", "-disable-llvm-passes", code.name]
        _check(rest, compiled, folder)
    elif not tools.is_clang and casts.HAS_CASTS.search(text):
        told = folder / "told.s"
        _check([*command, *casts.GCC_TOLD], told.name, folder)
        asking = told.read_text(encoding="latin-1")
        if not casts.tells_unsigned(asking):
            if "cvttp" in text:
                _check([*command, *casts.GCC_ONE_BY_ONE], compiled, folder)
            asking = path.read_text(encoding="latin-1")
        path.write_text(casts.settle(asking), encoding="latin-1")


def _why_not(
    command: list[str], program: Program, entries: Sequence[str], folder: Path, said: str
) -> str | None:
    """The message for the source alone; if that compiles, there is no such kernel to be launched."""
    source = program.source
    refused = _refuse(source, said)
    if refused or messages.NO_RETURN in said:  # who compiles sees that, its syntax does not show it
        return refused or said
    (folder / source.file_name).write_text(_translate(source.device_text), encoding="utf-8")
    alone = compile_in([*command, "-fsyntax-only"], folder)
    if alone.returncode:
        return messages.readable(alone.stderr, folder, CPP_FOLDER)
    names = [kernel.name for kernel in source.kernels]
    why = first_error(said).partition("error: ")[2]
    raise UnknownKernel(
        f"{source.file_name} has no kernel {' or '.join(entries)} to launch; it has "
        f"{', '.join(names) or 'none'} ({why})."
    )


def _refuse(source: Source, said: str) -> str | None:
    """What to say of functions of the host that kernels call.

    Raises `NotEmulated` when what the compiler `said` is about something that the emulator lacks.
    """
    lacking = messages.name_lacking(source, said)
    if lacking:
        raise NotEmulated(lacking)
    return messages.name_host_call(source, said)


@cache
def _cpp_digest() -> str:
    folders = (CPP_FOLDER, SHARED_FOLDER)
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    names = ("assembly", "casts", "host_words", "marks")
    own = (CPP_FOLDER.parent / f"{name}.py" for name in names)
    texts = [
        (os.path.relpath(path, CPP_FOLDER), path.read_text(encoding="utf-8"))
        for path in (*paths, SIGNATURE_HEADER, *own)
    ]
    return hashlib.sha256(repr((texts, flags.HEADERS)).encode()).hexdigest()


def _place(stem: str, key: object) -> Path:
    # The folder is part of the key: a kernel finds its runtime by the runtime's file name alone.
    folder = cache_folder("emulator")
    digest = hashlib.sha256(repr((folder, key)).encode()).hexdigest()[:24]
    return folder / f"{stem}-{digest}{LIBRARY_SUFFIX}"
