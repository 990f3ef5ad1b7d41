"""What a reader of a chapter sees: the idea on the first screen, the kernel whole, few screens, widgets that keep still."""

import re

import pytest
from chapter_cells import CHAPTERS, WITH_KERNEL

from .conftest import visits

pytestmark = pytest.mark.site

EVERY, LADDER = ([f"book/{stem}.html" for stem in stems] for stems in (CHAPTERS, WITH_KERNEL))
CUDA = [page for page in LADDER if "12_" not in page]
SCREEN_PX, WIDTH = 900, 1440
MOST_SCREENS, MOST_WORDS, MOST_BARS = 10, 2500, 4
ON_A_DESKTOP = [(WIDTH, "light")]
POSITIONS = """async slider => {
    const heights = [];
    for (slider.value = slider.min; ; slider.value = +slider.value + 1) {
        slider.dispatchEvent(new Event("input", {bubbles: true}));
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        heights.push(slider.closest(".worklog-widget").offsetHeight);
        if (slider.value === slider.max) return heights;
    }
}"""
"""How high a widget is at each position of a slider."""


@visits(EVERY, ON_A_DESKTOP)
def test_the_first_screen_has_the_idea_with_what_moves_it_and_a_ladder_where_there_is_one(visit):
    first = visit.locator("article .worklog-widget").first
    assert bottom(first) <= SCREEN_PX
    assert bottom(first.locator("input, button").first) < SCREEN_PX
    assert all(bottom(one) < SCREEN_PX for one in visit.locator("article .worklog-ladder").all())


@visits(CUDA, ON_A_DESKTOP)
def test_the_kernel_is_seen_whole(visit):
    kernel = visit.locator("article .cell_input pre", has_text="%%cuda")
    assert kernel.count() == 1
    assert kernel.bounding_box()["height"] < SCREEN_PX
    assert kernel.evaluate("one => one.scrollWidth <= one.clientWidth + 1")


@visits(EVERY, ON_A_DESKTOP)
def test_a_chapter_is_read_on_few_screens(visit):
    article = visit.locator("article")
    assert article.bounding_box()["height"] <= MOST_SCREENS * SCREEN_PX
    assert len(re.findall(r"\S+", article.inner_text())) <= MOST_WORDS
    assert visit.locator("details.hide").count() <= MOST_BARS


@visits(EVERY, ON_A_DESKTOP)
def test_no_widget_changes_its_height_under_its_sliders(visit):
    for slider in visit.get_by_role("slider").all():
        slider.scroll_into_view_if_needed()
        assert len(set(slider.evaluate(POSITIONS))) == 1, slider.get_attribute("id")


@visits(EVERY, ON_A_DESKTOP)
def test_on_paper_everything_is_unfolded_and_after_that_folded_again(visit):
    folds = visit.locator("article details")
    shut = "all => all.filter(one => !one.open).length"
    before = folds.evaluate_all(shut)
    visit.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert folds.evaluate_all(shut) == 0 < before
    visit.evaluate("dispatchEvent(new Event('afterprint'))")
    assert folds.evaluate_all(shut) == before


@visits(EVERY, ON_A_DESKTOP)
def test_what_copies_a_link_shows_where_one_points_or_tabs(visit):
    widget = visit.locator("article .worklog-widget").first
    button = widget.locator(".worklog-copy")
    assert button.evaluate("one => getComputedStyle(one).opacity") == "0"
    button.focus()
    assert button.evaluate("one => getComputedStyle(one).opacity") == "1"


def bottom(place):
    """Where an element ends, in pixels from the page's top."""
    box = place.bounding_box()
    return box["y"] + box["height"]
