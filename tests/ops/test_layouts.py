"""Tensors out of the ordinary and torch's transformations, strides of results, and whose memory a kernel may read."""

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from softmax_lib import log_softmax, softmax, softmax_topk
from softmax_lib.ops import adoption, functional, operators
from softmax_lib.ops import topk as topk_module
from softmax_lib.ops.arguments import is_own
from softmax_lib.suites.conform.asks import ODD, asks
from softmax_lib.suites.conform.judging import OPERATORS, judge
from softmax_lib.suites.conform.record import FAULTS, OURS

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


@pytest.fixture
def as_on_a_gpu(by_torch, monkeypatch):
    """Let the CPU's tensors go where a GPU's do, with torch in the kernels' place."""
    for module in (functional, topk_module, adoption):
        monkeypatch.setattr(module, "is_readable", lambda x: x.device.type == "cpu" and is_own(x))
    kernels = (operators._forward, operators._of_scores, operators._backward)
    known = (operators.softmax_operator, operators.scores_operator, operators.gradient_operator)
    for operator, kernel in zip(known, kernels, strict=True):
        operator.register_kernel("cpu")(kernel)


MASKS = {f"outs and gradients: {one} as mask" for one in ("coo", "csr")}
OUTS = {f"outs and gradients: {one} as out" for one in ("no rows", "rows of none")}
NO_K = {"layouts: rows of none as x", "layouts: rows of none as x along dim 1"}
REFUSED = {"softmax_topk()": NO_K, "Softmax": MASKS, "LogSoftmax": MASKS}
"""What ours refuse where torch does not, beside words that they do not have; of the functions `MASKS` and `OUTS`."""


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize("name", OURS[:5])
def test_whatever_is_asked_is_answered_as_torch_does(name):
    every = [
        one
        for one in asks("cpu").values()
        if not one.kind.startswith("bits") or one.name == "33 float32"
    ]
    found = {f"{one.kind}: {one.name}": judge(one, OPERATORS[name], "cpu") for one in every}
    assert {ask: told for ask, (verdict, told) in found.items() if verdict in FAULTS} == {}
    refused = {ask: told for ask, (verdict, told) in found.items() if verdict == "refused"}
    ours = {ask for ask, told in refused.items() if "unexpected" not in told}
    assert ours == REFUSED.get(name, MASKS | OUTS)


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
