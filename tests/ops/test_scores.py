"""softmax() of scores of attention: scaled, masked and causal, on the CPU and on a GPU."""

import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ops.rows import DTYPES, FUNCTIONS, assert_as_good, assert_gradient_as_good, name_of, noise

from softmax_lib import Softmax, softmax
from softmax_lib.ops import operators
from softmax_lib.ops.scores import mask_steps


def in_torchs_words(function, x, dim=-1, *, scale=1.0, mask=None, causal=False):
    scores = x * scale
    if mask is not None:
        scores = scores + mask
    if causal:
        later = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    return function(scores, dim)


@pytest.mark.parametrize(("ours", "theirs"), FUNCTIONS)
@pytest.mark.parametrize("how", [{"scale": 0.3}, {"causal": True}, {"scale": -2, "causal": True}])
def test_on_the_cpu_they_are_torchs_with_sums_of_float32(ours, theirs, how):
    x = torch.randn(2, 4, 6)
    for dtype in (torch.bfloat16, torch.float64):
        few = x.to(dtype)
        wide = few.float() if dtype is torch.bfloat16 else few
        assert torch.equal(ours(few, **how), in_torchs_words(theirs, wide, **how).to(dtype))


def test_along_another_dimension_they_are_scaled_and_masked_too():
    x, mask = torch.randn(3, 4), torch.randn(4)
    found = softmax(x, 0, scale=2.0, mask=mask)
    torch.testing.assert_close(found, torch.softmax(2 * x + mask, 0))


def test_layers_take_a_scale():
    x = torch.randn(3, 4, 4)
    layer = Softmax(scale=0.5, causal=True)
    assert repr(layer) == "Softmax(dim=-1, scale=0.5, causal=True)"
    assert repr(Softmax(1)) == "Softmax(dim=1)"
    torch.testing.assert_close(layer(x), softmax(x, scale=0.5, causal=True))


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    shared=st.lists(st.booleans(), min_size=5, max_size=5),
    order=st.randoms(use_true_random=False),
)
def test_the_steps_of_a_mask_find_each_of_its_rows(sizes, shared, order):
    own = [1 if alone else size for alone, size in zip(shared, sizes, strict=False)]
    moved = order.sample(range(len(own)), len(own))
    mask = torch.arange(math.prod(own) * 7).view(*(own[i] for i in moved), 7)
    mask = mask.permute(*(moved.index(i) for i in range(len(own))), len(own))
    shape = torch.Size((*sizes, 7))
    steps = mask_steps(mask, shape)
    rows = mask.expand(shape).reshape(-1, 7)
    if steps is None:
        assert len(sizes) > 3
        return
    for row in range(len(rows)):
        at, left = 0, row
        for size, step in steps:
            at, left = at + left % size * step, left // size
        assert left == 0 or not steps
        assert rows[row, 0] == at


def test_a_mask_whose_rows_are_in_pieces_has_no_steps():
    assert mask_steps(torch.zeros(7, 3).T, torch.Size((3, 7))) is None
    assert mask_steps(torch.zeros(3, 1), torch.Size((3, 7))) is None
    assert mask_steps(torch.zeros(()), torch.Size((3, 1))) == ((3, 0),)


# ---- on a GPU

# (batch, heads, queries, keys), in each regime, with edges and without
SHAPES = (
    (2, 3, 5, 7), (2, 2, 40, 40), (1, 2, 128, 96), (2, 8, 100, 129), (4, 8, 512, 512), (2, 4, 1000, 1000), (1, 4, 1024, 2048),
    (1, 2, 300, 4099), (1, 2, 256, 8192), (1, 1, 200, 16_384), (1, 1, 160, 32_771), (1, 1, 70, 65_536), (1, 1, 5, 100_001),
    (1, 1, 140, 131_072), (1, 1, 3, 300_001), (1, 1, 2, 1 << 20), (1, 2, 1, 3_000_001),
)  # fmt: skip
MASKS = (None, "queries x keys", "texts x keys", "all")


def mask_like(x, kind, dtype):
    """Noise to be added, with a tenth of it -inf; some of each row is seen."""
    texts, _, queries, keys = x.shape
    sizes = {"queries x keys": (queries, keys), "texts x keys": (texts, 1, 1, keys), "all": x.shape}
    mask = noise(*sizes[kind], dtype=dtype, scale=1.0, seed=2)
    hidden = torch.rand(mask.shape, device="cuda") < 0.1
    hidden[..., 0] = False
    return mask.masked_fill_(hidden, -math.inf)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scores_are_as_good_as_torchs(shape, kind, dtype):
    x = noise(*shape, dtype=dtype)
    how = {"scale": 0.4, "mask": kind and mask_like(x, kind, dtype)}
    exact = how | {"mask": kind and how["mask"].double()}
    for causal in (False, True):
        for ours, theirs in FUNCTIONS if kind is None else FUNCTIONS[:1]:
            found = ours(x, causal=causal, **how)
            wanted = in_torchs_words(theirs, x.double(), causal=causal, **exact)
            hidden = wanted == (0 if ours is softmax else -math.inf)
            assert torch.equal(found[hidden], wanted[hidden].to(dtype))
            torchs = in_torchs_words(theirs, x, causal=causal, **how)
            seen = (one.masked_fill(hidden, 0) for one in (found, torchs, wanted))
            assert_as_good(*seen)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("shape", [(2, 3, 40, 41), (1, 2, 300, 1024), (1, 1, 70, 20_000)], ids=str)
def test_their_gradients_are_as_good_as_torchs(shape, dtype):
    x, grad = noise(*shape, dtype=dtype), noise(*shape, dtype=dtype, seed=1)
    for kind in MASKS[:3]:
        mask = None if kind is None else mask_like(x, kind, dtype)
        made = []
        for function, to in ((softmax, dtype), (None, dtype), (None, torch.float64)):
            leaf = x.to(to).detach().clone().requires_grad_()
            added = None if mask is None else mask.to(to).detach().clone().requires_grad_()
            how = {"scale": 0.4, "mask": added, "causal": True}
            y = function(leaf, **how) if function else in_torchs_words(torch.softmax, leaf, **how)
            y.backward(grad.to(to))
            made.append((leaf.grad, None if added is None else added.grad))
        ours, theirs, exact = made
        assert_gradient_as_good(ours[0], theirs[0], exact[0], grad)
        if mask is not None:
            assert ours[1].shape == mask.shape
            assert_gradient_as_good(ours[1], theirs[1], exact[1], grad)


@pytest.mark.gpu
def test_what_a_query_does_not_see_is_not_read():
    for keys in (60, 513, 2048, 40_000):
        x = noise(2, 64, keys)
        later = torch.ones(64, keys, dtype=torch.bool, device="cuda").triu(1)
        nan = x.masked_fill(later, math.nan)
        assert torch.equal(softmax(nan, causal=True), softmax(x, causal=True))


@pytest.mark.gpu
def test_rows_of_which_nothing_is_seen_are_nan_as_torchs():
    for keys in (60, 513, 2048, 40_000, 300_001):
        x, mask = noise(4, keys), torch.zeros(4, keys, device="cuda")
        mask[1] = mask[2, : keys // 2] = -math.inf
        wanted = in_torchs_words(torch.softmax, x, mask=mask)
        torch.testing.assert_close(softmax(x, mask=mask), wanted, equal_nan=True)


@pytest.mark.gpu
@pytest.mark.parametrize("cases", [40, pytest.param(1000, marks=pytest.mark.full)])
def test_random_scores(cases):
    chosen = random.Random(cases)
    for case in range(cases):
        dtype = chosen.choice(DTYPES)
        sizes = [chosen.randint(1, 6) for _ in range(chosen.randint(0, 4))]
        keys = int(2 ** chosen.uniform(0, 14))
        x = noise(*sizes, keys + 3, dtype=dtype, seed=case)[..., chosen.randint(0, 3) :][..., :keys]
        if len(sizes) > 1 and chosen.random() < 0.3:
            x = x.transpose(0, 1)
        leading = [size if chosen.random() < 0.6 else 1 for size in x.shape[:-1]]
        kept = chosen.randint(0, len(leading))
        own = [*leading[len(leading) - kept :], keys if chosen.random() < 0.9 else 1]
        mask = None
        if chosen.random() < 0.7:
            mask = noise(*own[:-1], own[-1] + 2, dtype=dtype, seed=case + 1)[..., 1:-1]
        how = {"scale": chosen.choice((None, 0.125, -1.0, 3)), "mask": mask}
        how["causal"] = len(sizes) > 0 and chosen.random() < 0.4
        function, theirs = chosen.choice(FUNCTIONS)
        found = function(x, **how)
        how["scale"] = how["scale"] or 1.0
        torchs = in_torchs_words(theirs, x, **how)
        how["mask"] = mask if mask is None else mask.double()
        wanted = in_torchs_words(theirs, x.double(), **how)
        hidden = ~wanted.isfinite()
        seen = (one.masked_fill(hidden, 0) for one in (found, torchs, wanted))
        assert_as_good(*seen)


@pytest.mark.gpu
def test_scores_in_place_elsewhere_and_as_another_dtype():
    x = noise(3, 50, 500)
    wanted = softmax(x, scale=0.5, causal=True)
    version = x._version
    assert softmax(x, scale=0.5, causal=True, out=x) is x
    assert torch.equal(x, wanted)
    assert x._version > version
    few = noise(50, 500, dtype=torch.bfloat16)
    made = softmax(few, scale=0.5, dtype=torch.float32)
    torch.testing.assert_close(made, torch.softmax(0.5 * few.float(), -1))
    with torch.autocast("cuda"):
        assert softmax(few, scale=0.5).dtype == torch.float32
        assert softmax(few, scale=0.5, out=torch.empty_like(few)).dtype == torch.bfloat16
    apart = torch.empty(500, 50, device="cuda").T
    softmax(few.float(), scale=0.5, out=apart)
    torch.testing.assert_close(apart, torch.softmax(0.5 * few.float(), -1))


@pytest.mark.gpu
def test_scores_are_compiled_without_a_break_and_captured():
    mask = noise(40, 300, seed=1)

    def attention(x, mask):
        return softmax(x * 2, scale=0.3, mask=mask, causal=True) + 1

    x = noise(2, 40, 300).requires_grad_()
    found = torch.compile(attention, fullgraph=True)(x, mask)
    torch.testing.assert_close(found, attention(x, mask))
    (of_x,) = torch.autograd.grad(found.square().sum(), x)
    torch.testing.assert_close(of_x, *torch.autograd.grad(attention(x, mask).square().sum(), x))
    leaf, added = noise(4, 33).requires_grad_(), noise(33, seed=1).requires_grad_()
    torch.library.opcheck(operators.scores_operator, (leaf, added, 0.5, True, False, torch.float32))
    given, result = noise(2, 40, 300), torch.empty(2, 40, 300, device="cuda")
    softmax(given, mask=mask, causal=True, out=result)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        softmax(given, mask=mask, causal=True, out=result)
    given.copy_(noise(2, 40, 300, seed=5))
    graph.replay()
    assert torch.equal(result, softmax(given, mask=mask, causal=True))


@pytest.mark.gpu
def test_scores_under_vmap_and_forward_derivatives_are_torchs():
    x = noise(5, 8, 30)

    def ours(one):
        return softmax(one, scale=0.5, causal=True)

    def theirs(one):
        return in_torchs_words(torch.softmax, one, scale=0.5, causal=True)

    torch.testing.assert_close(torch.func.vmap(ours)(x), theirs(x))
    torch.testing.assert_close(torch.func.jacrev(ours)(x[0]), torch.func.jacrev(theirs)(x[0]))
    derivatives = (torch.func.jvp(f, (x,), (x * 2,)) for f in (ours, theirs))
    for found, wanted in zip(*derivatives, strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.gpu
def test_rows_longer_than_the_kernels_hold_are_added_up_first():
    x = noise(2, 9_000_001)
    mask = noise(9_000_001, seed=1)
    found = softmax(x, scale=0.5, mask=mask)
    torch.testing.assert_close(found, torch.softmax(0.5 * x + mask, -1), rtol=1e-4, atol=1e-12)
