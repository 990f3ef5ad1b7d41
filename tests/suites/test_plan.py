"""What a record has to hold for the book's figures, tables and explorers to be drawn from it."""

from suites.conftest import planned

from softmax_lib import recorded
from softmax_lib.records.measurement import PEERS
from softmax_lib.suites.plan import (
    PEER_SHAPES,
    QUICK_SHAPES,
    WAVES,
    WORKLOG,
    plan,
    profiled,
)
from softmax_lib.worklog.registry import kernels, rungs

RECORDED = {name for name, kernel in kernels.items() if not kernel.suite}


def test_all_that_the_book_recorded_is_still_of_the_plan():
    assert recorded.timings.keys() <= planned()


def test_every_kernel_without_a_suite_of_its_own_and_every_peer_is_timed():
    assert {case.provider for case in planned()} == {*RECORDED, *PEERS}


def test_every_launch_of_the_plan_is_one_that_its_kernel_takes():
    for case in planned():
        if case.provider in kernels:
            kernel = kernels[case.provider]
            assert kernel.settle_block_size(case.block_size, case.cols) == case.block_size
        else:
            assert case.block_size is None


def test_a_job_is_one_matrix_with_one_state_of_the_cache():
    seen = set()
    for job in plan():
        (facts,) = {(case.shape, case.dtype, case.l2, case.data) for case in job}
        assert facts not in seen
        seen.add(facts)
    assert {(l2, data) for *_, l2, data in seen} == {
        ("cold", "normal"), ("hot", "normal"), ("cold", "spread"), ("cold", "masked"),
    }  # fmt: skip


def test_the_quick_plan_is_the_part_of_the_whole_on_two_shapes():
    assert planned(quick=True) == {case for case in planned() if case.shape in QUICK_SHAPES}


def test_profiles_are_of_every_kernel_as_it_was_timed_but_for_one_that_takes_minutes():
    assert {case.provider for case in profiled()} == RECORDED
    timed = {case for case in profiled() if case.shape == WORKLOG}
    assert timed <= planned()
    assert {case.provider for case in timed} == RECORDED - {"per_element"}
    assert {case.shape for case in profiled(quick=True)}.isdisjoint({WORKLOG})


def test_every_rung_is_searched_on_every_shape_that_peers_are_timed_on():
    for kernel in rungs():
        for rows, cols in PEER_SHAPES["float32"]:
            sizes = {
                c.block_size
                for c in planned()
                if (c.provider, c.shape) == (kernel.name, (rows, cols))
            }
            assert bool(sizes) == bool(kernel.legal_block_sizes(cols))
            if kernel.steps[0].grid == "block a row":
                assert sizes == set(kernel.legal_block_sizes(cols))


def test_a_block_with_more_threads_than_rows_is_tried_once():
    sizes = {c.block_size for c in planned() if (c.provider, c.shape) == ("naive", (1, 1048576))}
    assert sizes == {32}


def test_every_step_of_a_kernel_of_several_is_timed_alone():
    steps = {(c.provider, c.step) for c in planned() if c.step}
    assert steps == {
        (k.name, s.entry) for k in kernels.values() if len(k.steps) > 1 for s in k.steps
    }


def test_rows_that_come_in_whole_waves_follow_the_gpu():
    def rows(multiprocessors):
        cases = {c for job in plan(multiprocessors=multiprocessors) for c in job}
        return {c.rows for c in cases if c.provider == "fusion_two_barriers" and c.shape != WORKLOG}

    assert rows(40) == {*(40 * waves for waves in WAVES), 321}
