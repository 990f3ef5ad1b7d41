"""A row's bits depend on the row alone: not on its place, its neighbours, its alignment, or the design that serves it.

On the emulator rows at the edges of rounding are held against sums made exactly; on a GPU designs meet one another.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from full_tables import some
from hypothesis import given
from hypothesis import strategies as st
from ops.emulated import (
    ALONG,
    COLS,
    EXACT,
    HELD,
    STREAMED,
    TILE,
    assert_same_bits,
    launch,
    rows_of_all_kinds,
)
from ops.rows import DTYPES, name_of, noise

from softmax_lib import emulator, log_softmax, softmax
from softmax_lib.engine.source import Source
from softmax_lib.ops import operators
from softmax_lib.ops.designs import Task
from softmax_lib.ops.launches import prepare_design
from softmax_lib.ops.outlines import FOLDER
from softmax_lib.ops.tables import TILED_ROWS, table_of

PROBE = """
#include "settled.cuh"
using Sums = Results<float, float, false>;
extern "C" __global__ void exponentials(const float* x, float* e, float max, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) e[i] = exp_over<false>(x[i], Over(max));
}
// One thread has a row: pairs of its shards, from column cuts[2 * i] to cuts[2 * i + 1], and those merged.
extern "C" __global__ void shards(const float* x, const int* cuts, float* wholes, int count, int cols) {
    const float* row = x + blockIdx.x * cols;
    Pair all = {-INFINITY, 0};
    for (int i = 0; i < count; i++) {
        float max = -INFINITY;
        for (int col = cuts[2 * i]; col < cuts[2 * i + 1]; col++) max = max_or_nan(max, row[col]);
        Sum<false> sum(max);
        for (int col = cuts[2 * i]; col < cuts[2 * i + 1]; col++)
            sum.add(col, exp_over<false>(row[col], sum.over));
        all = joined<true>(all, sum.pair());
    }
    if (!Sums::is_sure(all, cols, 1))
        all = Sums::exactly(all, cols, WarpTeam<1>(), [=](long long col) { return row[col]; });
    Whole whole = Sums::whole(all);
    bool right = whole.a == whole.a;
    wholes[3 * blockIdx.x] = whole.a, wholes[3 * blockIdx.x + 1] = right ? whole.rest : 0;
    wholes[3 * blockIdx.x + 2] = right ? whole.power : 0;
}
"""


def probe(kernel, blocks, threads, *arguments):
    source = Source("probe.cu", PROBE, FOLDER)
    emulator.launch(source, blocks, threads, [*arguments], kernel=kernel)


@cache
def rows_at_an_edge(rows=300):
    """Rows whose sums lie some units of float64 below the edge where they are rounded up: with the last four columns."""
    x = np.random.default_rng(3).normal(size=(rows, COLS)).astype("float32")
    x[:, 0], x[:, -4:] = 4, -80
    small = np.linspace(-36, -10, 1 << 18, dtype="float32")
    numbers = np.concatenate([small, x.ravel()])
    powers = np.empty_like(numbers)
    probe(
        "exponentials", -(-len(numbers) // 256), 256, numbers, powers, np.float32(4), len(numbers)
    )
    of_small = powers[: len(small)].astype("float64")
    for row, of_row in zip(x, powers[len(small) :].reshape(x.shape), strict=True):
        total = sum(int(e * 2.0**62) for e in of_row)
        for col in range(-4, 0):
            unit = 1 << (total.bit_length() - 27)
            at = np.searchsorted(of_small, (-(total + unit // 3) % unit) * 2.0**-62) - 1
            if at >= 0:
                row[col] = small[at]
                total += int(of_small[at] * 2.0**62)
    return torch.from_numpy(x)


@cache
def gradients_at_an_edge(rows=200):
    """Those of a logarithm, which are the products: of half the rows the sum is near an edge, and else that of magnitudes."""
    grads = np.random.default_rng(4).normal(size=(rows, COLS)).astype("float32")
    grads[:, -3:] = 0
    for number, grad in enumerate(grads):
        for col in (-3, -2, -1):
            total, magnitudes = (sum(map(Fraction, of.tolist())) for of in (grad, abs(grad)))
            power = Fraction(2) ** (math.frexp(magnitudes)[1] - 1)
            if number % 2:
                power *= 2 if magnitudes >= power * 5 / 3 else 1
                unit = power / 2**30
                grad[col] = float(-(total / unit - Fraction(1, 6)) % 1 * unit)
            elif magnitudes < power * 5 / 3:
                grad[col] = float(power * 5 / 3 - magnitudes)
    return torch.log_softmax(torch.from_numpy(grads), -1), torch.from_numpy(grads)


@pytest.mark.parametrize("design", some([*HELD, *STREAMED, *ALONG, TILE], 6), ids=str)
def test_a_sum_at_an_edge_is_rounded_alike(design, exact_folder):
    for log, inputs in ((False, (rows_at_an_edge(), None)), (True, gradients_at_an_edge())):
        found = launch(design, *inputs, log=log)
        assert_same_bits(found, launch(EXACT, *inputs, log=log, folder=exact_folder))


def test_sixteen_bits_are_computed_in_a_tile_as_elsewhere():
    x = (torch.randn(400, COLS, generator=torch.Generator().manual_seed(2)) * 3).half()
    assert_same_bits(launch(TILE, x), launch(EXACT, x))


numbers = st.floats(width=32, allow_nan=False) | st.floats(-90, 90, width=32)


@given(
    row=st.lists(numbers, min_size=1, max_size=COLS),
    place=st.integers(0, 4),
    offset=st.integers(0, 3),
    of=st.sampled_from((torch.float32, torch.float16)),
)
def test_neither_place_nor_neighbours_nor_design_change_a_row(row, place, offset, of):
    row = torch.tensor(row).to(of)
    others = torch.full((5, len(row)), 600.0, dtype=of)
    others[place] = row
    wanted = launch(HELD[2], row[None])[0]
    for design in (EXACT, ALONG[1]):
        found = launch(design, others, offset=offset)
        assert_same_bits(found[place], wanted)


@given(
    cuts=st.sampled_from((2, 3, 4, 8)).flatmap(
        lambda count: st.lists(st.integers(0, COLS), min_size=count - 1, max_size=count - 1)
    ),
    order=st.randoms(use_true_random=False),
)
def test_shards_of_any_columns_merge_into_the_same_sum(cuts, order):
    x = torch.cat([rows_of_all_kinds(), rows_at_an_edge()])
    shards = [*pairwise([0, *sorted(cuts), COLS])]
    order.shuffle(shards)
    found, wanted = torch.empty(2, len(x), 3)
    for wholes, of in ((found, shards), (wanted, [(0, COLS)])):
        places = torch.tensor(of, dtype=torch.int32)
        probe("shards", len(x), 1, x, places, wholes, len(of), COLS)
    assert_same_bits(found, wanted)


# ---- on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cols", [33, 96, 1000, 4096, 8192, 50_257, 131_072, 262_144, 1 << 20])
def test_some_rows_alone_or_elsewhere_are_what_they_are_among_all(cols, dtype):
    x = noise(min(300, (1 << 27) // cols), cols, dtype=dtype)
    x[1::7] *= 60
    memory = torch.empty(x.numel() + 8, device="cuda", dtype=dtype)
    backward = operators._backward
    for compute in (
        softmax, log_softmax,
        lambda x: backward(x.abs(), x, -1, False, dtype),
        lambda x: backward(x, x, -1, True, dtype),
        lambda x: softmax(x, scale=0.3, mask=x[0]),
    ):  # fmt: skip
        all_of_them = compute(x)
        for rows in (1, 2, 7, 64, 133):
            assert_same_bits(compute(x[:rows]), all_of_them[:rows])
        for offset in (1, 3):
            moved = memory[offset : offset + x.numel()].view(x.shape).copy_(x)
            assert_same_bits(compute(moved), all_of_them)
        if cols < 100:
            many = compute(x.repeat(-(-TILED_ROWS // len(x)), 1))
            assert_same_bits(many[-len(x) :], all_of_them)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inner", [32, 33])
@pytest.mark.parametrize("cols", [3, 21, 100, 1000, 4096, 9000])
def test_rows_along_another_dimension_have_the_same_bits(cols, inner, dtype):
    x = noise(64, inner, cols, dtype=dtype)
    x[1] *= 60
    x[2] *= 3e5  # float16 has no such numbers
    along = x.transpose(1, 2).contiguous()
    for log, function in enumerate((softmax, log_softmax)):
        assert_same_bits(function(along, 1).transpose(1, 2), function(x))
        found = operators._backward(along, along, 1, log, dtype)
        assert_same_bits(found.transpose(1, 2), operators._backward(x, x, -1, log, dtype))


@pytest.mark.gpu
@pytest.mark.parametrize("short", [False, True])
def test_an_exponential_beside_any_largest_number_differs_by_a_power_of_two(short):
    from softmax_lib.gpu import launch

    probe = PROBE.replace("<false>(x[i]", f"<{str(short).lower()}>(x[i]")
    source, first = Source("probe.cu", probe, FOLDER), None
    numbers = torch.linspace(-170, 80, 1 << 20, device="cuda")
    for largest in (80.0, 80.4, 87.9, 88.1, 95.0):
        powers = torch.empty_like(numbers)
        given = [numbers, powers, np.float32(largest), len(numbers)]
        launch(source, 4096, 256, given, kernel="exponentials")
        significand = powers.frexp()[0].where(powers > 2e-38, 0)
        first = significand if first is None else first
        kept = significand > 0
        assert kept.sum() > len(kept) / 5
        assert torch.equal(significand[kept], first[kept])


@pytest.mark.gpu
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cols", [96, 4096, 50_257, 262_144])
def test_every_design_of_the_table_gives_the_same_bits(cols, dtype, backward):
    x, first = noise(9, cols, dtype=dtype), None
    edges = bool(cols * x.itemsize % 16)
    task = Task(len(x), cols, name_of(dtype), name_of(dtype), backward, edges=edges)
    for line in table_of(0).lines[backward, x.itemsize]:
        design = line.design.fit(task)
        run = design and prepare_design(design, task, (cols, cols * backward, cols), 0)
        if run:
            result = torch.full_like(x, torch.nan)
            run(x.data_ptr(), x.data_ptr() * backward, result.data_ptr())
            first = result if first is None else first
            assert_same_bits(result, first)
