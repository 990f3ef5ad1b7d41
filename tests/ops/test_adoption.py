"""patch_torch() and the modules: calls that the kernels take go to them, all others to torch."""

from unittest.mock import Mock

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from softmax_lib import LogSoftmax, Softmax, patch_torch, softmax
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.ops import adoption, functional
from softmax_lib.ops.direct import Way

PLACES = [
    (place, name) for place in (torch, torch.special, F) for name in ("softmax", "log_softmax")
]


@pytest.fixture
def patch():
    with patch_torch() as made:
        yield made


@pytest.fixture
def x(device):
    return torch.randn(6, 40, device=device)


@pytest.fixture
def heard(monkeypatch):
    """Hears the calls that reach our functions, which are those of `functional`."""
    monkeypatch.setattr(functional, "way", Way())
    monkeypatch.setattr(functional.way, "run", lambda *call: None)
    listen = Mock(wraps=functional._apply)
    monkeypatch.setattr(functional, "_apply", listen)
    return listen


def test_every_place_is_replaced_and_put_back():
    before = [getattr(place, name) for place, name in PLACES]
    patch = patch_torch()
    assert patch_torch() is patch
    during = [getattr(place, name) for place, name in PLACES]
    assert "softmax" in vars(torch.Tensor)
    patch.undo()
    patch.undo()
    assert [getattr(place, name) for place, name in PLACES] == before
    assert all(one is not other for one, other in zip(before, during, strict=True))
    assert "softmax" not in vars(torch.Tensor)
    with patch_torch() as second:
        assert second is not patch
    assert torch.softmax is before[0]


def test_the_kernels_get_every_way_of_calling(device, x, patch, heard):
    ways = (
        lambda: torch.softmax(x, 1), lambda: torch.softmax(x, dim=-1), lambda: torch.softmax(input=x, dim=0),
        lambda: x.softmax(-1), lambda: x.softmax(dim=1), lambda: F.softmax(x, 1), lambda: F.softmax(x, dim=1, _stacklevel=5),
        lambda: torch.special.softmax(x, 1), lambda: torch.softmax(x, 1, torch.float32), lambda: F.softmax(x, 1, 3, torch.float32),
        lambda: torch.softmax(x, 1, out=torch.empty_like(x)), lambda: torch.nn.Softmax(dim=1)(x),
    )  # fmt: skip
    for way in ways:
        made = way()
        adoption.patch_torch().undo()
        torch.testing.assert_close(made, way())
        adoption.patch_torch()
    expected = 0 if device == "cpu" else len(ways)
    assert heard.call_count == expected
    x.log_softmax(1), torch.log_softmax(x, 1), F.log_softmax(x, 1), torch.nn.LogSoftmax(1)(x)
    logs = [call.args[2] for call in heard.call_args_list[expected:]]
    assert logs == [True] * (0 if device == "cpu" else 4)
    adoption.patch_torch().undo()


def test_what_the_kernels_do_not_take_is_torchs(device, x, patch, heard):
    assert torch.softmax(x.double(), 1).dtype == torch.float64
    assert torch.softmax(x, 1, dtype=torch.float64).dtype == torch.float64
    with pytest.warns(UserWarning, match="Implicit dimension"):
        F.softmax(x)
    heard.reset_mock()  # once torch has chosen a dimension, it calls x.softmax, which is ours
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.softmax(x, 2)
    with pytest.warns(UserWarning, match="resized"):
        torch.softmax(x, 1, out=torch.empty(3, device=device))
    sparse = torch.sparse.softmax(x.to_sparse(), 1)
    assert sparse.layout is torch.sparse_coo
    heard.assert_not_called()


def test_torchs_own_modules_call_them(device, patch, heard):
    attention = torch.nn.MultiheadAttention(16, 2, batch_first=True).to(device)
    given = torch.randn(2, 5, 16, device=device, requires_grad=True)
    made, weights = attention(given, given, given, need_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 5, device=device))
    made.sum().backward()
    assert given.grad is not None
    assert heard.called == (device == "cuda")


@pytest.mark.gpu
def test_without_a_compiler_torch_takes_over_and_it_is_said_once(monkeypatch, patch, caplog):
    refuse = Mock(side_effect=NotAvailable("CuPy is missing."))
    adoption._tell.cache_clear()
    monkeypatch.setattr(functional, "compute", refuse)
    x = torch.randn(3, 43, device="cuda")
    for _ in range(2):
        torch.testing.assert_close(torch.softmax(x, 1).sum(1), torch.ones(3, device="cuda"))
    assert caplog.messages == ["softmax_lib leaves a softmax to torch: CuPy is missing."]
    with pytest.raises(NotAvailable):
        softmax(x)


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_a_script_of_modules_is_torchs(x, patch):
    scripted = torch.jit.script(torch.nn.Sequential(torch.nn.Softmax(-1), torch.nn.LogSoftmax(-1)))
    patch.undo()
    torch.testing.assert_close(scripted(x), torch.log_softmax(torch.softmax(x, -1), -1))


@pytest.mark.parametrize("traced", [True, False])
def test_a_tensor_that_is_only_looked_at_may_be_ours(monkeypatch, traced):
    if not traced and hasattr(torch.Tensor, "names"):
        pytest.skip("this torch has named tensors")
    monkeypatch.setattr(adoption, "is_traced", lambda: traced)
    with FakeTensorMode():
        x = torch.empty(6, 40, device="cuda")
        assert adoption._is_ours(x, -1, None, None)
        assert not adoption._is_ours(x.double(), -1, None, None)


def test_modules_look_as_torchs():
    for ours, theirs in ((Softmax, torch.nn.Softmax), (LogSoftmax, torch.nn.LogSoftmax)):
        for dim in (0, -1):
            assert repr(ours(dim)) == repr(theirs(dim))
    assert Softmax().dim == -1
