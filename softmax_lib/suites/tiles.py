"""Chapter 12's Triton kernels: every number of warps and stages, the length of rows, and what 16 has to do with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from softmax_lib.engine.words import count
from softmax_lib.gpu.presence import arch_of
from softmax_lib.suites import timing
from softmax_lib.suites.cells import (
    SETTINGS_PROTOCOL,
    Matrix,
    Progress,
    call_of,
    require_right,
    row_too_long,
    run_cells,
    time_beside_copies,
)
from softmax_lib.suites.peers import providers
from softmax_lib.suites.peers.providers import tile_setting
from softmax_lib.suites.timing import Call
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.tiles.compiling import compile_tile
from softmax_lib.worklog.tiles.launching import check, launch
from softmax_lib.worklog.tiles.programs import WARP_COUNTS, Setting, settle
from softmax_lib.worklog.tiles.programs import kernels as tile_kernels

SETTINGS_SHAPES = ((128, 96), (4096, 1024), (8192, 4096), (1024, 32768), (2048, 65536))
STAGES = (1, 2, 3, 4)
MOST_VALUES_A_THREAD = 256
"""More elements of a tile for each thread take the compiler many seconds, and spill."""
LENGTHS_ROWS = 4096
LENGTHS = tuple(256 * n for n in (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128))  # fmt: skip
"""Of the tutorial's curve, rows and a choice of its lengths, and on to the longest row that does not spill."""
SIXTEEN_LENGTHS = (976, 992, 1000, 1008, 1016, 1023, 1024, 1025, 1032, 1040)
"""Around a power of two: of each three kinds, divided by 16, by 8 alone, and odd."""
KEYWORD_WARPS = 8


@dataclass(frozen=True)
class Contender:
    """A Triton kernel at one setting; or another softmax, which launches itself."""

    who: str
    setting: Setting | None = None

    @property
    def call(self) -> Call:
        if self.setting is None:
            return call_of(self.who)
        kernel, setting = tile_kernels[self.who], self.setting

        def launch_it(x: Any, y: Any) -> Any:
            launch(kernel, x, y, setting)
            return y

        return launch_it

    @property
    def line(self) -> dict[str, Any]:
        """What a run says of it; others than Triton's kernels have 0 of each."""
        return {"who": self.who, **(vars(self.setting) if self.setting else NO_SETTING)}

    def __str__(self) -> str:
        if self.setting is None:
            return self.who
        one = self.setting
        warps, stages = count(one.num_warps, "warp"), count(one.num_stages, "stage")
        return f"{self.who}, tile {one.tile}, {warps}, {stages}"


NO_SETTING = {"tile": 0, "num_warps": 0, "num_stages": 0}
OTHERS = tuple(map(Contender, ("torch", "softmax()", "fusion")))
"""Who is timed beside them."""


def cells() -> Iterator[Matrix[Contender]]:
    """All that the suite times."""
    for rows, cols in SETTINGS_SHAPES:
        yield Matrix("settings", rows, cols, tuple(_every_setting(cols)))
    for cols in LENGTHS:
        yield Matrix("lengths", LENGTHS_ROWS, cols, tuple(_by_the_rules(cols)))
    for cols in SIXTEEN_LENGTHS:
        yield Matrix("sixteen", LENGTHS_ROWS, cols, tuple(_about_sixteen(cols)))


def _every_setting(cols: int) -> Iterator[Contender]:
    tried = [settle(cols, None, warps, stages) for warps, stages in product(WARP_COUNTS, STAGES)]
    for setting in tried:
        if setting.values_a_thread > MOST_VALUES_A_THREAD:
            continue
        if setting.num_stages == 1:
            yield Contender("simple", setting)
            if setting.tile == cols:
                yield Contender("simple_no_mask", setting)
        yield Contender("persistent", setting)
        if setting.num_warps == KEYWORD_WARPS and setting.num_stages in (1, 4):
            yield Contender("persistent_keyword", setting)


def _by_the_rules(cols: int) -> Iterator[Contender]:
    for setting in dict.fromkeys((settle(cols, num_stages=1), tile_setting(cols))):
        yield Contender("simple", setting)
    for stages in (2, 4):
        yield Contender("persistent", settle(cols, None, 8, stages))


def _about_sixteen(cols: int) -> Iterator[Contender]:
    setting = settle(cols, num_warps=4, num_stages=1)
    yield Contender("simple", setting)
    yield Contender("simple_no_hint", setting)
    if setting.tile == 1024:
        yield Contender("simple", settle(cols, 2048, 4, 1))
    if setting.tile == cols:
        yield Contender("simple_no_mask", setting)


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each matrix `{"part", "rows", "cols", "copy_us", "times": [{"who", "tile", "num_warps",
    "num_stages", "us"}]}`, where others than Triton's kernels have 0 of each; `codes` what the compiler made
    of each setting, and `digests` what was compiled; the rest is as in `cells.run_cells`. Raises
    `NotAvailable` without Triton, and where a kernel is wrong here.
    """
    todo = list(cells())
    require_right(tile_kernels, check)
    timed = run_cells(todo, time_cell, progress)
    digests = {name: kernel.digest for name, kernel in tile_kernels.items()}
    return {"protocol": SETTINGS_PROTOCOL, **timed, "codes": codes(todo), "digests": digests}


def time_cell(cell: Matrix[Contender], skipped: dict[str, str]) -> dict[str, Any]:
    """One matrix: its times; who does not take it is told to `skipped`."""
    x = timing.sample(cell.case)
    sound: dict[str, Contender] = {}
    for one in (*OTHERS, *cell.contenders):
        try:
            if why := row_too_long(one.who, cell.cols):
                raise NotAvailable(why)
            providers.try_once(str(one), one.call, x)
            sound[str(one)] = one
        except NotAvailable as error:
            skipped[f"{one} on {cell.rows}x{cell.cols}"] = str(error)
    del x
    us, copy_us = time_beside_copies(cell.case, {name: one.call for name, one in sound.items()})
    times = [{**sound[name].line, "us": round(us[name], 3)} for name in sound if name in us]
    return cell.row(copy_us, times)


def codes(todo: list[Matrix[Contender]]) -> list[dict[str, Any]]:
    """What Triton's compiler makes of each setting for this GPU; fields as in `TileTime`."""
    told = ("registers", "spill_bytes", "shared_bytes", "programs")
    found = []
    for one, cols in dict.fromkeys((one, cell.cols) for cell in todo for one in cell.contenders):
        made = compile_tile(one.who, cols, **vars(one.setting), arch=arch_of())
        found.append({**one.line, "cols": cols, **{name: getattr(made, name) for name in told}})
    return found
