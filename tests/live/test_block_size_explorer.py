"""`explore` shows what is recorded, puts live numbers in their place, and says why where it cannot."""

import dataclasses
import subprocess
import sys

import pytest
import torch

import softmax_lib
from softmax_lib import kernels, measurements
from softmax_lib.errors import NotAvailable, UnknownKernel
from softmax_lib.registry import rungs

W = pytest.importorskip("ipywidgets")
explorers = pytest.importorskip("softmax_lib.live.block_size_explorer")
block_sizes = pytest.importorskip("softmax_lib.live.block_sizes")

H200 = "NVIDIA H200"
ROWS, COLS = 1024, 32768


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def live_us(monkeypatch):
    """A GPU that takes 50 us for anything, as far as explorers can tell."""

    def measure(name, rows, cols, *, block_size):
        any_row = measurements.recorded().select(provider=name)[0]
        facts = {"rows": rows, "cols": cols, "block_size": block_size, "median_us": 50.0}
        return dataclasses.replace(any_row, **facts, source="live on Test GPU, 2030-01-01")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA T4")
    monkeypatch.setattr(explorers, "measure", measure)
    return 50.0


def shown(explorer, size):
    """What the explorer shows at a block size."""
    return explorer.leaves[H200, size].value


def button(explorer):
    (found,) = (child for child in explorer.children if isinstance(child, W.Button))
    return found


def note(explorer):
    return explorer.note.value


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("name", [kernel.name for kernel in rungs()])
def test_every_recorded_time_is_shown(name):
    explorer = softmax_lib.explore(name)
    rows = measurements.recorded().select(provider=name, rows=ROWS, cols=COLS)
    assert {row.block_size for row in rows} <= {size for _, size in explorer.leaves}
    for row in rows:
        view = shown(explorer, row.block_size)
        assert f"<strong>{row.block_size} threads a block: " in view
        assert block_sizes.time_in_words(row.median_us) in view
        assert f"{row.gb_per_s:.0f}\N{NO-BREAK SPACE}GB/s, {row.copy_share:.0%} of" in view
        assert f"Recorded on {measurements.recorded().where}." in view
        assert view.count('font-weight="700"') >= 2  # its own bar is marked
    assert sum(map(len, (leaf.value for leaf in explorer.leaves.values()))) < 100_000


@pytest.mark.usefixtures("no_gpu")
def test_explorer_starts_where_the_kernel_would():
    explorer = softmax_lib.explore("shared")
    assert explorer.choice == (H200, kernels["shared"].choose_block_size(COLS))
    assert "1024 blocks of 32 warps" in shown(explorer, 1024)
    assert "4 sectors on 1 line" in explorer.fallback["text/plain"]


@pytest.mark.usefixtures("no_gpu")
def test_bars_are_as_high_as_times():
    times = {
        row.block_size: row
        for row in measurements.recorded().select(provider="shared", rows=ROWS, cols=COLS)
    }
    drawing = block_sizes.draw_times(dict(sorted(times.items())), 32)
    heights = [float(part.split("v")[1].split("h")[0]) for part in drawing.parts if "<path" in part]
    slowest = max(row.median_us for row in times.values())
    expected = [times[size].median_us / slowest * max(heights) for size in sorted(times)]
    assert heights == pytest.approx(expected, abs=0.1)


@pytest.mark.usefixtures("no_gpu")
def test_an_impossible_block_size_says_why_over_the_last_good_view():
    explorer = softmax_lib.explore("fusion")
    view = shown(explorer, 64)
    assert "A row of 32768 elements is too long for fusion at 64 threads a block" in view
    assert "256 threads a block: " in view


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("per_element",), "per_element on (1024, 32768) float32 at 256 threads"),
        (("shared", 3, 5), "was never recorded"),
        (("fusion", 1024, 10**6), "too long for fusion"),
    ],
)
def test_a_missing_record_is_one_sentence(arguments, words):
    told = softmax_lib.explore(*arguments)
    assert words in told.fallback["text/plain"]
    assert words in told.children[0].value
    assert "\n" not in told.fallback["text/plain"]


def test_an_unknown_kernel_is_an_error():
    with pytest.raises(UnknownKernel, match="did you mean shared"):
        softmax_lib.explore("share")


@pytest.mark.usefixtures("no_gpu")
def test_a_stale_record_says_so(monkeypatch):
    monkeypatch.setattr(
        explorers, "_sweeps", lambda kernel, rows, cols: {H200: _Stale(kernel, rows, cols, H200)}
    )
    assert "The kernel has changed since." in shown(softmax_lib.explore("shared"), 512)


class _Stale(block_sizes.BlockSizes):
    def at(self, block_size):
        return dataclasses.replace(super().at(block_size), stale=True)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_the_button_checks_in_the_emulator_and_keeps_the_times():
    explorer = softmax_lib.explore("shared")
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
    explorer = softmax_lib.explore("shared")
    other = shown(explorer, 64)
    explorer.sliders["block size"].value = 128
    button(explorer).click()
    view = shown(explorer, 128)
    assert f"128 threads a block: {block_sizes.time_in_words(live_us)}" in view
    assert "Measured here, live. The other bars were recorded on NVIDIA H200" in view
    assert shown(explorer, 64) != other  # its chart has the live bar
    assert "Measured on NVIDIA T4 at 128 threads a block." in note(explorer)


@pytest.mark.usefixtures("live_us")
def test_on_a_gpu_a_shape_without_a_record_can_be_measured():
    explorer = softmax_lib.explore("shared", 8, 4096)
    assert "was never recorded" in shown(explorer, 1024)
    button(explorer).click()
    assert "Measured here, live.<" in shown(explorer, 1024)


@pytest.mark.usefixtures("live_us")
def test_a_launch_that_fails_says_why_and_keeps_the_view(monkeypatch):
    def fail(*_, **__):
        raise NotAvailable("CuPy is not installed.")

    monkeypatch.setattr(explorers, "measure", fail)
    explorer = softmax_lib.explore("shared")
    before = shown(explorer, 1024)
    button(explorer).click()
    assert "CuPy is not installed." in note(explorer)
    assert shown(explorer, 1024) == before
    assert not button(explorer).disabled


@pytest.mark.gpu
def test_a_real_launch_replaces_a_recorded_point():
    explorer = softmax_lib.explore("shared")
    button(explorer).click()
    _, size = explorer.choice
    assert "Measured here, live." in explorer.leaves[explorer.choice].value, note(explorer)
    assert f"at {size} threads a block" in note(explorer)


def test_importing_the_package_loads_no_widgets():
    script = "import softmax_lib, sys; sys.exit('ipywidgets' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.usefixtures("no_gpu")
def test_exploring_twice_gives_the_same_bytes():
    first, second = (softmax_lib.explore("online") for _ in range(2))
    assert [leaf.value for leaf in first.leaves.values()] == [
        leaf.value for leaf in second.leaves.values()
    ]
    assert first.fallback == second.fallback
