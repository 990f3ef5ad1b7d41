"""Strides of results, and whose memory a kernel may read; `tests/suites/test_conform.py` has tensors out of the ordinary."""

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from softmax_lib import log_softmax, softmax, softmax_topk
from softmax_lib.ops.arguments import is_own
from softmax_lib.suites.conform.asks import ODD

pytestmark = pytest.mark.filterwarnings("ignore")  # of prototypes, and of what MaskedTensor lacks


def topk(x, dim):
    return softmax_topk(x, 2, dim).values


CALLS = {
    "softmax": (softmax, torch.softmax),
    "log_softmax": (log_softmax, torch.log_softmax),
    "softmax_topk": (topk, lambda x, dim: torch.topk(torch.softmax(x, dim), 2, dim)[0]),
}
STEPS = st.tuples(st.integers(0, 4), st.integers(0, 40))
GPU = pytest.param("cuda", marks=pytest.mark.gpu)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("place", ["cpu", "meta", "fake", GPU])
@given(steps=st.lists(STEPS, min_size=1, max_size=4), dim=st.integers(0, 3))
def test_a_result_has_the_strides_of_torchs(place, name, steps, dim):
    shape, strides = zip(*steps, strict=True)
    dim %= len(shape)
    if name == "softmax_topk" and shape[dim] < 2:
        return
    ours, theirs = CALLS[name]
    device, mode = ("cuda", FakeTensorMode()) if place == "fake" else (place, nullcontext())
    with mode:
        x = torch.zeros(500, device=device).as_strided(shape, strides)
        found = ours(x, dim)
    if place == "fake" and not torch.cuda.is_available():  # torch's own asks for the GPU
        x = torch.zeros(500).as_strided(shape, strides)
    wanted = theirs(x, dim)
    assert (found.shape, found.stride()) == (wanted.shape, wanted.stride())


def test_own_are_tensors_whose_memory_holds_their_numbers():
    x = torch.randn(4, 5)
    own = {name for name, make in ODD.items() if is_own(make(x))}
    assert own == {"no rows", "rows of none", "expanded", "overlapping", "complex"}
    assert is_own(torch.nn.Parameter(x))
    with torch.inference_mode():
        assert is_own(x + 1)
    compiled = torch.compile(lambda x: x + is_own(x), fullgraph=True, backend="eager")
    assert torch.equal(compiled(x), x + 1)
    assert torch.equal(torch.func.grad(lambda x: (x * is_own(x)).sum())(x), torch.ones(4, 5))
