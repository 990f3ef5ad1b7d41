"""Chapter 13's kernel keeps a row's bits, its controls don't; and what its suite's run holds."""

import numpy as np
import pytest
import torch

from softmax_lib import kernels, run
from softmax_lib.suites import precision
from softmax_lib.suites.times import PRECISION
from softmax_lib.worklog.reference import noise

FAITHFUL = "order_free", "order_free_split_too"
ON = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def bits(name, x, device, **words):
    return run(name, torch.from_numpy(x).to(device), **words).cpu().numpy().tobytes()


@pytest.mark.parametrize("device", ON)
@pytest.mark.parametrize("name", [*FAITHFUL, "order_free_floats", "order_free_split"])
def test_whole_numbers_keep_a_rows_bits_alone_and_in_any_block_and_floats_do_not(name, device):
    x = noise(132, 1000)
    in_blocks = {bits(name, x, device, block_size=size) for size in kernels[name].block_sizes}
    by_one = b"".join(bits(name, row, device) for row in np.split(x, len(x)))
    assert (len(in_blocks) == 1) == (name in FAITHFUL)
    assert (by_one == bits(name, x, device)) == (name != "order_free_split")


@pytest.mark.parametrize("device", ON)
def test_equal_scores_fill_the_whole_number_and_no_more(device):
    for cols in (1, 2, 1023, 1024, 32767, 32768):
        assert (run("order_free", torch.full((1, cols), 7.0, device=device)) == np.float32(1 / cols)).all()  # fmt: skip


def test_a_run_holds_what_a_reader_of_it_needs(cpu, monkeypatch):
    for name in ("require_right", "errors"):
        monkeypatch.setattr(precision, name, lambda *of: [{"ulp": 1.5}])
    monkeypatch.setattr(precision, "MATRICES", [(100, 96)])
    times = PRECISION.read(run := precision.run_suite(lambda *told: None))
    assert {one.who for one in times} >= {"order_free", "order_free_ex2", "fusion", "torch"}
    assert (times[0].us, times[0].copy_us) == (5, 3)
    assert run["powers"] == [{"ulp": 1.5}]
    assert kernels["order_free"].digest == run["digests"]["order_free"]


def test_an_error_is_counted_in_units_of_the_last_place_of_what_is_due():
    due = torch.tensor([1.0, 0.75, 2.0**-100], dtype=torch.float64)
    for place, unit in enumerate((2.0**-23, 2.0**-24, 2.0**-123)):
        y = due.clone()
        y[place] += 3 * unit
        assert precision.ulps(y.float(), due) == 3


@pytest.mark.gpu
def test_exponentials_are_as_near_as_cuda_says():
    found = {(one["power"], one["reach"]): one["ulp"] for one in precision.errors()}
    assert all(found["expf", reach] <= 2.1 >= found["ex2", reach] for reach in precision.REACHES)
    assert found["__expf", 87.0] > 10 > found["__expf", 1.0]
