"""The fast kernels on the emulator, but for those of clusters, whose PTX it has no words for: values and hazards."""

import struct
from dataclasses import replace
from itertools import product

import pytest
import torch
from full_tables import each_value
from ops.rows import DTYPES, name_of

from softmax_lib.ops.designs import Design, Strided, Task, Tile
from softmax_lib.ops.outlines import FOLDER, Scaling
from softmax_lib.ops.scores import mask_steps
from softmax_lib.ops.slots import SETS
from softmax_lib.ops.tables import TILED_ROWS, tile_design
from softmax_lib.worklog.xray import xray_launch

ROUNDING = {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""Of a result: relative to the largest, for a probability and for a gradient of order 1."""

DESIGNS = (
    Design("warp", 8, 64),
    Design("warp", 16, 64),
    Design("warp", 32, 64),
    Design("block", 1, 64, stores="L2"),
    Design("block", 1, 64, registers=1, shared=4, stores="STREAMING"),
    Design("block", 1, 64, streamed=True),
    Design("grid", 3, 64, registers=2, shared=2),
    Design("grid", 2, 64, streamed=True),
)


def rows_like(shape, dtype, offset=0):
    """Noise, and behind it NaN; `offset` numbers from where memory begins."""
    count = torch.Size(shape).numel()
    numbers = torch.full((count + offset + 9,), torch.nan, dtype=dtype)
    rows = numbers[offset : offset + count].view(shape)
    rows.copy_(torch.randn(shape, generator=torch.Generator().manual_seed(7)) * 3)
    return rows, numbers


def inputs_like(shape, dtype, backward, log=False, offset=0):
    """First and second of a launch: noise, or a result and its gradient."""
    first, _ = rows_like(shape, dtype, offset)
    if not backward:
        return first, None
    first.copy_(expected(first, None, log))
    return first, rows_like(shape, dtype, offset)[0].flip(0).contiguous()


def result_like(shape, dtype, offset=0):
    """NaN, and the memory around it."""
    result, around = rows_like(shape, dtype, offset)
    return result.fill_(torch.nan), around


def expected(first, grad, log):
    if grad is None:
        return torch.log_softmax(first.double(), -1) if log else torch.softmax(first.double(), -1)
    y, g = first.double(), grad.double()
    return g - y.exp() * g.sum(-1, keepdim=True) if log else y * (g - (y * g).sum(-1, keepdim=True))


def launch(design, task, first, second, result, scaling=None):
    if isinstance(design, Tile):
        return xray_launch(
            FOLDER / "tile.cu", design.blocks(task.rows), design.threads, [first, second, result, *first.shape],
            kernel=design.expression(task), shared_bytes=design.shared_bytes(task), path="written",
        )  # fmt: skip
    rows, cols = first.shape
    arguments = [first, second, result, rows, cols, cols, cols if task.backward else 0, cols]
    blocks = design.blocks(rows)
    if design.regime == "grid":
        blocks = design.blocks(2)  # two rows at once; each team takes several
        arguments.append(torch.zeros(SETS * blocks, 2, dtype=torch.int64).numpy().view("uint64"))
    if scaling:
        arguments.append(struct.pack("<7Q", *scaling.words))
    return xray_launch(
        FOLDER / f"{design.regime}.cu", blocks, design.threads, arguments, kernel=design.expression(task),
        shared_bytes=design.shared_bytes, cooperative=design.regime == "grid", path="written",
    )  # fmt: skip


def fitting(design, task):
    fits = design.fit(task)
    return fits or pytest.skip("these rows do not fit")


def tile_of(task):
    return tile_design(replace(task, rows=TILED_ROWS))


def assert_untouched(around, offset, count):
    assert torch.isnan(around[:offset]).all()
    assert torch.isnan(around[offset + count :]).all()


def assert_no_hazard(found, halves):
    """But for races where a word's `halves` are those of two threads, in which hazards see one word."""
    assert not [one for one in found.hazards if not (halves and one.kind == "race")]


def assert_right(design, task, dtype, offset=0, least=0.0):
    """A launch on rows `offset` numbers from where memory begins: its values, what lies around them, and no hazard."""
    shape = (task.rows, task.cols)
    first, grad = inputs_like(shape, dtype, task.backward, task.log, offset)
    result, around = result_like(shape, dtype, offset)
    found = launch(design, task, first, grad, result)
    apart = isinstance(design, Tile) or (design.regime == "grid" and offset % 2)
    assert_no_hazard(found, apart and dtype.itemsize == 2)
    wanted = expected(first, grad, task.log)
    worst = (result.double() - wanted).abs().max() / wanted.abs().max().clamp(min=least)
    assert worst <= ROUNDING[dtype]
    assert_untouched(around, offset, result.numel())


ROWS_LIKE = [(96, 0, False), (203, 1, True), (5, 3, False)]


@pytest.mark.parametrize(
    ("design", "backward", "dtype", "of"),
    each_value(product(DESIGNS, [False, True], DTYPES, ROWS_LIKE)),
    ids=str,
)
def test_a_design_is_right_and_has_no_hazard(design, backward, dtype, of):
    cols, offset, log = of
    task = Task(5, cols, name_of(dtype), name_of(dtype), backward, log, bool(offset))
    assert_right(fitting(design, task), task, dtype, offset)


IN_TILES = [(3, 1, False), (200, 3, True), (131, 10, False), (70, 33, True), (9, 127, False)]


@pytest.mark.parametrize(
    ("of", "dtype", "backward"), each_value(product(IN_TILES, DTYPES, [False, True])), ids=str
)
def test_short_rows_lie_in_tiles(of, dtype, backward):
    rows, cols, log = of
    task = Task(rows, cols, name_of(dtype), name_of(dtype), backward, log, edges=True)
    assert_right(tile_of(task), task, dtype, least=1e-3)


BLOCK, STREAMED = Design("block", 1, 64), Design("grid", 2, 64, streamed=True)


@pytest.mark.parametrize(
    ("design", "of", "to", "backward"),
    [
        (BLOCK, torch.bfloat16, torch.float32, False),
        (BLOCK, torch.float32, torch.bfloat16, True),
        (BLOCK, torch.bfloat16, torch.float32, True),  # what scores and their mask share
        (STREAMED, torch.bfloat16, torch.float32, True),
        (None, torch.float16, torch.float32, False),  # a tile
        (None, torch.float32, torch.float16, True),
    ],
    ids=str,
)
def test_sixteen_bits_become_float32_on_the_way_and_the_other_way_round(design, of, to, backward):
    shape = (3, 203) if design else (50, 7)
    task = Task(*shape, name_of(of), name_of(to), backward, edges=True)
    first, grad = inputs_like(shape, of, backward)
    result, _ = result_like(shape, to)
    launch(design.fit(task) if design else tile_of(task), task, first, grad, result)
    rough = {"rtol": 1e-5, "atol": 1e-7} if to is torch.float32 else {"rtol": 1e-2, "atol": 1e-3}
    torch.testing.assert_close(result.double(), expected(first, grad, False), **rough)


SCORES_LIKE = [
    (96, 0, False, True, 0), (96, 0, True, False, 3), (203, 1, False, True, 3), (203, 3, True, True, 0),
    (5, 3, False, False, 0), (5, 1, False, True, 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("design", "dtype", "of"),
    each_value(product([one for one in DESIGNS if not one.streamed], DTYPES, SCORES_LIKE)),
    ids=str,
)
def test_scores_are_scaled_masked_and_seen_in_part(design, dtype, of):
    cols, offset, log, masked, queries = of
    task = Task(6, cols, name_of(dtype), name_of(dtype), log=log, edges=bool(offset))
    task = replace(task, scores=True, masked=masked)
    design = fitting(design, task)
    x, _ = rows_like((6, cols), dtype, offset)
    wanted, mask, steps = x.double() * 0.5, None, ()
    if masked:  # of 2 x 3 rows the first three and the others have one each, another step apart
        mask, _ = rows_like((2, 1, cols), dtype, 2 * offset)
        mask[0, 0, 1::2] = -torch.inf
        steps = mask_steps(mask, torch.Size((2, 3, cols)))
        wanted = (wanted.view(2, 3, cols) + mask.double()).view(6, cols)
    if queries:
        row, col = torch.arange(6)[:, None], torch.arange(cols)
        x[col > row % queries] = torch.nan  # which nobody is to look at
        wanted[col > row % queries] = -torch.inf
    result, around = result_like((6, cols), dtype, offset)
    found = launch(design, task, x, mask, result, Scaling(0.5, queries, steps))
    assert_no_hazard(found, design.regime == "grid" and offset % 2 and dtype.itemsize == 2)
    rough = ROUNDING[dtype]
    torch.testing.assert_close(result.double(), expected(wanted, None, log), rtol=rough, atol=rough)
    assert_untouched(around, offset, result.numel())


@pytest.mark.parametrize("design", [DESIGNS[1], DESIGNS[4], *DESIGNS[-3:]], ids=str)
def test_a_gradient_is_scaled_on_its_way(design):
    task = Task(3, 203, "float32", "float32", backward=True, edges=True, scores=True)
    y, grad = inputs_like((3, 203), torch.float32, True, offset=1)
    result, _ = result_like((3, 203), torch.float32)
    launch(design.fit(task), task, y, grad, result, Scaling(0.25))
    wanted = 0.25 * expected(y, grad, False)
    torch.testing.assert_close(result.double(), wanted, rtol=1e-5, atol=1e-7)


SPECIAL = {
    "nothing but -inf": [-torch.inf] * 200,
    "a half of -inf": [-torch.inf] * 100 + [1.0] * 100,
    "one NaN": [1.0] * 150 + [torch.nan] + [1.0] * 49,
    "an inf": [1.0] * 10 + [torch.inf] + [1.0] * 189,
    "the largest beside the smallest": [3e38, -3e38] * 100,
    "far below zero": [-1e30] * 200,
}


@pytest.mark.parametrize(
    ("design", "log"), each_value(product([*DESIGNS, None], [False, True])), ids=str
)
def test_infinities_and_nans_are_torchs(design, log):
    x = torch.tensor([row if design else row[73:] for row in SPECIAL.values()])
    task = Task(*x.shape, "float32", "float32", log=log, edges=not design)
    result = torch.empty_like(x)
    launch(fitting(design, task) if design else tile_of(task), task, x, None, result)
    function = torch.log_softmax if log else torch.softmax
    torch.testing.assert_close(result, function(x, -1), equal_nan=True)


STRIDED = [
    (37, Strided(1, 32, 2, 0)), (5, Strided(1, 8, 8, 8)), (40, Strided(8, 4, 16, 4)), (40, Strided(8, 8, 4, 0)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("of", "dtype", "backward"), each_value(product(STRIDED, DTYPES, [False, True])), ids=str
)
def test_rows_along_another_dimension(of, dtype, backward):
    inner, design = of
    if design.count > 1:
        design = Strided(16 // dtype.itemsize, *list(vars(design).values())[1:])
    shape = (2, 43, inner)
    first, _ = rows_like(shape, dtype)
    turned = lambda x: x.movedim(1, -1)  # noqa: E731
    if backward:
        first.copy_(torch.softmax(first.double(), 1))
    grad = rows_like(shape, dtype)[0].flip(0).contiguous() if backward else None
    result, _ = result_like(shape, dtype)
    task = Task(2 * inner, 43, name_of(dtype), name_of(dtype), backward, edges=design.count == 1)
    found = xray_launch(
        FOLDER / "strided.cu", design.blocks(2, inner), design.threads, [first, grad, result, 43, inner],
        kernel=design.expression(task), path="written",
    )  # fmt: skip
    assert found.hazards == ()
    wanted = expected(turned(first), None if grad is None else turned(grad), False)
    worst = (turned(result).double() - wanted).abs().max() / wanted.abs().max()
    assert worst <= ROUNDING[dtype]
