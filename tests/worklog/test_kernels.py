"""Every kernel at every block size against float64, over rows that break careless kernels."""

import math
from itertools import product

import pytest
import torch
from full_tables import each_value
from hypothesis import given
from hypothesis import strategies as st

from softmax_lib import check, kernels, run
from softmax_lib.worklog import reference
from softmax_lib.worklog.registry import rungs

SOUND = [kernel.name for kernel in kernels.values() if kernel.flaw is None]
RUNGS = [kernel.name for kernel in rungs()]

# One element; less than a float4; a ragged warp; a multiple of 4 that fills no block; the same and
# one over; and a length that the smaller blocks walk through many times.
LENGTHS = (1, 3, 33, 1000, 1001, 4099)

# Every length up to two warps of float4 and one more, and around each power of two after that.
ALL_LENGTHS = (*range(1, 258), *(2**n + by for n in range(9, 14) for by in (-1, 0, 1)))


FEW_LENGTHS = (33, 4099)


def cases():
    """The default block size, and of rungs with few lengths the smallest or the largest; `make test-all` takes the rest."""
    for number, name in enumerate(SOUND):
        kernel = kernels[name]
        at_an_end = kernel.block_sizes[-(number % 2)]
        for block_size in kernel.block_sizes:
            is_default = block_size == kernel.default_block_size
            lengths = FEW_LENGTHS if is_default and name not in RUNGS else LENGTHS
            marks = () if is_default else pytest.mark.full
            yield pytest.param(name, block_size, lengths, marks=marks)
            if lengths is FEW_LENGTHS:
                yield pytest.param(name, block_size, LENGTHS, marks=pytest.mark.full)
            if block_size == at_an_end and not is_default and name in RUNGS:
                yield name, block_size, FEW_LENGTHS


@pytest.mark.quick
@pytest.mark.parametrize("name", SOUND)
def test_one_shape_of_every_kernel(name):
    cols = kernels[name].longer(1001)
    result = check(name, reference.noise(5, cols), device="cpu")
    assert result.ok, "\n".join(result.failures)


@pytest.mark.parametrize(("name", "block_size", "lengths"), list(cases()))
def test_adversarial_rows_match_float64(name, block_size, lengths, device):
    most = kernels[name].max_cols(block_size)
    lengths = tuple(cols for cols in lengths if cols <= most)
    result = check(name, device=device, block_size=block_size, lengths=lengths)
    assert result.ok, "\n".join(result.failures)
    assert {attempt.offset for attempt in result.attempts} == (
        {0, 1} if kernels[name].vector == 1 else {0}
    )


LANES_AND_TURNS = list(product(kernels["warp"].choices, [1, 4]))


@pytest.mark.parametrize("block_size", [128, pytest.param(None, marks=pytest.mark.full)])
@pytest.mark.parametrize(("lanes", "turns"), each_value(LANES_AND_TURNS))
def test_any_number_of_lanes_takes_a_row_and_any_of_turns_all_rows(
    lanes, turns, block_size, device
):
    kernel = kernels["warp"].setting(LANES=lanes, TURNS=turns)
    lengths = (1, 7, 32, 33, 96, 127)
    result = check(kernel, device=device, block_size=block_size, lengths=lengths)
    assert result.ok, "\n".join(result.failures)


@pytest.mark.full
@pytest.mark.parametrize("name", RUNGS)
def test_every_length(name, device):
    kernel = kernels[name]
    lengths = tuple(cols for cols in ALL_LENGTHS if cols <= kernel.max_cols(kernel.block_sizes[0]))
    result = check(name, device=device, lengths=lengths)
    assert result.ok, "\n".join(result.failures)


@pytest.mark.parametrize("name", ["unsafe", "max_from_zero"])
def test_flawed_foils_are_found_out(name, device):
    result = check(name, device=device, lengths=(33,))
    assert kernels[name].flaw
    assert "(all very negative)" in result.failures[0] or "(shifted up)" in result.failures[0]


@pytest.mark.parametrize("name", RUNGS)
def test_every_output_alignment(name, device):
    x = torch.randn(5, 1003, generator=torch.Generator().manual_seed(0))
    for x_offset in range(4):
        for y_offset in range(4):
            given_x = torch.empty(x.numel() + 4, device=device)[x_offset:][: x.numel()].view(
                5, 1003
            )
            y = torch.full((x.numel() + 4,), math.nan, device=device)[y_offset:][: x.numel()]
            run(name, given_x.copy_(x), out=y.view(5, 1003))
            assert reference.judge(y.view(5, 1003), x).mistake is None


@pytest.mark.parametrize("name", RUNGS)
@given(
    data=st.data(),
    rows=st.integers(1, 40),
    cols=st.integers(1, 600),
    scale=st.floats(0.01, 200),
    seed=st.integers(0, 2**31),
)
def test_random_matrices_match_float64_and_sum_to_one(name, data, rows, cols, scale, seed):
    x = scale * torch.randn(rows, cols, generator=torch.Generator().manual_seed(seed))
    y = run(name, x, block_size=data.draw(st.sampled_from(kernels[name].legal_block_sizes(cols))))
    assert reference.judge(y, x).mistake is None
    torch.testing.assert_close(
        y.double().sum(1), torch.ones(rows, dtype=torch.float64), rtol=1e-5, atol=0
    )


@pytest.mark.parametrize("name", RUNGS)
def test_a_length_at_the_limit_of_each_block_size(name, device):
    kernel = kernels[name]
    for block_size in kernel.block_sizes:
        cols = min(kernel.max_cols(block_size), 32768)
        x = torch.randn(2, cols, generator=torch.Generator().manual_seed(cols))
        assert reference.judge(run(name, x.to(device), block_size=block_size), x).mistake is None


@pytest.mark.parametrize("name", RUNGS)
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_empty_matrices_give_empty_matrices(name, shape, device):
    assert run(name, torch.empty(shape, device=device)).shape == shape


def test_fusion_may_write_over_its_input(device):
    x = torch.randn(9, 1001, generator=torch.Generator().manual_seed(2))
    y = x.to(device, copy=True)
    assert run("fusion", y, out=y) is y
    assert reference.judge(y, x).mistake is None
