"""The kept runs of the RMSNorm page: how near its last step comes to a copy, and to Liger."""

import pytest

from softmax_lib.records.measurement import TIE
from softmax_lib.show.figures import rmsnorm_roof
from softmax_lib.suites.rmsnorm import measure as rmsnorm
from softmax_lib.suites.rmsnorm.record import rmsnorm_times


@pytest.mark.parametrize(("rows", "cols", "dtype"), rmsnorm.CELLS)
def test_the_last_step_is_as_fast_as_a_copy_nearly_and_no_slower_than_liger(rows, cols, dtype):
    found = {one.name: one for one in rmsnorm_times(rows=rows, cols=cols, dtype=dtype)}
    last = found[rmsnorm.STEPS[dtype][-1]]
    assert last.copy_share >= 0.93
    assert last.us < TIE * found["Liger"].us
    assert last.us < found["torch"].us
    assert last.gb_per_s == pytest.approx(last.bytes / last.us / 1e3)


def test_a_roof_is_found_by_the_name_of_its_gpu():
    assert rmsnorm_roof(gpu="NVIDIA H200").alt == rmsnorm_roof().alt
