"""Who takes part in a contest, and who is skipped with which words; without a GPU, timing replaced."""

from unittest.mock import Mock

import pytest
import torch

from softmax_lib.engine.errors import UnknownKernel
from softmax_lib.records.measurement import PEERS, Case
from softmax_lib.suites import timing, together
from softmax_lib.suites.peers import providers
from softmax_lib.worklog.registry import kernels

SHARED, TORCH = Case("shared", 4, 32, block_size=64), Case("torch", 4, 32)


def time_together(*cases, search=False):
    """What was timed, and what was skipped and why."""
    skipped = {}
    return together.time_together(cases, search=search, skipped=skipped.__setitem__), skipped


def test_a_contest_times_who_runs_and_is_right_beside_the_copies(cpu):
    found, skipped = time_together(SHARED, TORCH)
    assert [(t.case, t.median_us, t.copy_us) for t in found] == [
        (SHARED, 5.0, 3.0),
        (TORCH, 5.0, 3.0),
    ]
    assert [list(calls) for calls, _ in cpu.asked] == [["torch copy", "copy", "shared", "torch"]]
    assert found[0].source.startswith("live on Tesla T4, 2")
    assert skipped == {}


def test_who_is_missing_refuses_or_is_only_nearly_right_is_skipped_by_name(cpu, monkeypatch):
    refuse = Mock(side_effect=ValueError("rows are too long\nfor me"))
    monkeypatch.setitem(providers.CALLS, "liger", lambda: refuse)
    off = 1 + 1e-4  # ten times the bound for a row of 32 floats
    monkeypatch.setitem(providers.CALLS, "quack", lambda: lambda x, y: off * torch.softmax(x, -1))
    monkeypatch.setitem(providers.CALLS, "triton", lambda: 1 / 0)
    asked = [Case(name, 4, 32) for name in ("liger", "quack", "triton", "torch")]
    found, skipped = time_together(*asked)
    assert [t.case.provider for t in found] == ["torch"]
    assert skipped == {
        Case("liger", 4, 32): "liger refuses (4, 32): rows are too long",
        Case("quack", 4, 32): "quack gives a wrong result for (4, 32)",
        "triton": "triton cannot be had: division by zero",
    }


def test_a_kernel_that_is_wrong_on_purpose_is_timed_all_the_same(cpu):
    assert kernels["unsafe"].flaw
    found, _ = time_together(Case("unsafe", 4, 32, block_size=32))
    assert len(found) == 1


def test_a_step_is_timed_alone_though_it_is_no_softmax(cpu):
    step = kernels["unfused"].steps[1].entry
    case = Case("unfused", 4, 32, block_size=32, step=step)
    found, skipped = time_together(case)
    assert ([t.case for t in found], skipped) == ([case], {})


def test_a_search_leaves_out_block_sizes_far_from_the_kernels_best_and_no_peer(cpu, monkeypatch):
    sizes = {32: 10.0, 64: 4.0, 128: 12.0, 256: 12.1}
    cases = [Case("shared", 4, 32, block_size=size) for size in sizes]
    once = dict(zip([*cases, TORCH], [*sizes.values(), 99.0], strict=True))
    asked = iter(once.values())
    monkeypatch.setattr(timing, "time_once", lambda call, x, y: next(asked))
    found, skipped = time_together(*cases, TORCH, search=True)
    assert [t.case.block_size for t in found] == [32, 64, 128, None]
    assert skipped == {}
    assert len(time_together(*cases)[0]) == len(sizes)


def test_nothing_is_timed_when_nobody_can_run(cpu):
    found, skipped = time_together(Case("liger", 4, 32))
    assert found == cpu.asked == []
    assert list(skipped) == ["liger"]


def test_one_whose_results_do_not_fit_is_skipped_and_the_others_timed(cpu, monkeypatch):
    everyone = timing.time_device

    def without_torch(calls):
        return {case: t for case, t in everyone(calls).items() if case.provider != "torch"}

    monkeypatch.setattr(timing, "time_device", without_torch)
    found, skipped = time_together(SHARED, TORCH)
    assert [t.case.provider for t in found] == ["shared"]
    assert skipped == {TORCH: together.TOO_LARGE}


def test_a_shape_that_does_not_fit_at_all_is_skipped_by_name(cpu, monkeypatch):
    full = Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory"))
    monkeypatch.setattr(timing, "time_device", full)
    found, skipped = time_together(SHARED, TORCH)
    assert found == []
    assert list(skipped) == [Case("shared", 4, 32), Case("torch", 4, 32)]


@pytest.mark.gpu
def test_a_matrix_larger_than_the_memory_is_skipped_on_a_gpu():
    total = torch.cuda.get_device_properties().total_memory
    cols = 1 << 20
    rows = total // 4 // cols + 1
    found, skipped = time_together(
        Case("naive", rows, cols, block_size=32), Case("torch", rows, cols)
    )
    assert found == []
    assert set(skipped.values()) == {together.TOO_LARGE}
    assert time_together(Case("shared", 64, 4096, block_size=1024))[0]  # and the GPU still works


@pytest.mark.gpu
@pytest.mark.alone
def test_times_on_a_gpu_are_those_of_its_memory():
    # a copy of 1 GiB from and to memory is far slower than any cache, and nothing beats it by much
    cases = [Case("torch", 4096, 65536), Case("shared", 4096, 65536, block_size=1024)]
    for found in time_together(*cases)[0]:
        assert 0 < found.low_us <= found.median_us <= found.high_us < 2 * found.low_us
        assert 0.1 < found.copy_share < 1.05
        assert found.copy_gb_per_s > 100


def test_every_peer_has_a_call():
    assert tuple(providers.CALLS)[: len(PEERS)] == PEERS


def test_a_peer_that_nobody_knows_is_told_the_peers():
    with pytest.raises(UnknownKernel, match=r"'qack'; the peers are torch, torch\.compile"):
        providers.peer("qack")
