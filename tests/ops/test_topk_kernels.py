"""The kernels of `softmax_topk` on the emulator: what they find, what they leave alone, and hazards."""

from itertools import product

import numpy as np
import pytest
import torch
from full_tables import each_value
from ops.rows import DTYPES, KINDS, assert_found, name_of, rows_of

from softmax_lib.ops.outlines import FOLDER
from softmax_lib.ops.topk_designs import (
    SHORT_THREADS,
    TopkDesign,
    TopkTask,
    short_build,
    topk_design,
)
from softmax_lib.worklog.xray import xray_launch

DESIGNS = (TopkDesign(4, 1, 1), TopkDesign(4, 4, 1), TopkDesign(2, 2, 3))
PAIR = np.dtype("f4, u4, f8")


def search(x, k, design, offset=0):
    """What a kernel finds in rows that begin `offset` numbers behind memory; `None` stands for short rows."""
    rows, cols = x.shape
    stride = cols + offset
    task = TopkTask(rows, cols, name_of(x.dtype), k, bool(offset) or x.nbytes // rows % 16 > 0)
    memory = torch.full((rows, stride), torch.nan, dtype=x.dtype)
    memory[:, offset:] = x
    values = torch.full((rows + 1, k), torch.nan, dtype=x.dtype)
    indices = torch.full((rows + 1, k), -1)
    given = [memory.view(-1)[offset:], values, indices, rows, cols, stride, k]
    if design is None:
        build, blocks, threads = short_build(task), -(-rows // (SHORT_THREADS // 32)), SHORT_THREADS
    else:
        build, blocks, threads = design.build(task), design.blocks(rows), design.threads
        teams, arrived = rows * design.teams, np.zeros(rows, np.uint32)
        pairs = np.zeros(teams * design.warps, PAIR)
        key = np.uint32 if task.order == "Narrow" else np.uint64
        given += [design.teams, pairs, np.zeros(teams * task.keys_a_list, key), arrived]
    wholes = np.zeros(rows, PAIR)
    given.append(wholes)
    found = xray_launch(
        FOLDER / f"{build.stem}.cu", blocks, threads, given, kernel=build.expression, path="written"
    )
    assert not found.hazards
    assert design is None or not arrived.any()
    np.testing.assert_array_equal(wholes["f0"], x.float().amax(-1))
    assert torch.isnan(values[rows:]).all()
    assert (indices[rows:] == -1).all()
    return values[:rows], indices[:rows]


SOUGHT = [(1, 1, 0), (130, 7, 1), (2600, 30, 0), (1300, 64, 3), (701, 128, 1)]


@pytest.mark.parametrize(
    ("design", "dtype", "of"), each_value(product(DESIGNS, DTYPES, SOUGHT)), ids=str
)
def test_a_design_finds_the_first_and_has_no_hazard(design, dtype, of):
    cols, k, offset = of
    x = rows_of("noise", (3, cols), dtype)
    assert_found(x, k, *search(x, k, design, offset))


@pytest.mark.parametrize(
    ("kind", "design", "dtype"),
    each_value(product(KINDS, [*DESIGNS, None], [torch.float32, torch.bfloat16])),
    ids=str,
)
def test_no_kind_of_row_misleads_it(kind, design, dtype):
    cols = 2105 if design else 128
    for k in (5, 30):
        x = rows_of(kind, (2, cols), dtype)
        assert_found(x, k, *search(x, k, design))


@pytest.mark.parametrize(
    ("dtype", "offset", "k"), each_value(product(DTYPES, [0, 3], [1, 8, 9, 32])), ids=str
)
def test_short_rows_are_held_by_a_warp(dtype, offset, k):
    for cols in (k, 40, 512 // dtype.itemsize):
        x = rows_of("few different", (5, max(k, cols)), dtype)
        assert_found(x, k, *search(x, k, None, offset))


# ---- how rows are shared out


def test_many_rows_take_a_warp_each_and_few_the_whole_gpu():
    found = {
        rows: topk_design(TopkTask(rows, 100_000, "float32", 5, False), 132)
        for rows in (4000, 1000, 500, 10)
    }
    assert {rows: (one.warps, one.teams) for rows, one in found.items()} == {
        4000: (1, 1), 1000: (4, 1), 500: (8, 1), 10: (8, 25),
    }  # fmt: skip


def test_no_warp_has_less_than_a_turn():
    for cols in (300, 1000, 10_000, 3_000_000):
        for k in (1, 30, 128):
            found = topk_design(TopkTask(1, cols, "float32", k, False), 132)
            assert (found.warps * found.teams - 8) * 512 < cols
