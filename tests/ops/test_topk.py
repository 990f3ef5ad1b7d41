"""`softmax_topk`: results, errors, gradients and torch's transformations; on a GPU by the kernels, here by torch."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from ops.rows import DTYPES, KINDS, assert_found, name_of, rows_of

from softmax_lib import softmax_topk
from softmax_lib.ops import slots
from softmax_lib.ops.topk import checked_k, topk_function, topk_operator
from softmax_lib.worklog.errors import RowTooLong


@pytest.mark.parametrize("kind", KINDS)
def test_places_are_a_stable_sorts_and_values_softmaxs(device, kind):
    # torch's own sum of 60,001 numbers is off by 2e-5 on a CPU without AVX-512
    rough = {torch.float32: 3e-5} if device == "cpu" else {}
    for dtype in (torch.float32, torch.bfloat16):
        for shape, k in (((3, 100), 5), ((2, 4099), 30), ((2, 60_001), 128), ((700, 1500), 12)):
            x = rows_of(kind, shape, dtype, device)
            assert_found(x, k, *softmax_topk(x, k), rough=rough.get(dtype))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("k", [1, 7, 8, 9, 31, 32, 33, 64, 65, 128])
def test_each_k_in_rows_of_each_length(dtype, k):
    for rows in (1, 3, 6000):
        for cols in (1, 3, 31, 128, 129, 255, 256, 1000, 4096, 5001, 70_000):
            if k <= cols and rows * cols < 5e7:
                x = rows_of("noise", (rows, cols), dtype, "cuda")
                assert_found(x, k, *softmax_topk(x, k))


@pytest.mark.gpu
def test_rows_of_a_million_and_rows_shared_by_every_number_of_blocks():
    for rows in (1, 2, 5, 17, 60, 130, 400):
        shape = (rows, 1_000_003 if rows < 20 else 50_001)
        x = rows_of("few different", shape, torch.float32, "cuda")
        for k in (1, 30, 128):
            assert_found(x, k, *softmax_topk(x, k))


@pytest.mark.gpu
def test_rows_behind_the_first_two_billion_numbers():
    x = torch.zeros(70_000, 32_000, dtype=torch.bfloat16, device="cuda")
    last = torch.arange(70_000, device="cuda") % 32_000
    x[torch.arange(70_000, device="cuda"), last] = 1
    values, indices = softmax_topk(x, 1)
    assert torch.equal(indices[:, 0], last)
    assert (values == values[0]).all()


def test_any_shape_strides_and_dimension(device):
    x = rows_of("noise", (4, 5, 60), torch.float32, device)
    for dim in range(-3, 3):
        values, indices = softmax_topk(x, 3, dim)
        moved = x.movedim(dim, -1)
        assert values.is_contiguous()
        assert_found(moved, 3, values.movedim(dim, -1), indices.movedim(dim, -1))
    for other in (x.transpose(0, 1), x[:, 1:4, 3:55], x[..., ::2], x[:1].expand(7, 5, 60)):
        assert_found(other, 4, *softmax_topk(other, 4))
    values, indices = softmax_topk(torch.tensor(3.0, device=device), 1)
    assert (values.item(), indices.item()) == (1.0, 0)
    values, indices = softmax_topk(x[:0], 2)
    assert values.shape == indices.shape == (0, 5, 2)


def test_float64_is_torchs():
    x = torch.randn(3, 50, dtype=torch.float64)
    for k in (4, np.int64(4), torch.tensor(4)):
        values = softmax_topk(x, k).values
        torch.testing.assert_close(values, torch.topk(torch.softmax(x, -1), 4)[0])


def test_rows_that_have_more_places_than_a_key_holds():
    checked_k(5, 2**32 - 1)
    with pytest.raises(RowTooLong, match="fewer than 2\\^32"):
        checked_k(5, 2**32)


# ---- gradients and transformations


AFTER_A_PATCH = """
import torch
from softmax_lib import patch_torch, softmax_topk
with patch_torch():
    torch.compile(lambda x: x + 1, backend="eager")(torch.zeros(3))
found = torch.compile(lambda x: softmax_topk(x, 2), fullgraph=True, backend="eager")(torch.zeros(3))
print(found.indices.tolist())
"""


def test_torch_compile_takes_it_where_torch_was_patched_before():
    said = subprocess.run([sys.executable, "-c", AFTER_A_PATCH], capture_output=True, text=True)
    assert said.stdout == "[0, 1]\n", said.stderr[-2000:]


def test_the_operator_is_what_torch_asks_of_one(device):
    x = torch.randn(3, 50, device=device, requires_grad=True)
    torch.library.opcheck(torch.ops.softmax_lib.softmax_topk, (x, 4))


@pytest.mark.parametrize("find", [topk_operator, topk_function], ids=["operator", "function"])
def test_operator_and_function_have_gradients_and_batches(device, find):
    x = torch.randn(5, 12, dtype=torch.float64, device=device, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: find(x, 4)[0], x)
    assert torch.autograd.gradgradcheck(lambda x: find(x, 4)[0], x)
    assert not find(x, 4)[1].requires_grad
    given = torch.randn(2, 3, 8, device=device)
    for in_dim in range(3):
        values, indices = torch.func.vmap(lambda one: tuple(find(one, 2)), in_dims=in_dim)(given)
        assert_found(given.movedim(in_dim, 0), 2, values, indices)


@pytest.mark.gpu
def test_under_autocast_values_are_float32():
    x = rows_of("noise", (3, 500), torch.float16, "cuda")
    with torch.autocast("cuda"):
        values, indices = softmax_topk(x, 5)
    assert_found(x.float(), 5, values, indices)


@pytest.mark.gpu
def test_graphs_streams_and_a_counter_that_goes_back_to_zero():
    x = rows_of("noise", (3, 200_000), torch.float32, "cuda")
    softmax_topk(x, 9)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = softmax_topk(x, 9)
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    for turn in range(20):
        x.copy_(rows_of("noise", (3, 200_000), torch.float32, "cuda").roll(turn, -1))
        torch.cuda.synchronize()
        graph.replay()
        others = []
        for stream in streams:
            with torch.cuda.stream(stream):
                others.append(softmax_topk(x, 9))
        torch.cuda.synchronize()
        for one in (found, *others):
            assert_found(x, 9, *one)
    counters = [held for key, held in slots._of_streams.items() if key[-1] == slots.COUNTERS]
    assert counters
    assert not any(held.any() for held in counters)
