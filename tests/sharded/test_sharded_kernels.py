"""Kernels that meet in memory, as if one GPU were several: the bits of `softmax()` of whole rows, and nobody waits for ever."""

import pytest
import torch
from ops.emulated import gradients_of_all_kinds, rows_of_all_kinds
from ops.rows import DTYPES, name_of, noise

from softmax_lib import log_softmax, softmax
from softmax_lib.distributed import rooms
from softmax_lib.distributed.rooms import Room, slot_bytes
from softmax_lib.ops import operators
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


def run(these, x, grad=None, to=None, log=False, timeout_s=5.0, gap=0):
    """All of them at once on shards of the same rows, `gap` numbers apart from each other; the results side by side."""
    shards = len(these)
    to, (rows, cols) = to or x.dtype, x.shape
    cut = [[wide(part, gap) for part in one.chunk(shards, -1)] for one in (x, grad) if one is not None]  # fmt: skip
    made = [torch.full((rows, cols // shards), 7.0, dtype=to, device="cuda") for _ in these]
    torch.cuda.synchronize()
    for rank, room in enumerate(these):
        with torch.cuda.stream(torch.cuda.Stream()):
            given = [one[rank] for one in cut]
            room.run(given[0], given[1] if grad is not None else None, made[rank], log, timeout_s)
    torch.cuda.synchronize()
    for room in these:
        room.check(timeout_s)
    return torch.cat(made, -1)


def wide(part, gap):
    """Its rows, so many numbers apart."""
    return torch.nn.functional.pad(part, (gap, 0))[:, gap:]


def assert_same_bits(found, wanted):
    word = torch.int32 if wanted.itemsize == 4 else torch.int16
    found, wanted = (one.masked_fill(one.isnan(), torch.nan) for one in (found, wanted))
    assert torch.equal(found.contiguous().view(word), wanted.contiguous().view(word))


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
        room_bits = y.clone()
        assert_same_bits(room_bits, softmax(x, -1))


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
