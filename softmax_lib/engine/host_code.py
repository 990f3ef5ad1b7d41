"""What of a CUDA source only the host runs, and the same text without it: what a GPU or the emulator compiles.

A function belongs to the host when nothing in front of its name says `__device__`, `__global__` or
`constexpr`, be it by a macro: no thread of a kernel can call it. All else stays, each line where it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from softmax_lib.engine.declarations import (
    ATTRIBUTE,
    DIRECTIVE,
    REST,
    blank_opaque,
    closing,
    readable,
)

ANNOTATIONS = frozenset({"__device__", "__global__", "constexpr", "consteval"})

_MACRO = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+(\w+)({REST})", re.MULTILINE)

_MARK = re.compile(r"[;{}([]")
_LABEL = re.compile(r"\s*(?:(?:public|private|protected)\s*:(?!:)\s*)*")
_TEMPLATE = re.compile(r"\btemplate\s*<")
_SCOPE = re.compile(r"\b(namespace|extern\s*\")")
_TYPE = re.compile(r"\b(class|struct|union|enum)\b")
_OPERATOR = re.compile(r"\boperator\s*(?:\(\s*\)|[^\w\s(]+)")
_NAME = re.compile(r"(~?\w+)\s*\(")
_INSTANTIATION = re.compile(r"\s*(?:extern\s+)?template\b\s*[^<\s]")


@dataclass(frozen=True)
class HostFunction:
    """A function of the host at `text[start:end]`. In a class its body alone is left out, from `body` on."""

    name: str
    line: int
    start: int
    body: int
    end: int
    is_member: bool


def without_host_code(text: str, annotations: frozenset[str] = ANNOTATIONS) -> str:
    """`text` with spaces in place of what only the host runs. Preprocessor lines stay."""
    code = readable(text)
    functions = list(_functions(code, 0, len(code), annotations))
    spans = [(f.body, f.end) if f.is_member else (f.start, f.end) for f in functions]
    spans += _instantiations(code, {f.name for f in functions}, annotations)
    kept = [match.span() for match in DIRECTIVE.finditer(blank_opaque(text))] if spans else []
    bodies = {f.body for f in functions if f.is_member}
    for start, end in sorted(spans, reverse=True):
        gap = _spaces(text, start, end, kept)
        text = text[:start] + (";" + gap[1:] if start in bodies else gap) + text[end:]
    return text


def find_host_functions(
    text: str, annotations: frozenset[str] = ANNOTATIONS
) -> tuple[HostFunction, ...]:
    """The functions that `without_host_code` leaves out."""
    code = readable(text)
    return tuple(_functions(code, 0, len(code), annotations))


def find_annotations(texts: Iterable[str]) -> frozenset[str]:
    """`ANNOTATIONS`, and the macros of `texts` that stand for one of them."""
    macros = {name: body for text in texts for name, body in _MACRO.findall(blank_opaque(text))}
    found, known = ANNOTATIONS, 0
    while len(found) > known:
        known = len(found)
        found |= {name for name, body in macros.items() if found & set(re.findall(r"\w+", body))}
    return found


def _spaces(text: str, start: int, end: int, kept: list[tuple[int, int]]) -> str:
    """As many as `text[start:end]` has characters, with its line ends, and the stretches that are kept."""
    gap = re.sub(r"[^\n]", " ", text[start:end])
    for low, high in kept:
        if start <= low and high <= end:
            gap = gap[: low - start] + text[low:high] + gap[high - start :]
    return gap


# ---- what stands in a scope


def _functions(
    code: str, at: int, end: int, annotations: frozenset[str], in_class: bool = False
) -> Iterator[HostFunction]:
    """The host's functions between two places of a namespace or class."""
    start = at
    while mark := _MARK.search(code, at, end):
        at = mark.end()
        if mark[0] in "([":
            at = closing(code, mark.start())
        elif mark[0] in ";}":
            start = at
        else:
            close = closing(code, mark.start())
            kind = _kind(code[start : mark.start()])
            if kind in ("scope", "type"):
                inside = (mark.end(), close - 1)
                yield from _functions(code, *inside, annotations, kind == "type")
                start = close
            elif kind == "function" and not _goes_on(code, start, mark.start(), close):
                words = set(re.findall(r"\w+", code[start : mark.start()]))
                if not words & annotations:
                    yield _host_function(code, start, mark.start(), close, in_class)
                start = close
            at = close


def _kind(head: str) -> str:
    """What the braces behind `head` hold: a scope, a type, a function or a value."""
    head = _without_groups(_OPERATOR.sub("operator", head))
    if "=" in head:
        return "value"
    if "(" in head:
        return "function"
    if _SCOPE.search(head):
        return "scope"
    return "type" if _TYPE.search(head) else "value"


def _without_groups(head: str) -> str:
    """Without attributes and what a template takes, and with nothing between brackets."""
    while found := ATTRIBUTE.search(head):
        head = head[: found.start()] + head[closing(head, found.end() - 1) :]
    at = 0
    while found := re.compile(r"[([]").search(head, at):
        head = head[: found.end()] + head[closing(head, found.start()) - 1 :]
        at = found.end()
    while found := _TEMPLATE.search(head):
        head = head[: found.start()] + head[_angle_end(head, found.end()) :]
    return head


def _angle_end(head: str, start: int) -> int:
    depth = 1
    for at in range(start, len(head)):
        depth += {"<": 1, ">": -1}.get(head[at], 0)
        if depth == 0:
            return at + 1
    return len(head)


def _goes_on(code: str, start: int, opening: int, close: int) -> bool:
    """Whether the braces give a member its first value, `: a{1}, b{2} {`, and the body is still to come."""
    is_list = re.search(r"\)[^()]*:(?!:)", code[start:opening]) is not None
    return is_list and re.match(r"\s*[,{]", code[close:]) is not None


def _host_function(code: str, start: int, opening: int, end: int, is_member: bool) -> HostFunction:
    start = _LABEL.match(code, start).end()  # type: ignore[union-attr]
    head = code[start:opening]
    plain = _without_groups(head)
    named = _NAME.search(_OPERATOR.sub("operator", plain))
    # of `X(int n) : n_(n) {` the list goes with the body
    values = re.search(r"\)\s*(?:noexcept\s*)?(:)(?!:)", head)
    body = start + values.start(1) if is_member and values else opening
    line = code.count("\n", 0, start) + 1
    return HostFunction(named[1] if named else "", line, start, body, end, is_member)


def _instantiations(
    code: str, names: set[str], annotations: frozenset[str]
) -> Iterator[tuple[int, int]]:
    """Statements such as `template void sort<int>(int*);` of functions that are left out."""
    for found in re.finditer(r"(?<=[;}])[^;{}]*;|\A[^;{}]*;", code):
        words = re.findall(r"\w+", found[0])
        if _INSTANTIATION.match(found[0]) and names & set(words) and not annotations & set(words):
            yield found.start() + len(found[0]) - len(found[0].lstrip()), found.end()


# ---- stand-ins for headers of libraries that only the host calls: those calls are left out, types are needed now and then

_EMPTY = (
    "GL/freeglut.h", "GL/glut.h", "cuda_gl_interop.h", "cuda_profiler_api.h", "cufft.h", "curand.h", "cusolverDn.h",
    "cusparse.h", "exception.h", "helper_image.h", "nvToolsExt.h", "nvtx3/nvToolsExt.h", "torch/extension.h",
    "torch/types.h",
)  # fmt: skip

# As the library's own header does, it brings the 16-bit floats along.
_CUBLAS = """\
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef struct cublasContext* cublasHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasComputeType_t { CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32 };
"""
_CUBLAS_LT = '#include "cublas_v2.h"\ntypedef struct cublasLtContext* cublasLtHandle_t;\n'

_TYPES = {
    "cublas.h": '#include "cublas_v2.h"\n',
    "cublas_v2.h": _CUBLAS,
    "cublasLt.h": _CUBLAS_LT,
    "helper_cuda.h": '#include "helper_string.h"\n',
    "helper_functions.h": '#include "helper_string.h"\n#include "helper_timer.h"\n',
    "helper_string.h": "#include <string>\n",
    "helper_timer.h": "struct StopWatchInterface;\n",
}

HOST_HEADERS = dict.fromkeys(_EMPTY, "") | {
    name: f"#pragma once\n{text}" for name, text in _TYPES.items()
}
"""By name what each holds: what variables and parameters of a source need."""
