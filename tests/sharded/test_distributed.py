"""Rows that are cut over 2, 3 and 4 ranks by gloo: torch's results of the whole rows, and one sentence where ranks disagree."""

import re
from contextlib import closing
from functools import partial

import pytest
import torch
from torch.nn.functional import cross_entropy

from sharded.asks import after_its_group, call, call_with, gradient, of_dtensors, timed
from sharded.ranks import Ranks, whole
from softmax_lib import distributed, softmax_topk
from softmax_lib.distributed import rooms
from softmax_lib.ops.outlines import FOLDER
from softmax_lib.worklog.errors import BadInput, NotAvailable, RankLost, WrongType

COLS = 84  # of 2, 3 and 4 shards of one length
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
FUNCTIONS = {"softmax": torch.softmax, "log_softmax": torch.log_softmax}


@pytest.fixture(scope="module", params=[2, 3, 4])
def ranks(request):
    started = Ranks(request.param)
    yield started
    started.close()


def rows(dtype=torch.float32):
    """Noise, a peak, a shard and a row with nothing but -inf, ties, NaN, infinity, and numbers far from 0."""
    x = torch.randn(10, COLS, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 3
    x[1, 70] = 90
    x[2, : COLS // 2] = -torch.inf
    x[3] = -torch.inf
    x[4] = 1
    x[5, 8], x[6, 50] = torch.nan, torch.inf
    x[7] -= 800
    x[8, COLS // 2 :] = -60000
    return x.to(dtype)


def assert_close(found, wanted, **how):
    torch.testing.assert_close(found, wanted.to(found.dtype), equal_nan=True, **how)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_shard_of_the_result_is_torchs(ranks, name, dtype):
    x = rows(dtype)
    found, wanted = whole(ranks.ask(call, name, x)), FUNCTIONS[name](x.double(), -1)
    eps = max(torch.finfo(dtype).eps, 2e-15)
    assert_close(found, wanted, rtol=4 * eps, atol=4 * eps * (name == "log_softmax") + 1e-7)
    grad = torch.randn(x.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    made = whole(ranks.ask(gradient, name, x, grad.to(dtype)))
    leaf = x.double().requires_grad_()
    FUNCTIONS[name](leaf, -1).backward(grad.to(dtype).double())
    assert_close(made, leaf.grad, rtol=50 * eps, atol=50 * eps)


@pytest.mark.parametrize("k", [1, 5, 60])
def test_the_largest_and_their_places_are_those_of_the_whole_row_on_every_rank(ranks, k):
    x = rows()
    wanted = softmax_topk(x, k)
    for values, indices in ranks.ask(call, "topk", x, k):
        assert torch.equal(indices, wanted.indices)
        assert_close(values, wanted.values, rtol=1e-6, atol=1e-9)
    for found in ranks.ask(call, "argmax", x):
        assert torch.equal(found, wanted.indices[:, 0])


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_a_loss_and_its_gradient_are_torchs(ranks, reduction):
    x = rows()[[0, 1, 2, 4, 7, 8]].requires_grad_()
    targets = torch.tensor([3, 70, 60, -100, 83, 0])
    wanted = cross_entropy(x, targets, reduction=reduction)
    loss, slope = (partial(one, reduction=reduction) for one in (call, gradient))
    for found in ranks.ask(loss, "cross_entropy", x.detach(), targets):
        assert_close(found, wanted, rtol=1e-6, atol=1e-6)
    grad = torch.randn(wanted.shape)
    wanted.backward(grad)
    made = whole(ranks.ask(slope, "cross_entropy", x.detach(), grad, targets))
    assert_close(made, x.grad, rtol=1e-5, atol=1e-6)


def test_logarithms_of_tokens_are_those_of_the_whole_row(ranks):
    x, tokens = rows(torch.bfloat16), torch.arange(10) * 8
    wanted = torch.log_softmax(x.double(), -1).gather(-1, tokens[:, None])[:, 0]
    for found in ranks.ask(call, "log_probabilities", x, tokens):
        assert found.dtype is torch.float32
        assert_close(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "topk", "log_probabilities"])
def test_gradients_are_those_of_differences(ranks, name):
    cols, step = 2 * len(ranks.ends), 1e-5
    x = torch.randn(2, cols, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    more = {"topk": (3,), "log_probabilities": (torch.tensor([1, cols - 1]),)}.get(name, ())

    def result(x):
        found = ranks.ask(call, name, x, *more)
        return whole(found) if not more else found[0].values if name == "topk" else found[0]

    grad = torch.randn(result(x).shape, dtype=torch.float64)
    made = whole(ranks.ask(gradient, name, x, grad, *more))
    for row, col in torch.cartesian_prod(torch.arange(2), torch.arange(cols)):
        moved = torch.zeros_like(x)
        moved[row, col] = step
        difference = (grad * (result(x + moved) - result(x - moved))).sum() / (2 * step)
        assert made[row, col] == pytest.approx(float(difference), abs=1e-8)


def test_dtensors_go_in_and_come_out(ranks):
    x, tokens = rows()[[0, 1, 4, 7]].requires_grad_(), torch.tensor([1, 70, 30, 83])
    loss = cross_entropy(x, tokens)
    loss.backward()
    best = softmax_topk(x.detach(), 3)
    wanted = (torch.softmax(x.detach(), -1), best.values, best.indices, loss.detach(), x.grad)
    for found in ranks.ask(of_dtensors, x.detach(), tokens):
        if isinstance(found, Exception):
            raise found
        for one, other in zip(found, wanted, strict=True):
            assert_close(one, other, rtol=1e-5, atol=1e-7)


X = torch.zeros(2, 4)
DIFFERENT = {
    "rows": (("softmax", (torch.zeros(3, 4),)), "Rank 0 has 2 rows, and rank 1 has 3 rows"),
    "shards": (
        ("softmax", (torch.zeros(2, 3),)),
        "has a shard of 3 columns.*pad the last with -inf",
    ),
    "dtypes": (("softmax", (X.half(),)), "Rank 0 has torch.float32, and rank 1 has torch.float16"),
    "calls": (("argmax", (X,)), "Rank 0 called softmax, and rank 1 called argmax"),
    "refused": (("softmax", ("x",)), "Rank 1 refused its arguments"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_ranks_that_disagree_are_told_so_on_all_of_them(ranks, what):
    (name, given), told = DIFFERENT[what]
    calls = [("softmax", (X,))] * len(ranks.ends)
    calls[1] = (name, given)
    found = ranks.ask(call_with, calls)
    assert {type(one) for one in found} <= {BadInput, WrongType}
    assert [type(one) for one in found].count(WrongType) == (what == "refused")
    for one in found:
        if type(one) is BadInput:
            with pytest.raises(BadInput, match=told):
                raise one
    assert torch.equal(whole(ranks.ask(call, "softmax", torch.zeros(1, COLS))), torch.full((1, COLS), 1 / COLS))  # fmt: skip


@pytest.mark.parametrize(("name", "given", "error", "told"), [
    ("softmax", (torch.tensor(1.0),), BadInput, "has no dimension"),
    ("softmax", (torch.zeros(2, 4, dtype=torch.int32),), WrongType, "has to be one of torch.float32"),
    ("softmax", (X, "group"), WrongType, "has to be a process group"),
    ("topk", (X, 0), BadInput, "k is 0"), ("topk", (X, 2.5), WrongType, "has to be a whole number"),
    ("cross_entropy", (X, torch.tensor([0.5, 1])), WrongType, "have to be torch.int64"),
    ("cross_entropy", (X, torch.tensor([0, 99])), BadInput, "A token is 99; the row has columns 0 to"),
    ("log_probabilities", (X, torch.tensor([0])), BadInput, "tokens have shape"),
])  # fmt: skip
def test_bad_arguments_are_refused(ranks, name, given, error, told):
    for one in ranks.ask(call_with, [(name, given)] * len(ranks.ends)):
        with pytest.raises(error, match=told):
            raise one


def test_kernels_and_rooms_have_the_same_numbers():
    text = (FOLDER / "ranks.cuh").read_text(encoding="utf-8")
    said = {name: int(number) for name, number in re.findall(r"constexpr \w+ (\w+) = (\d+);", text)}
    assert (said["ROOM_BLOCKS"], said["CALLED"]) == (rooms.BLOCKS_AT_MOST, rooms.CALLED)


def test_without_a_group_there_is_a_sentence():
    with pytest.raises(NotAvailable, match="There is no process group; call torch"):
        distributed.softmax(X)


def test_a_result_does_not_keep_its_group(ranks):
    for is_gone, error in ranks.ask(after_its_group):
        assert is_gone
        with pytest.raises(NotAvailable, match="The process group is destroyed"):
            raise error


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_rank_that_never_comes_or_was_killed_is_told_in_time(is_killed):
    with closing(Ranks(3)) as ranks:
        if is_killed:
            ranks.kill(1)
        for kind, told, seconds in ranks.ask(timed, X, of=[0, 2]):
            assert kind == RankLost.__name__
            assert "A rank is gone, or has not come within 2 s; make a new process group" in told
            assert seconds < 6
