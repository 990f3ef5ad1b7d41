"""Timing and counting, as far as they go without a GPU; nothing here is timed."""

import csv
import io
import shutil
import subprocess
from types import SimpleNamespace

import pytest
import torch

from softmax_lib.bench import contest, peers
from softmax_lib.bench import ncu as counters
from softmax_lib.bench import timing as benchmark
from softmax_lib.bench.timing import Timing
from softmax_lib.errors import NotAvailable, UnknownKernel
from softmax_lib.registry import kernels


def test_bandwidth_counts_one_read_and_one_write():
    assert benchmark.gb_per_s(1000, 1000, 4, time_us=1000.0) == 8.0


def test_a_timing_is_the_median_and_its_quartiles():
    timing = benchmark._summary([3.0, 1.0, 2.0, 4.0, 5.0], calls=10)
    assert timing.median_us == 300.0
    assert timing.low_us < 300.0 < timing.high_us
    assert timing.spread == pytest.approx((timing.high_us - timing.low_us) / 300.0)


def test_the_float4_copy_takes_part_where_16_bytes_divide_the_matrix():
    assert benchmark.copies(1, 8, torch.bfloat16).keys() == {("torch copy", None), ("copy", None)}
    assert benchmark.copies(1, 7, torch.float32).keys() == {("torch copy", None)}


def test_a_peer_that_is_not_there_says_why(monkeypatch):
    def missing():
        raise ImportError("No module named 'quack'")

    monkeypatch.setitem(peers.PEERS, "quack", missing)
    with pytest.raises(NotAvailable, match="quack cannot be had: No module named 'quack'"):
        peers.peer("quack")
    with pytest.raises(UnknownKernel, match=r"'qack'; the peers are torch, torch\.compile"):
        peers.peer("qack")


# --- who takes part in a contest: without a GPU, timing replaced -----------------------------


@pytest.fixture
def cpu(monkeypatch):
    """Let a contest run on the CPU: its matrices lie there, and every call takes 2 µs, copies 1."""
    randn = torch.randn
    monkeypatch.setattr(torch, "randn", lambda *shape, device: randn(*shape))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Test GPU")
    timed = []

    def time_device(calls, rows, cols, **options):
        timed.append(set(calls))
        return {c: Timing(*([1.0] * 3 if c[0] in benchmark.COPIES else [2.0] * 3)) for c in calls}

    monkeypatch.setattr(benchmark, "time_device", time_device)
    return timed


def skips():
    found = {}
    return found, found.__setitem__


def test_a_contest_times_who_runs_and_is_right_beside_the_copies(cpu):
    found, skipped = skips()
    rows = contest.time_shape([("shared", 64), ("torch", None)], 4, 32, skipped=skipped)
    assert [(r.provider, r.block_size, r.median_us, r.copy_us) for r in rows] == [
        ("shared", 64, 2.0, 1.0), ("torch", None, 2.0, 1.0)
    ]  # fmt: skip
    assert cpu == [{("shared", 64), ("torch", None), ("torch copy", None), ("copy", None)}]
    assert rows[0].source.startswith("live on Test GPU, 2")
    assert not found


def test_who_is_missing_refuses_or_is_wrong_is_skipped_by_name(cpu, monkeypatch):
    def refuse(x, y):
        raise ValueError("rows are too long\nfor me")

    monkeypatch.setitem(peers.PEERS, "liger", lambda: refuse)
    monkeypatch.setitem(peers.PEERS, "quack", lambda: lambda x, y: x)
    monkeypatch.setitem(peers.PEERS, "triton", lambda: 1 / 0)
    found, skipped = skips()
    asked = [("liger", None), ("quack", None), ("triton", None), ("torch", None)]
    rows = contest.time_shape(asked, 4, 32, skipped=skipped)
    assert [row.provider for row in rows] == ["torch"]
    assert found == {
        "liger (4, 32) float32": "liger refuses (4, 32): rows are too long",
        "quack (4, 32) float32": "quack gives a wrong result for (4, 32)",
        "triton": "triton cannot be had: division by zero",
    }


def test_a_kernel_that_is_wrong_on_purpose_is_timed_all_the_same(cpu):
    rows = contest.time_shape([("unsafe", 32)], 4, 32)
    assert kernels["unsafe"].flaw
    assert len(rows) == 1


def test_nothing_is_timed_when_nobody_can_run(cpu):
    found, skipped = skips()
    peers_missing = [("liger", None)]
    assert contest.time_shape(peers_missing, 4, 32, skipped=skipped) == []
    assert list(found) == ["liger"]
    assert cpu == []


def test_one_whose_results_do_not_fit_is_skipped_and_the_others_timed(cpu, monkeypatch):
    everyone = benchmark.time_device

    def without_torch(calls, *shape, **options):
        return {c: t for c, t in everyone(calls, *shape, **options).items() if c[0] != "torch"}

    monkeypatch.setattr(benchmark, "time_device", without_torch)
    found, skipped = skips()
    rows = contest.time_shape([("shared", 64), ("torch", None)], 4, 32, skipped=skipped)
    assert [row.provider for row in rows] == ["shared"]
    assert found == {"torch (4, 32) float32": contest.TOO_LARGE}


def test_a_shape_that_does_not_fit_at_all_is_skipped_by_name(cpu, monkeypatch):
    def full(*args, **options):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(benchmark, "time_device", full)
    found, skipped = skips()
    assert contest.time_shape([("shared", 64), ("torch", None)], 4, 32, skipped=skipped) == []
    assert list(found) == ["shared (4, 32) float32", "torch (4, 32) float32"]


@pytest.mark.gpu
def test_a_matrix_larger_than_the_memory_is_skipped_on_a_gpu():
    found, skipped = skips()
    total = torch.cuda.get_device_properties().total_memory
    cols = 1 << 20
    rows = total // 4 // cols + 1
    assert contest.time_shape([("naive", 32), ("torch", None)], rows, cols, skipped=skipped) == []
    assert set(found.values()) == {contest.TOO_LARGE}
    assert contest.time_shape([("shared", 1024)], 64, 4096)  # and the GPU still works


# --- ncu -------------------------------------------------------------------------------------


def test_counters_of_a_kernel_of_several_steps_are_added_up():
    launches = [counters.Launch("naive", 8, 8, 32), counters.Launch("unfused", 8, 8, 256)]
    steps = [1, len(kernels["unfused"].steps)]
    lines = ["ID,Metric Name,Metric Value"]
    for number in range(sum(steps)):
        lines += [f'{number},{metric},"1,000"' for metric in counters.METRICS.values()]
    table = csv.DictReader(io.StringIO("\n".join(lines)))
    naive, unfused = counters._add_up(launches, table)
    assert naive == {**vars(launches[0]), **dict.fromkeys(counters.METRICS, 1000)}
    assert unfused["dram_read_bytes"] == 1000 * steps[1]


def test_without_ncu_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(NotAvailable, match=r"ncu .* is not on the PATH"):
        counters.profile([counters.Launch("naive", 8, 8, 32)])


def test_an_ncu_that_may_not_count_says_so_in_its_own_words(monkeypatch):
    complaint = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/ncu")
    answer = SimpleNamespace(returncode=1, stdout=f"==PROF== hello\n{complaint}\n", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: answer)
    with pytest.raises(NotAvailable, match="ncu read no counters: ERR_NVGPUCTRPERM"):
        counters.profile([counters.Launch("naive", 8, 8, 32)])
