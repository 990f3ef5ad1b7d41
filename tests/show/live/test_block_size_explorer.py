"""`explore` shows what is recorded, puts live numbers in their place, and says why where it cannot."""

import dataclasses
from unittest.mock import Mock

import pytest
import torch
from full_tables import some
from sample_records import content, of_another_gpu

from softmax_lib import explore, kernels, recorded
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.words import percent, time_in_words
from softmax_lib.gpu import presence
from softmax_lib.records.measurement import Case
from softmax_lib.records.record import Record
from softmax_lib.worklog.registry import rungs

W = pytest.importorskip("ipywidgets")
explorers = pytest.importorskip("softmax_lib.show.live.block_size_explorer")

H200 = "NVIDIA H200"
NO_BREAK = "\N{NO-BREAK SPACE}"
ROWS, COLS = 1024, 32768
RECORDED = [one.name for one in rungs() if one.name in recorded.providers]


@pytest.fixture(autouse=True)
def _no_gpu(request, monkeypatch):
    if not request.node.get_closest_marker("gpu"):
        monkeypatch.setattr(presence, "why_no_gpu", lambda: "there is none in this test")


@pytest.fixture
def live_us(monkeypatch):
    """A GPU that takes 50 us for anything, as far as explorers can tell."""

    def measure(name, rows, cols, *, block_size):
        any_timing = recorded.select(provider=name)[0]
        case = Case(name, rows, cols, block_size=block_size)
        source = "live on Test GPU, 2030-01-01"
        return dataclasses.replace(any_timing, case=case, median_us=50.0, source=source)

    monkeypatch.setattr(presence, "why_no_gpu", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "NVIDIA T4")
    monkeypatch.setattr(explorers, "measure", measure)
    return 50.0


def shown(explorer, size):
    """What the explorer shows at a block size."""
    return explorer.leaves[H200, size].value


def written(time_us):
    """A time as the explorer writes it."""
    return time_in_words(time_us).replace(" ", NO_BREAK)


def button(explorer):
    (found,) = (child for child in explorer.children if isinstance(child, W.Button))
    return found


def note(explorer):
    return explorer.note.value


@pytest.mark.parametrize("name", some(RECORDED, every=3))
def test_every_recorded_time_is_shown(name):
    explorer = explore(name)
    timings = recorded.select(provider=name, rows=ROWS, cols=COLS)
    assert {t.case.block_size for t in timings} <= {size for _, size in explorer.leaves}
    for timing in timings:
        view = shown(explorer, timing.case.block_size)
        assert f"<strong>{timing.case.block_size} threads per block: " in view
        assert written(timing.median_us) in view
        assert f"{timing.gb_per_s:.0f}{NO_BREAK}GB/s, {percent(timing.copy_share)} of" in view
        changed = ", before this kernel changed" if timing.stale else ""
        assert f"Recorded on {recorded.where}{changed}." in view
        assert 'font-weight="700"' in view  # its own bar is marked
    assert sum(map(len, (leaf.value for leaf in explorer.leaves.values()))) < 100_000


def test_explorer_starts_where_the_kernel_would():
    explorer = explore("shared")
    assert explorer.choice == (H200, kernels["shared"].choose_block_size(COLS))
    assert "1024 blocks of 32 warps" in shown(explorer, 1024)


def test_bars_are_as_high_as_times():
    timings = recorded.select(provider="shared", rows=ROWS, cols=COLS)
    times = {timing.case.block_size: timing for timing in timings}
    drawing = explorers.draw_times(dict(sorted(times.items())), 32)
    heights = [float(part.split("v")[1].split("h")[0]) for part in drawing.parts if "<path" in part]
    slowest = max(timing.median_us for timing in times.values())
    expected = [times[size].median_us / slowest * max(heights) for size in sorted(times)]
    assert heights == pytest.approx(expected, abs=0.1)


def test_a_block_size_whose_threads_cannot_hold_the_row_is_not_offered():
    assert explore("fusion").axes["block size"] == [256, 512, 1024]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("per_element",), "per_element on (1024, 32768) float32 at 256 threads"),
        (("shared", 3, 5), "was never recorded"),
        (("fusion", 1024, 10**6), "too long for fusion"),
    ],
)
def test_a_missing_record_is_one_sentence(arguments, words):
    told = explore(*arguments)
    assert words in told.fallback["text/plain"]
    assert words in told.children[0].value
    assert "\n" not in told.fallback["text/plain"]


def test_a_stale_record_says_so(monkeypatch):
    changed = content()
    changed["kernels"]["shared"] = "0" * 64
    monkeypatch.setattr(explorers, "readable", lambda: {H200: Record(changed)})
    assert "The kernel has changed since." in shown(explore("shared"), 512)


def test_a_second_record_shows_what_it_has_and_nothing_of_the_first(monkeypatch):
    other = Record(of_another_gpu())
    for case in [case for case in other.timings if case.block_size == 64]:
        del other.timings[case]
    records = {H200: recorded(), "NVIDIA L4": other}
    monkeypatch.setattr(explorers, "readable", lambda: records)
    explorer = explore("shared")
    time = other.select(provider="shared", rows=ROWS, cols=COLS, block_size=128)[0].median_us
    assert f"128 threads per block: {written(time)}" in explorer.leaves["NVIDIA L4", 128].value
    assert "at 64 threads per block, cold L2 was never" in explorer.leaves["NVIDIA L4", 64].value
    leaves = explorer.leaves.items()
    assert [leaf for (gpu, _), leaf in leaves if gpu != H200 and H200 in leaf.value] == []
    records = dict(reversed(records.items()))
    assert (H200, 64) in explore("shared").leaves


def test_without_a_gpu_the_button_checks_in_the_emulator_and_keeps_the_times():
    explorer = explore("shared")
    before = shown(explorer, 64)
    explorer.sliders["block size"].index = 1
    assert button(explorer).description == "Check here"
    button(explorer).click()
    assert "launches, all within the bound of float32" in note(explorer)
    assert "Times stay as recorded." in note(explorer)
    assert shown(explorer, 64) == before
    explorer.sliders["block size"].index = 2
    assert note(explorer) == ""


def test_on_a_gpu_the_button_measures_and_marks_the_point_live(live_us):
    explorer = explore("shared")
    other = shown(explorer, 64)
    explorer.sliders["block size"].value = 128
    button(explorer).click()
    view = shown(explorer, 128)
    assert f"128 threads per block: {written(live_us)}" in view
    assert "Measured here, live. The other bars were recorded on NVIDIA H200" in view
    assert shown(explorer, 64) != other  # its chart has the live bar
    assert "Measured on NVIDIA T4 at 128 threads per block." in note(explorer)


@pytest.mark.usefixtures("live_us")
def test_on_a_gpu_a_shape_without_a_record_can_be_measured():
    explorer = explore("shared", 8, 4096)
    own = kernels["shared"].choose_block_size(4096)
    assert "was never recorded" in shown(explorer, own)
    button(explorer).click()
    assert "Measured here, live.<" in shown(explorer, own)


@pytest.mark.usefixtures("live_us")
def test_a_launch_that_fails_says_why_and_keeps_the_view(monkeypatch):
    fail = Mock(side_effect=NotAvailable("CuPy is not installed."))
    monkeypatch.setattr(explorers, "measure", fail)
    explorer = explore("shared")
    before = shown(explorer, 1024)
    button(explorer).click()
    assert "CuPy is not installed." in note(explorer)
    assert shown(explorer, 1024) == before
    assert not button(explorer).disabled


@pytest.mark.gpu
def test_a_real_launch_replaces_a_recorded_point():
    explorer = explore("shared")
    button(explorer).click()
    _, size = explorer.choice
    assert "Measured here, live." in explorer.leaves[explorer.choice].value, note(explorer)
    assert f"at {size} threads per block" in note(explorer)
