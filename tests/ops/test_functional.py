"""softmax() and log_softmax() where there is no GPU, and what they say of bad input anywhere."""

import pytest
import torch

from softmax_lib import log_softmax, softmax
from softmax_lib.ops.arguments import check_out
from softmax_lib.ops.plans import positive
from softmax_lib.worklog.errors import NoSuchDimension, SoftmaxLibError


@pytest.mark.parametrize(
    ("ours", "theirs"), [(softmax, torch.softmax), (log_softmax, torch.log_softmax)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_tensors_on_the_cpu_are_torchs(ours, theirs, dtype):
    x = torch.randn(3, 5, dtype=dtype, requires_grad=True)
    y = ours(x, 0)
    assert torch.equal(y, theirs(x, 0))
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(ours(x, dtype=torch.float64), theirs(x, -1, dtype=torch.float64))
    out = torch.empty_like(x, requires_grad=False)
    assert ours(x.detach(), 1, out=out) is out
    assert torch.equal(out, theirs(x, 1))


def test_autocast_of_a_gpu_leaves_tensors_on_the_cpu_alone():
    x = torch.randn(3, 4, dtype=torch.bfloat16)
    torch.set_autocast_enabled("cuda", True)
    try:
        assert softmax(x).dtype == softmax(x, scale=2).dtype == torch.softmax(x, -1).dtype
    finally:
        torch.set_autocast_enabled("cuda", False)


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (lambda x: x.double(), "out is torch.float64; the result is torch.float32."),
        (lambda x: x[:1], "out has shape (1, 4) and x has (2, 4)."),
        (lambda x: x.clone().requires_grad_(), "out requires a gradient, which a call with out= does not have."),
        (lambda x: x.as_strided((2, 4), (1, 2)), "out overlaps x in memory; it may be x itself, or has to lie apart."),
        (lambda x: x.clone(), ""),
        (lambda x: x, ""),
    ],
)  # fmt: skip
def test_what_a_gpu_writes_into_has_to_hold_the_result(out, words):
    x = torch.zeros(2, 4)
    told = ""
    try:
        check_out(x, torch.float32, out(x))
    except SoftmaxLibError as error:
        told = str(error)
    assert told == words


def test_dimensions_count_from_either_end():
    for dims, first in ((2, -2), (0, -1)):
        found = [positive(dim, dims) for dim in range(first, -first)]
        assert found == 2 * [*range(-first)]
        for dim in (first - 1, -first):
            with pytest.raises(NoSuchDimension, match=f"dim is {dim}; a tensor of {dims} dim"):
                positive(dim, dims)
    assert issubclass(NoSuchDimension, (IndexError, ValueError))
