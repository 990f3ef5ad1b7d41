"""Tensors out of the ordinary, as x, out, mask and gradient: torch's result, or a sentence; and strides of results."""

import re
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.masked import masked_tensor

from softmax_lib import log_softmax, softmax, softmax_topk
from softmax_lib.ops.arguments import is_own
from softmax_lib.worklog.errors import SoftmaxLibError

pytestmark = pytest.mark.filterwarnings("ignore")  # of prototypes, and of what MaskedTensor lacks


class Mine(torch.Tensor):
    """As a user's own."""


def fake(x):
    with FakeTensorMode(allow_non_fake_inputs=True):
        return torch.empty_like(x)


ODD = {
    "jagged": lambda x: torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged),
    "nested": lambda x: torch.nested.nested_tensor([x, x[:2]]),
    "coo": lambda x: x.to_sparse(),
    "csr": lambda x: x.to_sparse_csr(),
    "masked": lambda x: masked_tensor(x, x > 0),
    "quantized": lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
    "complex": lambda x: torch.complex(x, x),
    "meta": lambda x: x.to("meta"),
    "fake": fake,
    "a subclass": lambda x: x.clone().as_subclass(Mine),
    "signs to be turned": lambda x: torch.complex(x, x).conj().imag,
    "zeros that nobody wrote": lambda x: torch._efficientzerotensor(x.shape, device=x.device),
    "no rows": lambda x: x[:0],
    "rows of none": lambda x: x[:, :0],
    "expanded": lambda x: x[:1].expand(4, 5),
    "overlapping": lambda x: x.as_strided((4, 5), (3, 1)),
}


def topk(x, dim):
    return softmax_topk(x, 2, dim).values


CALLS = {
    "softmax": (softmax, torch.softmax),
    "log_softmax": (log_softmax, torch.log_softmax),
    "softmax_topk": (topk, lambda x, dim: torch.topk(torch.softmax(x, dim), 2, dim)[0]),
}
ROLES = {
    "x": lambda f, x, odd: f(odd, -1),
    "x, along the rows": lambda f, x, odd: f(odd, 1),
    "out": lambda f, x, odd: f(x, -1, out=odd),
    "mask": lambda f, x, odd: f(x, -1, mask=odd),
    "gradient": lambda f, x, odd: torch.autograd.grad(f(x.requires_grad_(), -1), x, odd)[0],
}  # fmt: skip


def in_numbers(y):
    """A result as a plain tensor; of one without numbers its strides."""
    kind = type(y).__name__
    if kind == "MaskedTensor":
        return y.to_tensor(7.0)
    if y.is_nested:
        return y.to_padded_tensor(7.0)
    if y.is_meta or kind == "FakeTensor":
        return torch.tensor([*y.shape, *y.stride()])
    assert kind in ("Tensor", "Mine")
    return y.as_subclass(torch.Tensor).detach().clone()


def outcome(call):
    """A result in numbers, or what was raised."""
    try:
        return in_numbers(call()), None
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return None, error


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", CALLS)
def test_an_odd_tensor_gives_what_torch_gives_or_a_sentence(device, name, role, odd):
    ours, theirs = CALLS[name]
    if name == "softmax_topk" and role in ("out", "mask"):
        pytest.skip("it takes none")
    in_torchs_words = theirs
    if role == "mask":

        def in_torchs_words(x, dim, mask):
            return theirs(x + mask, dim)

    x = torch.arange(20.0, device=device).sin().view(4, 5)
    wanted, refused = outcome(lambda: ROLES[role](in_torchs_words, x.clone(), ODD[odd](x.clone())))
    found, said = outcome(lambda: ROLES[role](ours, x.clone(), ODD[odd](x.clone())))
    if isinstance(said, SoftmaxLibError):
        assert re.fullmatch(r"[^\n]+\.", str(said))
        assert odd != "a subclass"
    elif said:
        assert refused
    elif not refused:
        torch.testing.assert_close(found, wanted, equal_nan=True)
    torch.testing.assert_close(ours(x, -1), theirs(x, -1))


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
