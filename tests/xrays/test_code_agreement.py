"""The machine code that comes along, run by the interpreter, has the counters that an H100 had, twice."""

import pytest
from full_tables import some
from machine.rungs_on_gpu import launches

from softmax_lib.engine.compiled.code import key_of
from softmax_lib.engine.compiled.counters import COUNTERS
from softmax_lib.engine.errors import BadInput
from softmax_lib.records.code_agreement import CodeComparison, compare_launch
from softmax_lib.records.counted import CountedLaunch, counted_run
from softmax_lib.worklog.registry import kernels

RECORDED = {f"{one.kernel}-{one.rows}x{one.cols}": one for one in counted_run().launches}


@pytest.mark.fresh
def test_every_kernel_was_counted_on_each_of_its_matrices_as_it_is_now():
    now = [
        (kernel.name, rows, cols, size, key_of(kernel.program(size, cols)))
        for kernel, rows, cols, size in launches()
    ]
    then = [
        (one.kernel, one.rows, one.cols, one.block_size, one.program) for one in RECORDED.values()
    ]
    assert then == now, "record it again: tests/machine/rungs_on_gpu.py"
    assert {one.kernel for one in RECORDED.values()} == kernels.keys()


@pytest.mark.parametrize("name", some(RECORDED, every=4))
def test_every_counter_is_the_gpus(name):
    assert compare_launch(RECORDED[name]).unexplained == {}


def test_only_more_wavefronts_are_noise_and_few_of_them():
    ours = dict.fromkeys(COUNTERS, 100) | {"shared_load_conflicts": 0}

    def unexplained(name, first, second):
        counters = ours | {name: first}
        again = {name: second} if second != first else {}
        launch = CountedLaunch("shared", 1, 1, 32, "", counters, again)
        return set(CodeComparison(launch, ours).unexplained)

    assert unexplained("shared_load_wavefronts", 103, 100) == set()
    assert unexplained("shared_load_conflicts", 3, 0) == set()
    assert unexplained("shared_load_wavefronts", 104, 100) == {"shared_load_wavefronts"}
    assert unexplained("shared_load_wavefronts", 100, 99) == {"shared_load_wavefronts"}
    assert unexplained("instructions", 100, 101) == {"instructions"}


def test_a_gpu_that_was_not_counted_on_is_one_sentence():
    with pytest.raises(BadInput, match="Cannot read the record of counters"):
        counted_run("nvidia-nonesuch")
