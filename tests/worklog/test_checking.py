"""`check`: what it tries, what it says, and what it finds that is no wrong number."""

import numpy as np
from emulated import kernel_of, noise

from softmax_lib import check, kernels
from softmax_lib.worklog.checking import count_attempts


def test_an_attempt_says_what_was_asked_and_what_was_wrong():
    attempt = check("max_from_zero", lengths=(33,)).wrong[0]
    assert (attempt.rows, attempt.cols, attempt.block_size, attempt.offset) == (18, 33, 32, 0)
    assert (attempt.row, attempt.row_name, attempt.column) == (4, "all very negative", 0)
    assert np.isnan(attempt.value)
    assert 0 < attempt.due < 1
    assert attempt.failure.startswith(
        "(18, 33) at 32 threads per block, x 0 floats off: row 4 (all"
    )


def test_a_verdict_has_no_digit_that_depends_on_the_machine():
    result = check("shared", device="cpu", lengths=(33,))
    assert result.verdict == "shared: 4 launches, all within the bound of float32"
    assert str(result) == f"{result.verdict} (on cpu)"
    assert len(result.attempts) == count_attempts(kernels["shared"], lengths=(33,))
    assert result.wrong == result.failures == ()


def test_a_matrix_of_ones_own_is_judged_at_the_kernels_own_block_size_and_has_rows_without_a_kind():
    result = check("fusion", noise(7, 100), device="cpu")
    (attempt,) = result.attempts
    assert result.verdict.startswith("fusion: 1 launch, all within")
    assert (attempt.rows, attempt.cols) == (7, 100)
    assert attempt.block_size == kernels["fusion"].choose_block_size(100)
    x = noise(18, 33)
    x[4] -= 200
    (wrong,) = check("max_from_zero", x, device="cpu").wrong
    assert (wrong.row, wrong.row_name) == (4, "")


def test_a_store_behind_the_end_is_a_failure_where_the_numbers_are_right(monkeypatch):
    # the emulator would stop it: here only what `check` itself looks at is asked
    from softmax_lib.worklog import checking, reference

    def careless(kernel, x, *, block_size, out):
        out[:] = reference.softmax(x)
        np.lib.stride_tricks.as_strided(out, (out.size + 1,), (4,))[-1] = 1.0

    monkeypatch.setattr(checking, "run", careless)
    result = check("naive", device="cpu", lengths=(33,))
    assert result.failures[0].endswith("floats off: it wrote behind the end of y")
    assert result.wrong[0].mistake is None


def test_progress_hears_of_every_attempt():
    heard = []
    result = check(kernel_of("    y[0] = 1.0f;\n"), lengths=(1,), progress=heard.append)
    assert tuple(heard) == result.attempts
