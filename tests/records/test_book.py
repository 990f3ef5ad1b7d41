"""The book's own record: it is whole, and its numbers can be true."""

from dataclasses import replace

import pytest

from softmax_lib import recorded
from softmax_lib.records.measurement import Case
from softmax_lib.records.record import skipped_case
from softmax_lib.suites.plan import WORKLOG, plan, profiled
from softmax_lib.worklog.registry import kernels, probe_digests, rungs


@pytest.mark.fresh
@pytest.mark.parametrize("name", [name for name, one in kernels.items() if not one.suite])
def test_no_kernel_has_changed_since_the_book_was_measured(name):
    assert not recorded.is_stale(name), (
        f"{name} has changed, or is new: `softmax-lib record` on a GPU measures it."
    )


@pytest.mark.fresh
@pytest.mark.parametrize("name", list(probe_digests()))
def test_no_probe_has_changed_since_the_book_was_measured(name):
    assert recorded.content["kernels"].get(name) == probe_digests()[name], (
        f"{name} has changed: `softmax-lib record` on a GPU runs it anew."
    )


def not_yet() -> list[str]:
    """Kernels that the tests above tell of: the book's numbers are of the others."""
    return recorded.unmeasured(kernels)


def measured_rungs():
    return [kernel for kernel in rungs() if kernel.name not in not_yet()]


FAR_FROM_BEST = 1.6
"""The rule sees the length of a row alone; with few rows more threads would pay."""


def test_each_rung_is_at_least_as_fast_as_the_one_before():
    times = recorded.times(*WORKLOG)
    ladder = [times[kernel.name].median_us for kernel in measured_rungs()]
    assert ladder == sorted(ladder, reverse=True)


def test_nothing_beats_a_copy_by_more_than_l2_can_explain():
    # y of 128 columns still fits into L2; elsewhere a share above 1 would be a wrong measurement,
    # but for a step, which may read or write less than a copy
    for case, timing in recorded.timings.items():
        if case.step:
            continue
        large = 2 * case.rows * case.cols * 4 > 4 * recorded.l2_bytes
        assert timing.copy_share < (1.03 if large else 1.3), case
        assert 0 < timing.low_us <= timing.median_us <= timing.high_us


def test_replays_of_the_book_agree_within_a_few_percent():
    spreads = sorted((t.high_us - t.low_us) / t.median_us for t in recorded.timings.values())
    assert spreads[len(spreads) // 2] < 0.01
    assert spreads[-1] < 0.1


def test_the_book_has_recorded_the_whole_plan_or_says_why_not():
    waiting = not_yet()
    planned = {case for job in plan() for case in job if case.provider not in waiting}
    for case in planned - recorded.timings.keys():
        if case.provider in kernels:  # a block size far from the best
            assert recorded.has(replace(case, block_size=None)), f"{case} was not recorded"
        else:
            assert case.provider in recorded.skipped or recorded.skipped[skipped_case(case)]
    wanted = [case for case in profiled() if case.provider not in waiting]
    assert [profile.case for profile in recorded.profiles] == wanted
    assert all("instructions" in profile.counters for profile in recorded.profiles)
    probes = {probe.name for probe in recorded.probes}
    assert probes == {"latency", "read bandwidth", "scattered request", "block starts"}


def test_the_explorers_have_every_block_size_of_the_worklogs_shape():
    for kernel in measured_rungs():
        sizes = {
            t.case.block_size for t in recorded.select(provider=kernel.name, rows=1024, cols=32768)
        }
        assert sizes == set(kernel.legal_block_sizes(32768))


def test_a_kernels_own_choice_of_block_size_is_near_the_best_on_every_shape():
    for kernel in rungs()[2:]:
        for shape in {t.case.shape for t in recorded.select(provider=kernel.name, l2="cold")}:
            best = recorded.find(Case(kernel.name, *shape))
            own = recorded.find(
                Case(kernel.name, *shape, block_size=kernel.choose_block_size(shape[1]))
            )
            assert own.median_us < FAR_FROM_BEST * best.median_us, own.case
