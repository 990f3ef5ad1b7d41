"""The kept runs of the RMSNorm page: how near its last step comes to a copy, and to Liger."""

import pytest

from softmax_lib.cli.suite_table import print_rmsnorm
from softmax_lib.engine.errors import BadInput
from softmax_lib.engine.source import Program
from softmax_lib.records.measurement import TIE
from softmax_lib.suites.rmsnorm import measure as rmsnorm
from softmax_lib.suites.rmsnorm.record import rmsnorm_run, rmsnorm_times


@pytest.mark.parametrize(("rows", "cols", "dtype"), rmsnorm.CELLS)
def test_the_last_step_is_as_fast_as_a_copy_nearly_and_no_slower_than_liger(rows, cols, dtype):
    found = {one.name: one for one in rmsnorm_times(rows=rows, cols=cols, dtype=dtype)}
    last = found[rmsnorm.STEPS[dtype][-1]]
    assert last.copy_share >= 0.93
    assert last.us < TIE * found["Liger"].us
    assert last.us < found["torch"].us
    assert last.gb_per_s == pytest.approx(last.bytes / last.us / 1e3)


def test_every_step_is_faster_than_the_one_before_it():
    for rows, cols, dtype in rmsnorm.CELLS[:2]:
        found = {one.name: one.us for one in rmsnorm_times(rows=rows, cols=cols, dtype=dtype)}
        times = [found[name] for name in rmsnorm.STEPS[dtype]]
        assert times == sorted(times, reverse=True)


def test_a_table_has_a_line_for_each_time_and_a_gpu_without_a_run_is_told(capsys):
    print_rmsnorm(rmsnorm_run())
    assert capsys.readouterr().out.count("x4096") == len(rmsnorm_times(cols=4096))
    with pytest.raises(BadInput, match="bench --suite rmsnorm --keep"):
        rmsnorm_times("No Such")


@pytest.mark.fresh
@pytest.mark.parametrize("name", [name for names in rmsnorm.STEPS.values() for name in names])
def test_no_step_has_changed_since_it_was_timed(name):
    digest = Program(rmsnorm.step(name).source).digest
    assert rmsnorm_run()["digests"][name] == digest, (
        f"{name} has changed: `softmax-lib bench --suite rmsnorm --keep` on a GPU times it anew."
    )
