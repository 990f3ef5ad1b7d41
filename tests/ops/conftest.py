"""What the tests of `softmax()` share."""

import shutil

import pytest
import torch

from softmax_lib.ops import functional, operators, topk
from softmax_lib.ops.outlines import FOLDER
from softmax_lib.ops.scores import added_up

PLAIN = (torch.Tensor, torch.nn.Parameter)
CUTS = "__device__ static bool is_sure(Pair row, long long cols, int threads) {"
THEIRS = {False: torch.softmax, True: torch.log_softmax}


@pytest.fixture(autouse=True)
def memory_for_others():
    """Several processes test on one GPU, and some matrices take a tenth of its memory."""
    yield
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def in_memory(kernel):
    """Of tensors as a kernel takes them: numbers at an address, and whoever asks for it has looked before."""

    @torch.no_grad()
    def run(*given):
        for one in given:
            if isinstance(one, torch.Tensor):
                is_plain = type(one) in PLAIN and one.is_cpu and not torch.jit.is_tracing()
                has_numbers = not (one.is_nested or one.is_neg() or one._is_zerotensor())
                if not (is_plain and has_numbers and one.layout is torch.strided):
                    pytest.fail(f"a kernel would read the memory of {one}")
                one.data_ptr()
        kernel(*given)

    return run


@pytest.fixture
def by_torch(monkeypatch):
    """Let torch compute what the kernels would."""

    def compute(first, second, result, dim, log, scale=1.0):
        if second is None:
            result.copy_(THEIRS[log](first.to(result.dtype), dim))
        else:
            backward = torch._log_softmax_backward_data if log else torch._softmax_backward_data
            result.copy_(scale * backward(second, first, dim, first.dtype))

    def compute_scores(x, mask, result, scale, causal, log):
        result.copy_(THEIRS[log](added_up(x, mask, scale, causal).to(result.dtype), -1))

    def launch(x, values, indices, k):
        for result, found in zip((values, indices), topk._sorted(x, k), strict=True):
            result.copy_(found)

    for module in (operators, functional):
        monkeypatch.setattr(module, "compute", in_memory(compute))
        monkeypatch.setattr(module, "compute_scores", in_memory(compute_scores))
    monkeypatch.setattr(topk, "_launch", in_memory(launch))


@pytest.fixture(scope="session")
def exact_folder(tmp_path_factory):
    """The kernels with nothing ever sure: each sum of finite numbers is made of whole numbers."""
    folder = tmp_path_factory.mktemp("kernels") / "fast"
    shutil.copytree(FOLDER, folder)
    text = (folder / "settled.cuh").read_text()
    assert text.count(CUTS) == 2
    never = f"{CUTS} if (HAS_MAX || fabs(row.sum) < INFINITY) return false;"
    (folder / "settled.cuh").write_text(text.replace(CUTS, never))
    return folder
