"""What the tests of `softmax()` share."""

import pytest
import torch

from softmax_lib.ops import functional, operators, topk
from softmax_lib.ops.scores import added_up

THEIRS = {False: torch.softmax, True: torch.log_softmax}


@pytest.fixture(autouse=True)
def memory_for_others():
    """Several processes test on one GPU, and some matrices take a tenth of its memory."""
    yield
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def in_memory(*tensors):
    """As a kernel takes them: numbers at an address, and whoever asks for it has looked before."""
    for one in tensors:
        is_plain = type(one) in (torch.Tensor, torch.nn.Parameter) and one.layout is torch.strided
        if not is_plain or one.is_nested or one.is_neg() or one._is_zerotensor() or not one.is_cpu:
            pytest.fail(f"a kernel would read the memory of {one}")
        one.data_ptr()


@pytest.fixture
def by_torch(monkeypatch):
    """Let torch compute what the kernels would."""

    @torch.no_grad()
    def compute(first, second, result, dim, log, scale=1.0):
        in_memory(first, result)
        if second is None:
            result.copy_(THEIRS[log](first.to(result.dtype), dim))
        else:
            in_memory(second)
            backward = torch._log_softmax_backward_data if log else torch._softmax_backward_data
            result.copy_(scale * backward(second, first, dim, first.dtype))

    @torch.no_grad()
    def compute_scores(x, mask, result, scale, causal, log):
        in_memory(x, result, *([] if mask is None else [mask]))
        result.copy_(THEIRS[log](added_up(x, mask, scale, causal).to(result.dtype), -1))

    @torch.no_grad()
    def launch(x, values, indices, k):
        in_memory(x, values, indices)
        for result, found in zip((values, indices), topk._sorted(x, k), strict=True):
            result.copy_(found)

    for module in (operators, functional):
        monkeypatch.setattr(module, "compute", compute)
        monkeypatch.setattr(module, "compute_scores", compute_scores)
    monkeypatch.setattr(topk, "_launch", launch)
