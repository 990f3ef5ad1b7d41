"""Kernels in Triton as text: those of `kernels/`, controls that change one thing of them, and how each is launched."""

from __future__ import annotations

import ast
import hashlib
import io
import linecache
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from softmax_lib.engine.grids import REGISTERS_A_BLOCK
from softmax_lib.engine.source import Edit, Source
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.worklog.errors import (
    BadInput,
    CompileError,
    NotAvailable,
    RowTooLong,
    UnknownKernel,
)
from softmax_lib.worklog.files import KERNEL_FOLDER

_DROPPED = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING)
ARRAYS, WHOLE = ("x", "y"), ("rows", "cols")
CONSTANTS = ("TILE", "STAGES")
"""What a kernel may take: matrices, their size, and what is a constant to the compiler."""


@dataclass(frozen=True)
class TileKernel:
    """A Triton kernel: its name here, its source, and of a control the kernel that it changes and how."""

    name: str
    source: Source
    of: str = ""
    changes: str = ""

    @cached_property
    def _function(self) -> ast.FunctionDef:
        name, text = self.source.file_name, self.source.text
        if "\0" in text:  # of which Python tells no line
            line = text[: text.index("\0")].count("\n") + 1
            raise CompileError(f"{name}, line {line}: there is a NUL character, which is no text")
        try:
            body = ast.parse(text).body
        except SyntaxError as error:
            raise CompileError(f"{name}, line {error.lineno}: {error.msg}") from None
        functions = [node for node in body if isinstance(node, ast.FunctionDef)]
        jitted = [
            node
            for node in functions
            if any("triton.jit" in ast.unparse(one) for one in node.decorator_list)
        ]
        found = [node for node in jitted if {*ARRAYS} <= {*_takes(node)}] or jitted
        if len(found) != 1:
            raise BadInput(
                f"{self.source.file_name} has {len(found)} functions with @triton.jit, not one."
            )
        return found[0]

    @property
    def entry(self) -> str:
        """Name of the function with @triton.jit, of several that with x and y. Raises `BadInput` or `CompileError`."""
        return self._function.name

    @property
    def first_line(self) -> int:
        """Where its `def` stands in the source. Raises `BadInput` or `CompileError`."""
        return self._function.lineno

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """What it takes, in order: of x, y, rows, cols, TILE, STAGES. Raises `BadInput` for others."""
        names = _takes(self._function)
        if unknown := set(names) - {*ARRAYS, *WHOLE, *CONSTANTS}:
            known = ", ".join((*ARRAYS, *WHOLE, *CONSTANTS))
            raise BadInput(
                f"{self.entry} takes {', '.join(sorted(unknown))}; a kernel here may take {known}."
            )
        return names

    @property
    def loops(self) -> bool:
        """Whether a program goes through several rows."""
        return "rows" in self.parameters

    @cached_property
    def digest(self) -> str:
        """Of the text without its comments: what identifies a kernel that was measured."""
        read = io.StringIO(self.source.text).readline
        words = [t.string for t in tokenize.generate_tokens(read) if t.type not in _DROPPED]
        return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]

    @cached_property
    def function(self) -> Any:
        """What @triton.jit makes of it. Raises `NotAvailable` without Triton, and `CompileError`."""
        return load(self.source)[self.entry]


def _takes(node: ast.FunctionDef) -> tuple[str, ...]:
    return tuple(argument.arg for argument in node.args.args)


@cache
def load(source: Source) -> dict[str, Any]:
    """The names of a source once it has run. Raises `NotAvailable` without Triton, and `CompileError`.

    Triton reads a kernel's text again, and so Python is told where to find it.
    """
    require_triton()
    import triton
    import triton.language as tl

    name = f"<{source.file_name} {hashlib.sha256(source.text.encode()).hexdigest()[:8]}>"
    lines = source.text.splitlines(keepends=True)
    linecache.cache[name] = (len(source.text), None, lines, name)
    names = {"__name__": source.file_name.removesuffix(".py"), "triton": triton, "tl": tl}
    try:
        exec(compile(source.text, name, "exec"), names)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise CompileError(f"{source.file_name}: {what}") from error
    return names


def require_triton() -> None:
    """Raises `NotAvailable` where Triton is not installed."""
    if find_spec("triton") is None:
        raise NotAvailable(
            'Triton is not installed; on Linux, `pip install "softmax-lib[triton]"` brings it.'
        )


def _read(name: str) -> TileKernel:
    return TileKernel(name, Source.read(KERNEL_FOLDER / f"12_{name}.py"))


def _control(name: str, of: TileKernel, changes: str, *edits: Edit) -> TileKernel:
    return TileKernel(name, of.source.edited(f"12_{name}.py", edits), of.name, changes)


_SIMPLE, _PERSISTENT = _read("simple"), _read("persistent")

kernels: Mapping[str, TileKernel] = MappingProxyType({
    kernel.name: kernel for kernel in (
        _SIMPLE,
        _PERSISTENT,
        _control("simple_no_hint", _SIMPLE, "the compiler is not told whether 16 divides cols",
                 Edit("@triton.jit", '@triton.jit(do_not_specialize=["cols"])')),
        _control("simple_no_mask", _SIMPLE, "no mask: for rows of exactly TILE elements",
                 Edit(', mask=inside, other=-float("inf")', ""), Edit(", mask=inside", "")),
        _control("persistent_keyword", _PERSISTENT, "num_stages is a keyword of the launch alone",
                 Edit(", num_stages=STAGES", "")),
    )
})  # fmt: skip
"""By name: the two kernels of chapter 12, and its controls."""

FULL_TILES = ("simple_no_mask",)
"""Of these the right ones only take rows that fill their tile."""


def find(kernel: str | TileKernel) -> TileKernel:
    """A kernel by its name, or one made of a text with one @triton.jit function, which need not import `triton` or `tl`.

    Raises `UnknownKernel`, and `BadInput` for a text without such a function.
    """
    if isinstance(kernel, TileKernel):
        return kernel
    if kernel in kernels:
        return kernels[kernel]
    if "\n" not in kernel:
        there = ", ".join(kernels)
        raise UnknownKernel(f"There is no Triton kernel called {kernel!r}; there are {there}.")
    made = TileKernel("yours", Source("yours.py", kernel))
    made.parameters  # noqa: B018  # raises what is wrong with it
    return made


# ---- how it is launched on rows of a length: tile, warps and stages, and what they may be

LONGEST_ROW = REGISTERS_A_BLOCK
"""A tile of more elements than a multiprocessor has registers fits nowhere."""
WARP_COUNTS = (1, 2, 4, 8, 16, 32)
MOST_STAGES = 8
USUAL_STAGES = 2


@dataclass(frozen=True)
class Setting:
    """A tile's elements, the warps that share it, and stages: rows that a persistent program has under way."""

    tile: int
    num_warps: int
    num_stages: int

    @property
    def values_a_thread(self) -> float:
        """Elements of the tile for each thread."""
        return self.tile / (32 * self.num_warps)


def next_power_of_two(number: int) -> int:
    """The least power of two that is not below a `number` from 1 up."""
    return 1 << (number - 1).bit_length()


def seeds_warps(tile: int) -> int:
    """The rule of chapter 12's source: 4 warps, 8 from tiles of 2048 on, 16 from 4096 on."""
    return 4 if tile < 2048 else 8 if tile < 4096 else 16


def settle(
    cols: int,
    tile: int | None = None,
    num_warps: int | None = None,
    num_stages: int | None = None,
) -> Setting:
    """A setting for rows of `cols`; what is None is chosen: the least tile, `seeds_warps`, 2 stages.

    Raises `RowTooLong`, `WrongType`, and `BadInput` for a tile or warps that are no power of two, or too few
    or many.
    """
    if cols > LONGEST_ROW:
        raise RowTooLong(
            f"A row of {cols} does not fit one tile: a multiprocessor has {LONGEST_ROW} registers for it."
        )
    tile = next_power_of_two(max(1, cols)) if tile is None else tile
    num_warps = seeds_warps(tile) if num_warps is None else num_warps
    num_stages = USUAL_STAGES if num_stages is None else num_stages
    given = {"tile": tile, "num_warps": num_warps, "num_stages": num_stages}
    tile, num_warps, num_stages = (whole(name, value) for name, value in given.items())
    if tile < cols or tile > LONGEST_ROW or tile != next_power_of_two(max(1, tile)):
        raise BadInput(f"The tile is {tile}; it is a power of two from {cols} to {LONGEST_ROW}.")
    if num_warps not in WARP_COUNTS:
        raise BadInput(f"num_warps is {num_warps}; it is a power of two from 1 to 32.")
    if not 1 <= num_stages <= MOST_STAGES:
        raise BadInput(f"num_stages is {num_stages}; it is from 1 to {MOST_STAGES}.")
    return Setting(tile, num_warps, num_stages)
