"""What autograd, torch.func and torch.compile know of the kernels, with torch in the kernels' place: no GPU is needed."""

from functools import partial
from itertools import product
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from full_tables import each_value

from softmax_lib.engine.errors import WrongType
from softmax_lib.ops import operators
from softmax_lib.ops.scores import added_up, later_keys

THEIRS = {False: torch.softmax, True: torch.log_softmax}
pytestmark = pytest.mark.usefixtures("by_torch")


def ours(x, dim=-1, log=False, dtype=None):
    return operators.apply(x, dim, log, dtype or x.dtype)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gradients_of_both_orders(log, dim):
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ours(x, dim, log), x)
    assert torch.autograd.gradgradcheck(lambda x: ours(x, dim, log), x)


@pytest.mark.parametrize("log", [False, True])
def test_a_gradient_has_the_dtype_and_shape_of_its_input(log):
    x, mask = (torch.randn(shape).bfloat16().requires_grad_() for shape in ((3, 4), (4,)))
    plain = ours(x, log=log, dtype=torch.float32)
    for y in (plain, operators.apply_scores(x, mask, 2.0, True, False, torch.float32)):
        assert y.dtype == torch.float32
        y.square().sum().backward()
        assert x.grad.dtype == torch.bfloat16
    assert (mask.grad.dtype, mask.grad.shape) == (torch.bfloat16, (4,))


@pytest.mark.parametrize("log", [False, True])
def test_vmap_moves_every_dimension(log):
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    theirs = THEIRS[log]
    for in_dim in range(3):
        for dim in (0, 1, -1):
            made = torch.func.vmap(lambda one, d=dim: ours(one, d, log), in_dims=in_dim)(x)
            wanted = torch.func.vmap(lambda one, d=dim: theirs(one, d), in_dims=in_dim)(x)
            torch.testing.assert_close(made, wanted)
    scalars = torch.func.vmap(torch.func.vmap(lambda one: ours(one, 0, log)))(x[0])
    torch.testing.assert_close(scalars, theirs(x[0][..., None], -1)[..., 0])


def test_a_gradient_of_another_dtype_or_shape_is_refused():
    y = torch.randn(3, 4)
    for grad in (torch.randn(3, 4).double(), torch.randn(4, 3)):
        with pytest.raises(WrongType, match="they must be the same"):
            operators._softmax_gradient(y, grad, -1, False, torch.float32, 1.0)


@pytest.mark.parametrize(
    ("log", "mask"),
    each_value(product([False, True], [None, (3, 4), (2, 1, 1, 4), (2, 2, 3, 4)])),
    ids=str,
)
def test_gradients_of_scores_and_of_what_is_added_to_them(log, mask):
    x = torch.randn(2, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    added = mask and torch.randn(mask, dtype=torch.float64, requires_grad=True)
    for causal in (False, True):

        def scores(x, added, causal=causal):
            y = operators.apply_scores(x, added, 0.3, causal, log, x.dtype)
            return y.where(y.isfinite(), 0)  # the logarithm of what is hidden

        assert torch.autograd.gradcheck(scores, (x, added), fast_mode=True)
        assert torch.autograd.gradgradcheck(scores, (x, added), fast_mode=True)


@pytest.mark.parametrize("log", [False, True])
def test_what_a_query_does_not_see_has_no_gradient(log):
    x, grad = torch.randn(2, 4, 5, dtype=torch.float64), torch.randn(2, 4, 5, dtype=torch.float64)
    mask = torch.randn(4, 5, dtype=torch.float64)
    made = []
    for function in (
        lambda x, mask: operators.apply_scores(x, mask, 0.3, True, log, x.dtype),
        lambda x, mask: THEIRS[log](added_up(x, mask, 0.3, True), -1),
    ):
        leaves = [one.clone().requires_grad_() for one in (x, mask)]
        made.append(torch.autograd.grad(function(*leaves), leaves, grad))
    torch.testing.assert_close(*made)
    assert not made[0][0][:, later_keys(x)].any()


def test_scores_with_one_more_dimension():
    x, mask = torch.randn(5, 2, 3, 4), torch.randn(5, 4)
    by_torch = Mock(wraps=operators._of_scores)
    rule = partial(operators.batched_scores, by_torch)
    more = (0.5, True, False, torch.float32)
    info = SimpleNamespace(batch_size=5)
    for in_dims, given, own in (
        ((0, 0), (x, mask), lambda i: (x[i], mask[i])),
        ((0, None), (x, mask[0]), lambda i: (x[i], mask[0])),
        ((None, 0), (x[0], mask), lambda i: (x[0], mask[i])),
        ((1, None), (x.movedim(0, 1), None), lambda i: (x[i], None)),
    ):
        found, at = rule(info, in_dims, *given, *more)
        assert at == 0
        wanted = torch.stack([operators._of_scores(*own(i), *more) for i in range(5)])
        torch.testing.assert_close(found, wanted)
    assert [call.args[0].shape for call in by_torch.call_args_list] == [x.shape] * 4


def test_gradients_of_a_mask_of_sixteen_bits_are_rounded_once():
    x, grad = (torch.randn(8, 64, 64).half() for _ in range(2))
    mask = torch.randn(64).half()
    made = {}
    for dtype in (torch.float16, torch.float64):
        leaves = [one.to(dtype).requires_grad_() for one in (x, mask)]
        wide = torch.promote_types(dtype, torch.float32)
        y = operators.apply_scores(*leaves, 1e-3, False, False, wide)
        made[dtype] = torch.autograd.grad(y, leaves, grad.to(y.dtype))
    for found, exact in zip(*made.values(), strict=True):
        torch.testing.assert_close(found.double(), exact, rtol=1e-3, atol=6e-8)
