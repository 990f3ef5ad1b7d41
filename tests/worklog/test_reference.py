"""What is right: float64 softmax, the bound of float32, and the first wrong element."""

import math

import numpy as np
import pytest
import torch

from softmax_lib.worklog import reference
from softmax_lib.worklog.reference import ROWS, adversarial, judge

X = reference.noise(5, 100)


@pytest.mark.parametrize("cols", [1, 2, 33, 1000])
def test_softmax_is_torchs_on_every_kind_of_row(cols):
    x = adversarial(cols)
    due = torch.softmax(torch.from_numpy(x).double(), -1).numpy()
    np.testing.assert_allclose(reference.softmax(x), due, rtol=1e-12, atol=1e-300)


def test_adversarial_rows_are_the_same_each_time_and_differ_from_length_to_length():
    assert adversarial(33).tobytes() == adversarial(33).tobytes()
    assert (adversarial(33)[0] != adversarial(34)[0, :33]).any()
    assert adversarial(33).shape == (len(ROWS), 33)
    assert adversarial(33).dtype == np.float32


def test_a_right_result_has_an_error_and_no_mistake():
    y = reference.softmax(X).astype(np.float32)
    judgement = judge(y, X)
    assert judgement.mistake is None
    assert 0 < judgement.max_abs_error < 1e-7
    assert (judgement.row, judgement.column, judgement.value, judgement.due) == (None,) * 4
    assert judge(torch.from_numpy(y), torch.from_numpy(X)) == judgement


def test_the_first_wrong_element_has_its_place_its_value_and_what_was_due():
    y = reference.softmax(X)
    y[3, 7], y[4, 0] = 0.25, 1.0
    found = judge(y, X)
    assert (found.row, found.column, found.value) == (3, 7, 0.25)
    assert found.due == pytest.approx(float(reference.softmax(X)[3, 7]))
    assert found.mistake == f"row 3, column 7 is 0.25 and should be {found.due:.6g}"
    assert found.max_abs_error == pytest.approx(1.0, abs=0.1)


def test_a_nan_is_right_where_it_is_due_and_only_there():
    x = np.array([[1.0, math.nan], [1.0, 1.0]], np.float32)
    assert judge(np.array([[math.nan, math.nan], [0.5, 0.5]]), x).mistake is None
    assert judge(np.array([[0.5, 0.5], [0.5, 0.5]]), x).row == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_result_may_be_rounded_once_to_its_dtype_and_no_further(dtype):
    x = torch.from_numpy(X).to(dtype)
    name = str(dtype).removeprefix("torch.")
    rounded = torch.softmax(x.double(), -1).to(dtype)
    assert judge(rounded, x, name).mistake is None
    assert judge(rounded, x, "float32").mistake
    one_off = rounded * (1 + 2 * torch.finfo(dtype).eps)
    assert judge(one_off, x, name).mistake


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_of_an_empty_matrix_nothing_is_wrong(shape):
    assert judge(np.zeros(shape), np.zeros(shape)).max_abs_error == 0.0
