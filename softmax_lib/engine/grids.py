"""Grids and blocks: how many of each along up to three axes, and what a GPU allows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from softmax_lib.engine.errors import BadInput, WrongType
from softmax_lib.engine.whole_numbers import whole

Axes = tuple[int, int, int]
"""Along x, y and z."""

MOST_BLOCKS: Axes = (2**31 - 1, 65535, 65535)
MOST_THREADS: Axes = (1024, 1024, 64)
MOST_THREADS_A_BLOCK = 1024
REGISTERS_A_BLOCK = 65536
"""32-bit registers that one block can have, on every arch from sm_75 up."""
MOST_BLOCKS_A_CLUSTER = 16
MOST_STATIC_SHARED_BYTES = 48 * 1024
MOST_SHARED_BYTES = 227 * 1024
"""Of shared memory a block, static and dynamic, on an H100 or H200 (sm_90)."""


def axes_of(given: int | Sequence[int], what: str) -> Axes:
    """`given`, a number or up to three, as three. Raises `WrongType` or `BadInput` about `what`."""
    try:
        numbers = tuple(
            whole(what, one) for one in (given if isinstance(given, Sequence) else (given,))
        )
    except WrongType:
        raise WrongType(
            f"{what} is {given!r}; it takes a whole number or up to three of them."
        ) from None
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise BadInput(f"{what} is {given!r}; it takes one to three numbers, from 1 up.")
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def blocks_of(grid: Any) -> int | None:
    """The number of blocks of a grid of one dimension, None where none is given. Raises `WrongType` or `BadInput`."""
    if grid is None:
        return None
    blocks = axes_of(whole("grid", grid), "grid")
    check_grid(blocks)
    return blocks[0]


def check_grid(grid: Axes) -> None:
    """Raises `BadInput` for a grid that no GPU takes."""
    _check_axes("grid", grid, "blocks", MOST_BLOCKS)


def _check_axes(what: str, given: Axes, things: str, limits: Axes) -> None:
    for axis, number, most in zip("xyz", given, limits, strict=True):
        if number > most:
            raise BadInput(
                f"The {what} has {number} {things} along {axis}; a GPU takes up to {most}."
            )


def check_block(block: Axes) -> None:
    """Raises `BadInput` for a block that no GPU takes."""
    _check_axes("block", block, "threads", MOST_THREADS)
    if prod(block) > MOST_THREADS_A_BLOCK:
        raise BadInput(
            f"The block has {prod(block)} threads ({' x '.join(map(str, block))}); a GPU takes up "
            f"to {MOST_THREADS_A_BLOCK}."
        )


def check_threads(block_size: int) -> None:
    """Raises `BadInput` for a number of threads that no block has."""
    if not 1 <= block_size <= MOST_THREADS_A_BLOCK:
        raise BadInput(f"A block has 1 to {MOST_THREADS_A_BLOCK} threads, not {block_size}.")


def check_cluster(cluster: Axes, grid: Axes) -> None:
    """Raises `BadInput` for clusters that do not divide the grid, or are too large."""
    if prod(cluster) > MOST_BLOCKS_A_CLUSTER:
        raise BadInput(f"A cluster has up to {MOST_BLOCKS_A_CLUSTER} blocks, not {prod(cluster)}.")
    if any(blocks % each for blocks, each in zip(grid, cluster, strict=True)):
        raise BadInput(f"Clusters of {cluster} blocks do not divide a grid of {grid}.")


def check_shared_bytes(shared_bytes: int) -> None:
    """Raises `WrongType` or `BadInput` for an amount of dynamic shared memory that no GPU has."""
    if not 0 <= whole("shared_bytes", shared_bytes) <= MOST_SHARED_BYTES:
        raise BadInput(
            f"shared_bytes is {shared_bytes}; a block has 0 to {MOST_SHARED_BYTES} bytes of dynamic "
            "shared memory (sm_90)."
        )
