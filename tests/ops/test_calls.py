"""Calls of prepared launches in C, on a computer without a GPU: tensors of the CPU, and a driver that notes."""

import ctypes
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from torch.autograd.graph import increment_version

from softmax_lib.gpu.driver_api import Config, attributes
from softmax_lib.ops import direct

_calls = pytest.importorskip("softmax_lib.ops._calls")

EXCHANGE = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
pytestmark = pytest.mark.skipif(EXCHANGE is None, reason="this torch has no tensors for C")

KERNEL = 0xDEADBEEF
CPU = 1


class Driver:
    """Takes launches as CUDA's driver does, and notes them."""

    def __init__(self):
        self.launches, self.status, self.device = [], 0, 0
        values = ctypes.POINTER(ctypes.POINTER(ctypes.c_uint64))
        types = (ctypes.POINTER(Config), ctypes.c_void_p, values, ctypes.c_void_p)
        self.launch = ctypes.CFUNCTYPE(ctypes.c_int, *types)(self._launch)
        self.current = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int))(self._current)

    def _launch(self, config, kernel, arguments, extra):
        asked = config.contents
        said = [(one.id, one.value[0]) for one in asked.attributes[: asked.count]]
        numbers = [arguments[i].contents.value for i in range(5)]
        sizes = asked.grid[0], asked.block[0], asked.shared_bytes
        self.launches.append((kernel, *sizes, said, numbers))
        return self.status

    def _current(self, device):
        device[0] = self.device
        return 0


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture
def idle():
    """What the modes of torch answer, to be changed."""
    return {"modes": 0, "autocast": False}


@pytest.fixture
def calls(driver, idle):
    addresses = (ctypes.cast(one, ctypes.c_void_p).value for one in (driver.launch, driver.current))
    modes, autocast = ((lambda: idle["modes"], 0),), ((lambda: idle["autocast"], False),)
    asked = (increment_version, torch.is_grad_enabled, torch.Tensor.is_neg)
    made = (torch.Tensor, torch.empty_like, *asked)
    return _calls.Calls(EXCHANGE, *addresses, CPU, *made, modes, autocast, 3)


def keep(calls, x, out=None, dim=-1, log=False):
    calls.keep(x, out, dim, log, KERNEL, 7, 256, 4096, bytes(attributes({4: (8, 1, 1)})), (11, 12))


def test_a_call_queues_what_was_kept_with_the_addresses_of_its_own_tensors(calls, driver):
    first, x, y = torch.randn(3, 5, 96)
    keep(calls, first, torch.empty(5, 96))
    assert calls.run(x, y, -1, False) is y
    numbers = [x.data_ptr(), 0, y.data_ptr(), 11, 12]
    assert driver.launches == [(KERNEL, 7, 256, 4096, [(4, 8)], numbers)]


def test_a_result_is_made_where_none_is_given(calls, driver):
    x = torch.randn(5, 96)
    keep(calls, x)
    y = calls.run(x, None, -1, False)
    assert y.shape == x.shape
    assert y.dtype is x.dtype
    assert driver.launches[0][-1][:3] == [x.data_ptr(), 0, y.data_ptr()]


def wide(*shape):
    return torch.randn(*shape[:-1], shape[-1] + 1)[..., :-1]


def odd(*shape):
    """Not at 16 bytes."""
    return torch.randn(torch.Size(shape).numel() + 1)[1:].view(shape)


X = torch.randn(5, 96)


OTHERS = [
    torch.randn(5, 97), torch.randn(6, 96), torch.randn(5, 96, 1), X.half(), X.bfloat16(), X.double(), wide(5, 96),
    odd(5, 96), torch.randn(5, 96, requires_grad=True), torch.nn.Parameter(X, requires_grad=False), "x",
    torch._neg_view(X), torch._efficientzerotensor(5, 96), X.to("meta"), X.to_sparse(),
]  # fmt: skip


@pytest.mark.parametrize(("x", "out", "dim", "log"), [
    *((x, None, -1, False) for x in OTHERS), *((X, None, dim, False) for dim in (0, 1, None, 1 << 70, "rows")),
    (X, None, -1, True), (X, torch.empty(5, 96), -1, False), (X, torch.empty(5, 97), -1, False),
    (X, torch.empty(5, 96).half(), -1, False), (X, torch.empty(5, 96, requires_grad=True), -1, False), (X, "out", -1, False),
])  # fmt: skip
def test_whatever_else_is_asked_for_is_left_to_python(calls, driver, x, out, dim, log):
    keep(calls, X)
    assert calls.run(x, out, dim, log) is None
    assert driver.launches == []


def test_strides_and_alignment_of_the_result_tell_calls_apart(calls, driver):
    x = torch.randn(5, 96)
    keep(calls, x, torch.empty(5, 96))
    assert calls.run(x, wide(5, 96), -1, False) is None
    assert calls.run(x, odd(5, 96), -1, False) is None
    assert calls.run(x, torch.empty(5, 96), -1, False) is not None
    assert len(driver.launches) == 1


@pytest.mark.parametrize("behind", [-95, -1, 1, 96, 479])
def test_a_result_that_overlaps_the_input_in_part_is_left_to_python(calls, driver, behind):
    memory = torch.zeros(3 * 480)
    x = memory[480:960].view(5, 96)
    out = memory[480 + behind : 960 + behind].view(5, 96)
    for misaligned in range(0, 16, 4):  # whichever it is
        given = torch.zeros(484)[misaligned // 4 :][:480].view(5, 96)
        keep(calls, x, given)
    assert calls.run(x, out, -1, False) is None
    assert driver.launches == []


def test_in_place_and_side_by_side_are_no_overlap(calls, driver):
    memory = torch.zeros(2 * 480)
    x, out = memory.view(2, 5, 96)
    keep(calls, x, out)
    assert calls.run(x, x, -1, False) is x
    assert calls.run(x, out, -1, False) is out
    assert calls.run(out, x, -1, False) is x
    assert len(driver.launches) == 3


def test_a_mode_of_torch_another_current_gpu_and_a_refusal_are_left_to_python(calls, driver, idle):
    x = torch.randn(5, 96)
    keep(calls, x)
    idle["modes"] = 1
    assert calls.run(x, None, -1, False) is None
    idle["modes"], driver.device = 0, 1
    assert calls.run(x, None, -1, False) is None
    assert driver.launches == []
    driver.device, driver.status = 0, 201
    assert calls.run(x, None, -1, False) is None
    driver.status = 0
    assert calls.run(x, None, -1, False) is not None


def test_autograd_hears_of_a_result_that_is_written_over(calls):
    x, out = torch.randn(5, 96), torch.ones(5, 96)
    keep(calls, x, out)
    weight = torch.ones(5, 96, requires_grad=True)
    loss = (weight * out).sum()
    calls.run(x, out, -1, False)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with torch.inference_mode():  # such tensors have no versions
        x, out = torch.randn(2, 5, 96)
        assert calls.run(x, out, -1, False) is out


def test_a_tensor_that_requires_a_gradient_is_taken_where_none_is_wanted(calls):
    x, out = (torch.randn(5, 96).requires_grad_() for _ in range(2))
    keep(calls, x.detach())
    keep(calls, x.detach(), out.detach())
    assert calls.run(x, None, -1, False) is None
    with torch.no_grad():
        y = calls.run(x, None, -1, False)
        assert not y.requires_grad
        assert calls.run(x, out, -1, False) is out


def test_autocast_matters_to_16_bits_alone(calls, idle):
    x, half = torch.randn(5, 96), torch.randn(5, 96).half()
    keep(calls, x)
    keep(calls, half)
    idle["autocast"] = True
    assert calls.run(x, None, -1, False) is not None
    assert calls.run(half, None, -1, False) is None


def test_calls_by_turns_each_find_their_own_launch(calls, driver):
    for cols in (3, 4):
        numbers = (cols,) * 2
        calls.keep(torch.randn(2, cols), None, -1, False, cols, 1, 32, 0, b"", numbers)
    for cols in (3, 4, 4, 3):
        calls.run(torch.randn(2, cols), None, -1, False)
    assert [launch[0] for launch in driver.launches] == [3, 4, 4, 3]
    calls.keep(torch.randn(2, 3), None, -1, False, 5, 1, 32, 0, b"", (3, 3))
    calls.run(torch.randn(2, 3), None, -1, False)
    assert driver.launches[-1][0] == 5


def test_no_more_are_kept_than_was_said(calls):
    for cols in range(1, 10):
        keep(calls, torch.randn(2, cols))
        found = [calls.run(torch.randn(2, one), None, -1, False) for one in range(1, 10)]
        assert 1 <= 9 - found.count(None) <= 3
        assert found[cols - 1] is not None


def test_what_no_launch_has_room_for_is_refused(calls):
    x = torch.randn(2, 3)
    with pytest.raises(ValueError, match="too many"):
        calls.keep(x, None, -1, False, KERNEL, 1, 1, 0, b"", tuple(range(9)))
    with pytest.raises(ValueError, match="too many"):
        calls.keep(x, None, -1, False, KERNEL, 1, 1, 0, bytes(71), ())


def test_many_calls_leave_no_tensor_behind(calls):
    x, out = torch.randn(2, 5, 96)
    keep(calls, x, out)
    before = sys.getrefcount(x), sys.getrefcount(out)
    for _ in range(1000):
        calls.run(x, out, -1, False)
        calls.run(x, None, -1, False)
    assert (sys.getrefcount(x), sys.getrefcount(out)) == before


@pytest.mark.parametrize("missing", ["driver", "function", "module", "tensors"])
def test_without_one_of_its_parts_there_is_no_such_way(monkeypatch, missing):
    no_driver = Mock(side_effect=OSError("no libcuda.so.1"))
    some = ctypes.pythonapi.Py_IsInitialized
    functions = {"cuCtxGetDevice": some, "cuLaunchKernelEx": some}
    if missing == "function":
        del functions["cuLaunchKernelEx"]  # as in a driver of CUDA 11
    found = no_driver if missing == "driver" else lambda: SimpleNamespace(**functions)
    monkeypatch.setattr(direct, "driver", found)
    if missing == "module":
        monkeypatch.setitem(sys.modules, "softmax_lib.ops._calls", None)
    if missing == "tensors":
        monkeypatch.delattr(torch.Tensor, "__dlpack_c_exchange_api__")
    assert direct._calls.__wrapped__() is None


def test_every_mode_of_torch_is_idle_now():
    assert all(function() is answer for function, answer in (*direct.IDLE, *direct.IDLE_16))


def test_a_tensor_of_the_cpu_never_asks_for_a_gpu():
    assert direct.way.run(torch.randn(2, 3), None, -1, False) is None
