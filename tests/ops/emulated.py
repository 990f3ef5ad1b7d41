"""The fast kernels on the emulator, but for those of clusters, whose PTX it has no words for."""

import struct
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
import torch
from ops.rows import name_of

from softmax_lib.ops.designs import Design, Strided, Task
from softmax_lib.ops.outlines import FOLDER
from softmax_lib.ops.slots import SETS
from softmax_lib.ops.tables import TILED_ROWS, tile_design
from softmax_lib.worklog.xray import xray_launch

HELD = (
    Design("warp", 8, 64),
    Design("warp", 16, 64),
    Design("warp", 32, 64),
    Design("block", 1, 64, stores="L2"),
    Design("block", 1, 64, registers=1, shared=8, stores="STREAMING"),
    Design("grid", 3, 64, registers=2, shared=2),
)
EXACT = Design("block", 1, 64, streamed=True)
STREAMED = (EXACT, Design("grid", 2, 64, streamed=True))
ALONG = (Strided(1, 32, 2, 0), Strided(1, 8, 8, 16), Strided(8, 4, 16, 8), Strided(8, 8, 4, 0))
"""Where a thread has more than one row, it has as many as 16 bytes hold numbers."""
TILE = "a tile"
COLS = 100
ROWS = 160


def repeated(rows, cols):
    """As many rows, and numbers of each, as tests launch."""
    rows = torch.stack(rows).repeat(-(-ROWS // len(rows)), -(-cols // COLS) + 1)
    return rows[:ROWS, 3 : 3 + cols]


@cache
def rows_of_all_kinds(cols=COLS):
    """Noise of all widths and places, masks of all fills, peaks, equal and special numbers."""
    generator = torch.Generator().manual_seed(5)
    noise = lambda: torch.randn(COLS, generator=generator)  # noqa: E731
    rows = [noise() * width for width in (0.01, 1, 3, 10, 30, 300)]
    # around where sums have another base, and where they're of numbers less their largest
    far = (1e3, 1e5, -1e5, 2**20 - 256, -(2**20), 1e7, -1e30)
    for center in (499.99, 500.01, -499.9, -500.1, *far):
        rows += [noise() * 3 + center, noise() * 50 + center, torch.full((COLS,), float(center))]
    fills = (-torch.inf, -3.4e38, -1e9, -1e7, -600, -90, -60)
    for fill, top in product(fills, (0, 499.9, -501, 1e5)):
        shown = torch.where(noise() > 1, noise() + top, fill if fill < -1e6 else fill + top)
        shown[: COLS // 2] = shown[-1]  # threads that hold nothing but fills
        shown[7] = top
        rows.append(shown)
    for first, last in ((-200, 0), (2e4, -2e4), (-700, -480)):
        rows.append(torch.linspace(first, last, COLS))
    for special in (torch.inf, torch.nan):
        rows.append(noise().index_fill(0, torch.tensor(5), special))
    zeros, extremes = (torch.where(noise() > 0, one, -one) for one in (0.0, 3e38))
    alone = torch.full((COLS,), -torch.inf)
    rows += [zeros, extremes, noise() * 1e-40, alone, alone.index_fill(0, torch.tensor(3), -0.0)]
    return repeated(rows, cols)


@cache
def gradients_of_all_kinds(log, cols=COLS):
    """Results and gradients: magnitudes from below the normal numbers to sums that overflow float32, and cancel."""
    generator = torch.Generator().manual_seed(6)
    noise = lambda: torch.randn(COLS, generator=generator)  # noqa: E731
    y, grads = [], []
    for width, power in product((0.1, 3, 100), (-45, -38, -20, 0, 20, 36, 37.5, 38)):
        few = noise()
        few[3], few[60], few[50] = 3 * 10.0**power, -3 * 10.0**power, 1
        grads += [noise() * 10.0**power, few, torch.full((COLS,), 10.0**power)]
        y += [torch.log_softmax(noise() * width, -1)] * 3
    for special in (0.0, torch.inf, torch.nan):
        grads.append(noise().index_fill(0, torch.tensor(5), special))
        y.append(torch.log_softmax(noise(), -1))
    y = repeated(y, cols)
    return (y if log else y.exp()), repeated(grads, cols)


def aligned(like, offset):
    """Numbers as `like` has them, `offset` of them behind a boundary of 128 bytes."""
    memory = torch.zeros(like.numel() + offset + 64, dtype=like.dtype)
    begin = -memory.data_ptr() % 128 // like.itemsize + offset
    return memory[begin : begin + like.numel()].view(like.shape).copy_(like)


def launch(design, x, grad=None, mask=None, to=None, log=False, scaling=None, offset=0, folder=FOLDER):  # fmt: skip
    """By this design, and without a hazard; rows that do not fit skip a test."""
    (rows, cols), to = x.shape, to or x.dtype
    task = Task(
        rows, cols, name_of(x.dtype), name_of(to), grad is not None, log, bool(offset or cols * x.itemsize % 16),
        scaling is not None, mask is not None,
    )  # fmt: skip
    first, second = x, mask if grad is None else grad
    result, shape, how = torch.full(x.shape, torch.nan, dtype=to), (rows, cols), {}
    if isinstance(design, Strided):
        design = replace(design, count=min(design.count, 16 // x.itemsize))
        outer = 1 if rows % (2 * design.count) else 2
        stem, blocks, shape = "strided", design.blocks(outer, rows // outer), (cols, rows // outer)
        first, second, result = (
            one if one is None else one.view(outer, -1, cols).transpose(1, 2).contiguous()
            for one in (first, second, result)
        )
    elif design is TILE:
        task = replace(task, edges=True)
        design = tile_design(replace(task, rows=TILED_ROWS))
        stem, blocks, how["shared_bytes"] = "tile", design.blocks(rows), design.shared_bytes(task)
    else:
        design = design.fit(task) or pytest.skip("these rows do not fit")
        stem, blocks, how["shared_bytes"] = design.regime, design.blocks(rows), design.shared_bytes
        shape = (rows, cols, cols, cols * task.backward, cols)
    arguments = [*(one if one is None else aligned(one, offset) for one in (first, second, result)), *shape]  # fmt: skip
    if stem == "grid":
        blocks, how["cooperative"] = design.blocks(2), True  # each team takes several rows
        arguments.append(torch.zeros(SETS * blocks, 2, dtype=torch.int64).numpy().view("uint64"))
    if scaling:
        arguments.append(struct.pack("<7Q", *scaling.words))
    found = xray_launch(
        folder / f"{stem}.cu", blocks, design.threads, arguments, kernel=design.expression(task), path="written", **how,
    )  # fmt: skip
    # 16 bits of two blocks, or of a tile's two threads, are halves of one word, in which hazards see a race; and so they do
    # in what blocks of a grid tell one another, unless one has had to wait for it
    halves = stem in ("grid", "tile") and 2 in (x.itemsize, to.itemsize)
    harmless = "race on" if halves else "race on argument9"
    assert [one for one in found.hazards if not one.message.startswith(harmless)] == []
    result = arguments[2]
    return result.transpose(1, 2).reshape(rows, cols) if stem == "strided" else result


def assert_same_bits(found, wanted):
    """NaN is NaN, whatever its bits: those of a CPU are not a GPU's."""
    word = torch.int32 if wanted.itemsize == 4 else torch.int16
    found, wanted = (one.masked_fill(one.isnan(), torch.nan) for one in (found, wanted))
    assert torch.equal(found.contiguous().view(word), wanted.contiguous().view(word))
