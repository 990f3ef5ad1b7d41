"""Kernels that meet in memory, as if one GPU were several: the bits of `softmax()` of whole rows, and nobody waits for ever."""

import pytest
import torch
from ops.emulated import assert_same_bits, gradients_of_all_kinds, rows_of_all_kinds
from ops.rows import DTYPES, name_of, noise

from softmax_lib import log_softmax, softmax, softmax_topk
from softmax_lib.distributed import rooms
from softmax_lib.distributed.rooms import Room, slot_bytes
from softmax_lib.ops import operators
from softmax_lib.ops.topk import search
from softmax_lib.worklog.errors import BadInput, RankLost

pytestmark = pytest.mark.gpu

FUNCTIONS = {False: softmax, True: log_softmax}


@pytest.fixture
def rooms_of(monkeypatch):
    """Rooms of so many ranks, each of which has its share of the GPU's multiprocessors."""

    def make(ranks):
        many = torch.cuda.get_device_properties(0).multi_processor_count // ranks
        monkeypatch.setattr(rooms, "multiprocessors", lambda device: many)
        slots = [torch.zeros(slot_bytes(ranks), dtype=torch.uint8, device="cuda") for _ in range(ranks)]  # fmt: skip
        at = [one.data_ptr() for one in slots]
        return [Room(0, rank, ranks, at, slots) for rank in range(ranks)]

    return make


def run(these, x, grad=None, log=False, gap=0):
    """All of them at once on shards of the same rows, `gap` numbers apart from each other; the results side by side."""
    shards, (rows, cols) = len(these), x.shape
    cut = [[wide(part, gap) for part in one.chunk(shards, -1)] for one in (x, grad) if one is not None]  # fmt: skip
    made = [torch.full((rows, cols // shards), 7.0, dtype=x.dtype, device="cuda") for _ in these]
    torch.cuda.synchronize()
    for rank, room in enumerate(these):
        with torch.cuda.stream(torch.cuda.Stream()):
            given = [one[rank] for one in cut]
            room.run(given[0], given[1] if grad is not None else None, made[rank], log, 5.0)
    torch.cuda.synchronize()
    for room in these:
        room.check(5.0)
    return torch.cat(made, -1)


def find(these, x, k, tokens=None):
    """What each rank is told of whole rows: its k first, or its logarithm at a token; and what comes with it."""
    parts, found = x.chunk(len(these), -1), []
    for room, part in zip(these, parts, strict=True):
        part = part.contiguous()
        values = torch.empty(len(x), k, device="cuda", dtype=x.dtype if tokens is None else None)
        places, pairs = search(part, min(k, part.shape[-1]))
        if tokens is None:
            told = torch.empty(len(x), k, dtype=torch.int64, device="cuda")
        else:
            told, places = values.new_empty(len(x), 2), tokens[:, None].contiguous()
        found.append((room, part, places, pairs, values, told))
    torch.cuda.synchronize()
    for room, *given in found:
        with torch.cuda.stream(torch.cuda.Stream()):
            room.find(*given, 5.0, log=tokens is not None)
    torch.cuda.synchronize()
    for room, *_ in found:
        room.check(5.0)
    return [(part, values, told) for _, part, _, _, values, told in found]


def wide(part, gap):
    """Its rows, so many numbers apart."""
    return torch.nn.functional.pad(part, (gap, 0))[:, gap:]


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("gap", [0, 3])
def test_shards_have_the_bits_of_whole_rows(rooms_of, ranks, log, dtype, gap):
    these = rooms_of(ranks)
    for cols in (96, 24 * 43, 24 * 700, 24 * 1365 * ranks):
        x = rows_of_all_kinds(cols).to("cuda", dtype) if cols < 200 else noise(150, cols, dtype=dtype)  # fmt: skip
        x[3:5] *= 1e6  # rows whose sums are always exact
        assert_same_bits(run(these, x, log=log, gap=gap), FUNCTIONS[log](x, -1))


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_gradients_have_them_too(rooms_of, ranks, log, dtype):
    these = rooms_of(ranks)
    for cols in (96, 24 * 43, 24 * 700 * ranks):
        if cols < 200:
            y, grad = (one.to("cuda", dtype) for one in gradients_of_all_kinds(log, cols))
        else:
            y, grad = FUNCTIONS[log](noise(150, cols, dtype=dtype), -1), noise(150, cols, dtype=dtype, seed=1)  # fmt: skip
        assert_same_bits(run(these, y, grad, log=log), operators._backward(y, grad, -1, log, dtype))


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_every_rank_finds_the_first_of_whole_rows(rooms_of, ranks, dtype):
    these = rooms_of(ranks)
    for rows, cols, k in ((700, 96, 7), (3000, 4096, 8), (40, 24_000, 100), (9, 240, 128)):
        x = noise(rows, cols, dtype=dtype)
        x[:2], x[3:5] = 1, x[3:5] * 1e6
        wanted = softmax_topk(x, k)
        for _, values, columns in find(these, x, k):
            assert torch.equal(columns, wanted.indices)
            assert_same_bits(values, wanted.values)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("cols", [96, 24 * 43, 24_000])
def test_logarithms_of_tokens_and_their_gradient(rooms_of, ranks, dtype, cols):
    these, x = rooms_of(ranks), noise(700, cols, dtype=dtype)
    tokens = torch.arange(700, device="cuda") * 7919 % cols
    leaf, grads = x.double().requires_grad_(), noise(700, 1)
    wanted = torch.log_softmax(leaf, -1).gather(-1, tokens[:, None])
    wanted.backward(grads.double())
    made, eps = [], torch.finfo(dtype).eps
    for room, (part, found, wholes) in zip(these, find(these, x, 1, tokens), strict=True):
        torch.testing.assert_close(found.double(), wanted.detach(), rtol=1e-5, atol=5e-5)
        made.append(torch.full_like(part, torch.nan))
        room.lose(part, tokens, made[-1], wholes, grads)
    torch.testing.assert_close(torch.cat(made, -1).double(), leaf.grad, rtol=4 * eps + 2e-5, atol=1e-9 + eps * (dtype is torch.float16))  # fmt: skip


def test_shards_that_no_block_holds_are_read_twice(rooms_of):
    x = noise(20, 2 * 120_000)
    assert_same_bits(run(rooms_of(2), x), softmax(x, -1))


def test_calls_follow_one_another_and_a_graph_replays(rooms_of):
    (room,) = rooms_of(1)
    x, y = noise(300, 5000), torch.empty(300, 5000, device="cuda")
    for _ in range(3):
        room.run(x, None, y, False, 5.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        room.run(x, None, y, False, 5.0)
    for seed in (5, 6, 7):
        x.copy_(noise(300, 5000, seed=seed))
        graph.replay()
        assert_same_bits(y, softmax(x, -1))


def test_a_rank_that_never_comes_is_told_and_leaves_nan(rooms_of):
    room, _ = rooms_of(2)
    x, y = noise(500, 4096), torch.empty(500, 4096, device="cuda")
    room.run(x, None, y, False, 0.2)
    torch.cuda.synchronize()
    assert y.isnan().all()
    with pytest.raises(RankLost, match=r"Rank 1 is gone, or has not come within 0.2 s; .* NaN"):
        room.run(x, None, y, False, 0.2)


def test_ranks_that_call_for_other_rows_are_told(rooms_of):
    these = rooms_of(2)
    for room, rows in zip(these, (500, 400), strict=True):
        with torch.cuda.stream(torch.cuda.Stream()):
            x = noise(rows, 4096)
            room.run(x, None, torch.empty_like(x), False, 0.5)
    torch.cuda.synchronize()
    for room in these:
        with pytest.raises((BadInput, RankLost), match="make a new process group"):
            room.check(0.5)
