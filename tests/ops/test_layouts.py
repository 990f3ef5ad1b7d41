"""Tensors out of the ordinary and torch's transformations, strides of results, and whose memory a kernel may read."""

import pytest
import torch

from softmax_lib import patch_torch, softmax
from softmax_lib.ops import adoption, functional, operators, topk
from softmax_lib.ops.arguments import is_own
from softmax_lib.suites.conform.asks import ODD, asks
from softmax_lib.suites.conform.judging import OPERATORS, judge
from softmax_lib.suites.conform.record import FAULTS

pytestmark = pytest.mark.filterwarnings("ignore")  # of prototypes, and of what MaskedTensor lacks


@pytest.fixture
def as_on_a_gpu(by_torch, monkeypatch):
    """Let the CPU's tensors go where a GPU's do, with torch in the kernels' place."""
    for module in (functional, topk, adoption):
        monkeypatch.setattr(module, "is_readable", lambda x: x.device.type == "cpu" and is_own(x))
    kernels = (operators._forward, operators._of_scores, operators._backward)
    known = (operators.softmax_operator, operators.scores_operator, operators.gradient_operator)
    for operator, kernel in zip(known, kernels, strict=True):
        operator.register_kernel("cpu")(kernel)
    yield
    patch_torch().undo()


MASKS = {f"outs and gradients: {one} as mask" for one in ("coo", "csr")}
OUTS = {f"outs and gradients: {one} as out" for one in ("no rows", "rows of none", "overlapping")}
NO_K = {"layouts: rows of none as x", "layouts: rows of none as x along dim 1"}
REFUSED = {
    "softmax()": MASKS | OUTS, "log_softmax()": MASKS | OUTS, "softmax_topk()": NO_K, "Softmax": MASKS, "LogSoftmax": MASKS,
    "patch_torch()": {"outs and gradients: overlapping as out"},
}  # fmt: skip
"""What ours refuse where torch does not, beside words that they do not have."""
RACING = ("patch_torch()", ["bad input: out over a part of x"])
"""What a patch leaves to torch, which is right or wrong as its threads go."""


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize("name", [
    "softmax()", "softmax_topk()", "patch_torch()",
    *(pytest.param(name, marks=pytest.mark.full) for name in ("log_softmax()", "Softmax", "LogSoftmax")),  # of the same code
])  # fmt: skip
def test_whatever_is_asked_is_answered_as_torch_does(name):
    every = {ask: one for ask, one in asks("cpu").items() if not ask.startswith("bits")}
    found = {ask: judge(one, OPERATORS[name], "cpu") for ask, one in every.items()}
    faults = {ask: told for ask, (verdict, told) in found.items() if verdict in FAULTS}
    assert not faults or (name, [*faults]) == RACING, faults
    refused = {ask: told for ask, (verdict, told) in found.items() if verdict == "refused"}
    ours = {ask for ask, told in refused.items() if "unexpected" not in told}
    assert ours == REFUSED[name]


@pytest.mark.usefixtures("as_on_a_gpu")
def test_a_compiled_dim_may_be_open():
    compiled = torch.compile(softmax, fullgraph=True, backend="eager", dynamic=True)
    for shape in ((3, 5), (4, 7)):
        x = torch.randn(shape)
        assert torch.equal(compiled(x, 1), torch.softmax(x, 1))


def test_own_are_tensors_whose_memory_holds_their_numbers():
    x = torch.randn(4, 12)
    own = {name for name, make in ODD.items() if is_own(make(x))}
    assert own == {"no rows", "rows of none", "expanded", "overlapping", "complex"}
    assert is_own(torch.nn.Parameter(x))
    with torch.inference_mode():
        assert is_own(x + 1)
    compiled = torch.compile(lambda x: x + is_own(x), fullgraph=True, backend="eager")
    assert torch.equal(compiled(x), x + 1)
    assert torch.equal(torch.func.grad(lambda x: (x * is_own(x)).sum())(x), torch.ones(4, 12))
