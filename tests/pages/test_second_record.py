"""Pages made where a reader has a record of another GPU: their sliders go to it from the book's, and back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from notebooks import BOOK
from playwright.sync_api import Locator, Page
from sample_records import of_another_gpu, run_of_another_gpu, write

from softmax_lib.engine.words import time_in_words
from softmax_lib.records.record import Record

from .conftest import ROOT, serve
from .test_pages import DESKTOP, PHONE, overflow, violations
from .test_widgets import NO_BREAK, look, sliders

pytestmark = pytest.mark.site

OTHER = Record(of_another_gpu())
NAIVE, ONLINE = (OTHER.times(1024, 32768)[name] for name in ("naive", "online"))
SHORTEST, *_, LONGEST = sorted(
    OTHER.select(provider="torch", l2="cold"), key=lambda timing: timing.case.cols
)

# What each widget with a slider of GPUs shows of the reader's own, in the order of the page.
PAGES = {
    "results": [
        "50%",
        "0.89",
        "1024 × 32768 float32 0.50",
        f"naive {time_in_words(NAIVE.median_us)}, ",
        f"torch {SHORTEST.gb_per_s:.0f} to {LONGEST.gb_per_s:.0f} GB/s",
        "No gradient was timed on NVIDIA L4",
        "was not measured in a whole model on a GPU called NVIDIA L4",
        "was not compared with torch ask by ask on a GPU called NVIDIA L4",
    ],
    "04_online": [
        f"{ONLINE.case.block_size} threads per block: {time_in_words(ONLINE.median_us)}",
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Address of a site of these pages, whose notebooks ran beside a reader's record of an L4."""
    folder = tmp_path_factory.mktemp("site")
    shelf = folder / "data" / "softmax_lib" / "measurements"
    write(shelf / "nvidia-l4.json", of_another_gpu())
    write(shelf / "peers" / "nvidia-l4-1.json", run_of_another_gpu())
    beside = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
    execute = [sys.executable, BOOK / "publish" / "notebooks.py", *lay_out(folder)]
    subprocess.run(execute, env=beside, check=True)
    jupyter_book = ROOT / ".venv-book" / "bin" / "jupyter-book"
    subprocess.run([jupyter_book, "build", folder, "--quiet"], check=True)
    with serve(folder / "_build" / "html") as address:
        yield address


def lay_out(folder: Path) -> list[Path]:
    """Make a book with no other pages in `folder`; gives their notebooks."""
    pages = folder / "book"
    pages.mkdir()
    for path in BOOK.iterdir():
        if path.stem in PAGES:
            (pages / path.name).write_bytes(path.read_bytes())
        elif path.suffix != ".ipynb":
            (pages / path.name).symlink_to(path)
    (folder / "_config.yml").symlink_to(ROOT / "_config.yml")
    first, *others = (f"book/{name}" for name in PAGES)
    chapters = "".join(f"- file: {name}\n" for name in others)
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: {first}\nchapters:\n{chapters}")
    return sorted(pages.glob("*.ipynb"))


def test_all_that_is_read_from_a_record_can_be_a_readers_own(open_page):
    for name, expected in PAGES.items():
        page = open_page(f"book/{name}.html", width=DESKTOP)
        for (_, slider), words in zip(gpu_sliders(page), expected, strict=True):
            first = move(slider, "Home")
            assert first[0] == "NVIDIA H200"
            gpu, shown = move(slider, "End")
            assert gpu == "NVIDIA L4"
            assert words in shown
            assert "NVIDIA H200" not in shown
            assert move(slider, "Home") == first
        assert page.problems == []


def test_what_a_readers_record_lacks_is_one_sentence_and_no_picture_of_another_gpu(open_page):
    page = open_page("book/results.html", width=PHONE)
    for widget, slider in gpu_sliders(page):
        move(slider, "End")
        for other in widget.locator(".worklog-slider").all()[1:]:
            _, shown = move(other, "End")
            assert "Nothing was" in shown or "was not measured" in shown
            assert "NVIDIA L4" in shown
            assert "<img" not in shown
            assert "<table" not in shown
    assert page.problems == []
    assert overflow(page) == []
    assert violations(page) == []


def gpu_sliders(page: Page) -> list[tuple[Locator, Locator]]:
    """Every slider of GPUs with its widget."""
    return [(w, s) for w, s in sliders(page) if s.locator("label").inner_text() == "GPU"]


def move(slider: Locator, key: str) -> tuple[str, str]:
    """What is beside the slider, and what its widget shows, once this key is pressed."""
    slider.locator("input").press(key)
    value, shown = look(slider)
    return value, shown.replace("&nbsp;", " ").replace(NO_BREAK, " ")
