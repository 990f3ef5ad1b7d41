"""What a caller wants launched: any kernel of a source, on threads, with arguments. The same for both places."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.engine import grids
from softmax_lib.engine.arrays import check_array, is_array
from softmax_lib.engine.errors import BadInput, UnknownKernel, WrongType
from softmax_lib.engine.geometry import Geometry
from softmax_lib.engine.signature import Signature
from softmax_lib.engine.source import WARP, Program, Source
from softmax_lib.engine.whole_numbers import whole


@dataclass(frozen=True)
class Unkept:
    """An argument in an array's place: so many bytes that a kernel may write and nobody reads, which take no memory.

    Compiled code alone takes it.
    """

    nbytes: int


@dataclass(frozen=True)
class LaunchSpec:
    """One launch of `kernel`, a name expression such as "softmax<float, 256>", of `source`.

    `symbols` are arrays by the name of the `__constant__` or `__device__` variable that they fill,
    `defines` the macros that are defined for the source. `entries` are kernels of it that are compiled
    together, where it is not `kernel` alone; then `check` may raise for what the kernel takes. `names` are what
    the arguments are called, where not as the source does; by them, `inputs` are arrays that are only to be read,
    and those among `unwritten` hold nothing yet. A kernel with an `extern __shared__` array that is launched with
    no bytes for it is refused where `has_no_shared`.
    """

    source: Source
    kernel: str
    grid: grids.Axes
    block: grids.Axes
    arguments: tuple[Any, ...]
    shared_bytes: int = 0
    cooperative: bool = False
    cluster: grids.Axes = (1, 1, 1)
    symbols: Mapping[str, Any] = field(default_factory=dict)
    defines: tuple[tuple[str, int], ...] = ()
    entries: tuple[str, ...] = ()
    warp_size: int = WARP
    names: tuple[str, ...] = ()
    inputs: frozenset[str] = frozenset()
    unwritten: frozenset[str] = frozenset()
    has_no_shared: bool = False
    check: Callable[[Signature], None] | None = None

    def __post_init__(self) -> None:
        grids.check_threads(prod(self.block))
        if self.warp_size not in (1, 2, 4, 8, 16, 32):
            raise BadInput(f"A warp has 1, 2, 4, 8, 16 or 32 lanes here, not {self.warp_size}.")

    @classmethod
    def of(
        cls,
        source: str | Path | Source,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        *,
        shared_bytes: int = 0,
        kernel: str | None = None,
        cooperative: bool = False,
        cluster: int | Sequence[int] | None = None,
        symbols: Mapping[str, Any] | None = None,
        defines: Mapping[str, int] | None = None,
    ) -> LaunchSpec:
        """A launch that a GPU could take, as far as that can be told without compiling.

        Raises `WrongType`, `BadInput` or `UnknownKernel`.
        """
        read = read_source(source)
        if kernel is not None and not isinstance(kernel, str):
            raise WrongType(f"kernel is a {type(kernel).__name__}; it is given by its name.")
        if not isinstance(cooperative, (bool, np.bool_)):
            raise WrongType(f"cooperative is a {type(cooperative).__name__}; it is True or False.")
        for what, given in {"symbols": symbols, "defines": defines}.items():
            if not isinstance(given, Mapping | None):
                raise WrongType(
                    f"{what} is a {type(given).__name__}; it takes values by their names."
                )
        name = choose_kernel(read, kernel)
        declared = read.kernel(name)
        on_grid, on_block = grids.axes_of(grid, "grid"), grids.axes_of(block, "block")
        grids.check_grid(on_grid)
        grids.check_block(on_block)
        if declared:
            declared.check_threads(prod(on_block))
        clusters = cluster if cluster is not None else (declared and declared.cluster) or 1
        of_blocks = grids.axes_of(clusters, "cluster")
        grids.check_cluster(of_blocks, on_grid)
        grids.check_shared_bytes(shared_bytes)
        if isinstance(args, (str, bytes, Mapping)) or not isinstance(args, Sequence):
            raise WrongType(
                f"args is a {type(args).__name__}; it takes a list of the kernel's arguments."
            )
        for i, given in enumerate(args, 1):
            for array in filter(is_array, _each(given)):
                check_array(f"Argument {i} of {name}", array)
        filled = _check_symbols(read, dict(symbols or {}))
        macros = _check_defines(read, dict(defines or {}))
        return cls(
            read, name, on_grid, on_block, tuple(args), int(shared_bytes), bool(cooperative), of_blocks, filled, macros
        )  # fmt: skip

    @property
    def program(self) -> Program:
        """What to compile."""
        return Program(self.source, self.defines, "" if self.entries else self.kernel)

    @property
    def geometry(self) -> Geometry:
        """On which threads."""
        return Geometry(
            self.grid, self.block, self.warp_size, self.cluster, self.cooperative, shared_bytes=self.shared_bytes
        )  # fmt: skip

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All arrays that it takes: arguments, those in lists of arrays, symbols."""
        given = (one for argument in self.arguments for one in _each(argument))
        return tuple(filter(is_array, (*given, *self.symbols.values())))

    @property
    def written(self) -> tuple[Any, ...]:
        """Those of them that a kernel may have written: all but inputs, where these are known."""
        named = zip(self.names, self.arguments, strict=False)
        inputs = {id(argument) for name, argument in named if name in self.inputs}
        return tuple(array for array in self.arrays if id(array) not in inputs)


def read_source(given: str | Path | Source) -> Source:
    """CUDA text, the path of a .cu file, or a source as it is. Raises `WrongType` or `BadInput`."""
    if isinstance(given, Source):
        return given
    if isinstance(given, str) and ("{" in given or "\n" in given):
        return Source("kernel.cu", given)
    if isinstance(given, (str, Path)):
        return Source.read(given)
    raise WrongType(
        f"A source is CUDA text or the path of a .cu file, not a {type(given).__name__}."
    )


def choose_kernel(source: Source, kernel: str | None) -> str:
    """The one kernel of `source`, or the one that is asked for. Raises `UnknownKernel` or `BadInput`."""
    names = [declared.name for declared in source.kernels]
    if kernel is not None:
        stem = kernel.partition("<")[0].strip().removeprefix("::").rpartition("::")[2]
        if not re.search(rf"\b{re.escape(stem)}\b", source.code):
            there = f"it has {', '.join(names)}" if names else "it has none"
            raise UnknownKernel(f"There is no kernel {kernel!r} in {source.file_name}; {there}.")
        return kernel
    if not names:
        raise UnknownKernel(f"{source.file_name} has no `__global__` kernel.")
    if len(names) > 1:
        raise BadInput(
            f"{source.file_name} has {len(names)} kernels; say which `kernel`: {', '.join(names)}."
        )
    if source.kernels[0].is_template:
        raise BadInput(
            f'{names[0]} is a template; say which `kernel`, such as "{names[0]}<float>".'
        )
    return names[0]


def _each(argument: Any) -> Sequence[Any]:
    """What stands in an argument that is a list of arrays; itself alone for any other."""
    return argument if isinstance(argument, (list, tuple)) else (argument,)


def _check_defines(source: Source, defines: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    for name, value in defines.items():
        whole(f"The macro {name}", value)
        if not (isinstance(name, str) and name.isidentifier() and source.mentions(name)):
            raise BadInput(f"{source.file_name} does not name a macro {name}.")
    return tuple((name, int(value)) for name, value in defines.items())


def _check_symbols(source: Source, symbols: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, array in symbols.items():
        if name not in source.variables:
            there = ", ".join(source.variables) or "none"
            raise BadInput(
                f"{source.file_name} has no __device__ or __constant__ variable {name}; it has {there}."
            )
        if not is_array(array):
            raise WrongType(f"The symbol {name} is a {type(array).__name__}; it takes an array.")
        check_array(f"The symbol {name}", array)
    return symbols


# ---- how long a launch may go on while none of its threads comes to its end

WATCHDOG_VARIABLE = "SOFTMAX_LIB_WATCHDOG_S"
WATCHDOG_S = 10.0
"""Seconds without any CUDA thread finishing after which a launch counts as hanging."""


def watchdog_s() -> float:
    """Seconds until a launch counts as hanging: $SOFTMAX_LIB_WATCHDOG_S or 10. Raises `BadInput`."""
    given = os.environ.get(WATCHDOG_VARIABLE)
    if given is None:
        return WATCHDOG_S
    with contextlib.suppress(ValueError):
        if 0 < (seconds := float(given)) < math.inf:
            return seconds
    raise BadInput(f"{WATCHDOG_VARIABLE} is {given!r}; it takes a number of seconds above 0.")


LONGEST_S, LOOKED_AT_S, MANY_THREADS = 600.0, 10.0, 1 << 30
"""Seconds that a launch of very many threads may take by its pace after so many, and how many are very many."""

heard: ContextVar[Callable[[int, int], None] | None] = ContextVar("heard", default=None)
"""Hears of each launch how many threads of how many have come to their end."""


in_order: ContextVar[bool] = ContextVar("in_order", default=False)
"""Whether blocks run one after the other, so that what depends on luck is the same each time."""


def look_at_pace(done: int, total: int, seconds: float) -> None:
    """Tell who hears; raises `BadInput` where so many threads would take all too long."""
    if hear := heard.get():
        hear(done, total)
    if total > MANY_THREADS and seconds > LOOKED_AT_S and done * LONGEST_S < total * seconds:
        raise BadInput(
            f"The launch has {total} threads, too many to be run here: {done} came to their end in {seconds:.0f} s, "
            f"and all would take {total * seconds / max(done, 1) / 60:.0f} minutes; a smaller grid shows the same."
        )
