"""A compiler's messages as the reader of a .cu file should see them, and what CUDA has that the emulator has not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from softmax_lib.engine.host_code import find_host_functions
from softmax_lib.engine.source import Source, blank_comments
from softmax_lib.engine.written.flags import headers_folder

_MOST_LINES = 40

LACKING = (
    ("inline PTX (asm)", r"\b(__)?asm(__)?\b"),
    ("tensor cores", r"\bc?mma\.h\b|\bwmma\b|\bmma_sync\b"),
    ("CUTLASS and CuTe", r"\b(cute|cutlass)/[\w/.]+"),
    ("tensor maps", r"\bCUtensorMap\b|\bcp_async_bulk_tensor_\w+"),
    ("PTX as functions", r"\bcuda/ptx\b|\bptx\b"),
    ("groups of several GPUs", r"\b(this_)?multi_grid(_group)?\b"),
    ("floats of 8 bits and fewer", r"\bcuda_fp[864]\.h\b|\b__nv_fp[864]\w*"),
    ("CUB and Thrust", r"\b(cub|thrust)/[\w/.]+"),
    ("random numbers", r"\bcurand\w*(\.h\b)?"),
    ("textures and surfaces", r"\bcuda(Texture|Surface)Object_t\b|\b(tex|surf)[123]D\w*"),
    ("graphs and launches from code", r"\bcudaGraph\w*|\bcudaLaunch\w*|<<<"),
    ("__isConstant()", r"\b__isConstant\b"),
    ("this part of CUDA's C++ library", r"\bcuda/[\w/]+|\bnv/target\b"),
)
"""What the emulator lacks, in words, and how it looks in a source."""

_NOISE = re.compile(
    r"(In file included from|\s+from) (<command-line>|<built-in>|cuda_shim\.h|emulator_prelude\.h)"
    r"|cc1plus: some warnings being treated as errors"
)
_NO_RETURN = re.compile(
    r"(control reaches end of non-void function|no return statement in function returning non-void"
    r"|non-void (?:function|lambda) does not return a value(?: in all control paths)?) \[-Werror[^\]]*\]"
)
"""What compilers say of a function that ends without the value that it owes."""
NO_RETURN = "a function that gives back a value ends here without `return`"
_VARIABLE_LENGTH = re.compile(r"(?<=error: ).*variable[ -]length array.* \[-W[^\]]*\]")
VARIABLE_LENGTH = "an array's length has to be a constant"
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
_INCLUDE = re.compile(r"\s*#\s*include\b")
_ERROR = re.compile(r"([^\s:][^:]*):(\d+):(\d+): (?:fatal )?error: (.*)")
_BEGINS = re.compile(r"\S[^:]*:(?:\d+:\d+:)? (?:fatal )?(error|warning|In|At)\b")
_UNDEFINED = re.compile(r"(?:.*[:/])?([^\s:/][^:/]*):(\d+): undefined reference to [`'](.*)'")
_MISSING = re.compile(
    r"'(~?\w+)' was not declared|undeclared identifier '(\w+)'|no arguments to '(\w+)'|\b(~?\w+)\("
)
"""How compilers and linkers name a function that is not there."""
_UP_AGAIN = re.compile(r"\b(?!\.\.)[\w.]+/\.\./")
_AT = r"([^\s:][^:]*:\d+:\d+): +"
_REQUIRED = re.compile(_AT + "required from here")
_REQUESTED = re.compile(_AT + "note: in instantiation of .* requested here")
_ASSERTION = re.compile(
    r"static[ _]assert(?:ion)? failed(?: due to requirement '.*?')?:? \"?(.*?)\"?$"
)


def readable(message: str, folder: Path, shim_folder: Path) -> str:
    """The compiler's `message` without the paths of build folders and of the shim.

    Where a header of the emulator refuses something, that is said at the reader's line.
    """
    for path in (folder, shim_folder, headers_folder()):
        message = message.replace(f"{path}/", "")
    message = _UP_AGAIN.sub("", message)
    message = _NO_RETURN.sub(NO_RETURN, message)
    message = _VARIABLE_LENGTH.sub(VARIABLE_LENGTH, message)
    lines = [line for line in _without_warnings(message) if not _NOISE.match(line)]
    of_lengths = [line for line in lines if line.endswith(VARIABLE_LENGTH)]
    lines = of_lengths or _refusals(lines, shim_folder) or lines
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "..."]
    return "\n".join(lines) or "The compiler failed without a message."


def _without_warnings(message: str) -> Iterator[str]:
    """The lines that are about errors: a warning goes on until the next message begins."""
    is_kept = True
    for line in message.splitlines():
        begins = _BEGINS.match(line)
        if begins:
            is_kept = begins[1] != "warning"
        if is_kept:
            yield line


def _refusals(lines: list[str], shim_folder: Path) -> list[str]:
    """All errors, a line each and by line, if a header of the emulator refuses something; else none.

    g++ tells the line that asked for it before the error, clang++ behind it.
    """
    errors: list[tuple[int, str]] = []
    refused = False
    for i, line in enumerate(lines):
        error = _ERROR.match(line)
        if error is None:
            continue
        if not (shim_folder / error[1]).is_file():
            errors.append((int(error[2]), line))
            continue
        assertion, asked = _ASSERTION.match(error[4]), _asking(lines, i, shim_folder)
        if assertion and asked:
            errors.append((int(asked.split(":")[1]), f"{asked}: error: {assertion[1]}"))
            refused = True
    return [line for _, line in sorted(dict.fromkeys(errors))] if refused else []


def _asking(lines: list[str], at: int, shim_folder: Path) -> str | None:
    """File, line and column of the reader's that led to the error in line `at`."""

    def readers(around: list[str], pattern: re.Pattern[str]) -> str | None:
        for line in around:
            if _ERROR.match(line):
                return None
            found = pattern.match(line)
            if found and not (shim_folder / found[1].partition(":")[0]).is_file():
                return found[1]
        return None

    return readers(lines[:at][::-1], _REQUIRED) or readers(lines[at + 1 :], _REQUESTED)


def name_lacking(source: Source, complaint: str) -> str | None:
    """A sentence, if what the compiler complains about is something that the emulator lacks.

    It has to complain about those very words. Of what fails in the assembler no line is told: there
    any inline PTX of the source is it.
    """
    texts = _code_of(source)
    told = list(_complaints(complaint))
    if not told or "<inline asm>" in complaint:  # clang++ assembles while it compiles
        words, pattern = LACKING[0]
        for file, lines in texts.items():
            for number, line in enumerate(lines, 1):
                if re.search(pattern, line):
                    return _sentence(file, number, words)
        return None
    for file, number, what in told:
        if (
            "constraint" in what
        ):  # of an operand, such as "=f", which is a register of another kind there
            return _sentence(file, number, LACKING[0][0])
        line = "".join(texts.get(file, [])[number - 1 : number])
        for words, pattern in LACKING:
            if any(_names(what, found[0]) for found in re.finditer(pattern, line)):
                return _sentence(file, number, words)
    return None


def name_inline(source: Source, file: str, number: int) -> str:
    """A sentence about an asm statement there, or where the source has its first if no line is known."""
    found = None if number else name_lacking(source, "")
    return found or _sentence(file, number, LACKING[0][0])


def name_host_call(source: Source, complaint: str) -> str | None:
    """A sentence, if the compiler misses a function of the host, which was left out of what it was given."""
    texts = {source.file_name: source.text, **source.headers}
    left_out = {
        function.name: f"{file}:{function.line}"
        for file, text in texts.items()
        for function in find_host_functions(text, source.annotations)
    }
    for file, number, what in _complaints(complaint):
        missing = _MISSING.search(what)
        name = missing[missing.lastindex or 0] if missing else ""
        if file in texts and name in left_out:
            return (
                f"{file}:{number} calls {name}(), which {left_out[name]} defines for the host alone; "
                "put __device__ in front of it."
            )
    return None


def _complaints(said: str) -> Iterator[tuple[str, int, str]]:
    """File, line and words of each error of the compiler, or of the linker, which tells no column."""
    for line in said.splitlines():
        error = _ERROR.match(line) or _UNDEFINED.match(line)
        if error:
            yield error[1], int(error[2]), error[error.lastindex or 0]


def _code_of(source: Source) -> dict[str, list[str]]:
    """Lines of code, without comments and what stands in strings, by file."""
    texts = {source.file_name: source.device_text, **source.device_headers}
    lines = {file: blank_comments(text).splitlines() for file, text in texts.items()}
    return {
        file: [line if _INCLUDE.match(line) else _STRING.sub('""', line) for line in those]
        for file, those in lines.items()
    }


def _names(complaint: str, words: str) -> bool:
    if words == "<<<":  # two of which the compiler takes for a shift
        return "'<' token" in complaint or "expected expression" in complaint
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", complaint) is not None


def _sentence(file: str, number: int, words: str) -> str:
    return (
        f"{file}:{number} uses {words}, which the emulator does not have; run this kernel on a GPU."
    )
