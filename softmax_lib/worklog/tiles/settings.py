"""How a Triton kernel is launched on rows of a length: its tile, warps and stages, and what they may be."""

from __future__ import annotations

from dataclasses import dataclass

from softmax_lib.engine.grids import REGISTERS_A_BLOCK
from softmax_lib.worklog.errors import BadInput, RowTooLong, WrongType

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
    for name, value in (("tile", tile), ("num_warps", num_warps), ("num_stages", num_stages)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise WrongType(f"{name} is a {type(value).__name__}; it is a whole number.")
    if tile < cols or tile > LONGEST_ROW or tile != next_power_of_two(max(1, tile)):
        raise BadInput(f"The tile is {tile}; it is a power of two from {cols} to {LONGEST_ROW}.")
    if num_warps not in WARP_COUNTS:
        raise BadInput(f"num_warps is {num_warps}; it is a power of two from 1 to 32.")
    if not 1 <= num_stages <= MOST_STAGES:
        raise BadInput(f"num_stages is {num_stages}; it is from 1 to {MOST_STAGES}.")
    return Setting(tile, num_warps, num_stages)
