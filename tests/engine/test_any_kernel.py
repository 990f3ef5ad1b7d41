"""Any kernel runs in both places by the same words, and what it leaves in its arrays is right."""

import numpy as np
import pytest
from engine.launched import C_NAMES, launch_on
from engine.subjects import CASES, read
from full_tables import some

from softmax_lib.worklog.xray import xray_launch

IDS = [f"{subject.name}-{dtype}" for subject, dtype in CASES]
NAMED = [pytest.param(*case, id=name) for case, name in zip(CASES, IDS, strict=True)]


def words_of(subject, dtype):
    """What launches a subject, in the words of `launch`."""
    name = subject.kernel.format(T=C_NAMES.get(dtype, dtype))
    words = {"source": subject.text, "grid": subject.grid, "block": subject.block, "kernel": name}
    return words | subject.how


def copies(arguments):
    """Arrays as they are now, and numbers."""
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def numbers_in(array, dtype):
    """What an array holds: bfloat16s, of which it has the bits, where it is one of that dtype."""
    is_bits = dtype == "bfloat16" and array.dtype == np.uint16
    return read(array, "bfloat16" if is_bits else str(array.dtype))


def assert_right(subject, dtype, before, after):
    for was, is_now, expected in zip(before, after, subject.expected(dtype, *before), strict=False):
        if expected is ...:
            continue
        if expected is None:
            np.testing.assert_array_equal(is_now.view(np.uint8), was.view(np.uint8))
            continue
        tolerance = subject.tolerance.get(dtype, 0)
        found = numbers_in(is_now, dtype)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("subject", "dtype"), some(NAMED, every=2))
def test_a_kernel_leaves_what_its_formula_says(subject, dtype, device):
    arguments = subject.arguments(dtype)
    before = copies(arguments)
    launch_on(device, words_of(subject, dtype), arguments)
    assert_right(subject, dtype, before, arguments)


def test_macros_are_defined_in_both_places(device):
    text = "__global__ void fill(int* n) { if (threadIdx.x < SIZE) n[threadIdx.x] = VALUE; }"
    words = {"source": text, "grid": 1, "block": 8, "defines": {"SIZE": 3, "VALUE": 7}}
    n = np.zeros(4, np.int32)
    launch_on(device, words, [n])
    assert n.tolist() == [7, 7, 7, 0]
    launch_on(device, words | {"defines": {"SIZE": 1, "VALUE": np.int64(-2)}}, [n])
    assert n.tolist() == [-2, 7, 7, 0]


@pytest.mark.parametrize(("subject", "dtype"), some(NAMED, every=7))
def test_an_xray_of_it_finds_no_hazard_and_leaves_the_same(subject, dtype):
    arguments = subject.arguments(dtype)
    before = copies(arguments)
    found = xray_launch(args=arguments, **words_of(subject, dtype))
    assert found.hazards == ()
    assert_right(subject, dtype, before, arguments)
    asked = {line.array for line in found.lines if line.space == "global"}
    assert {name for name in asked if name} == asked
