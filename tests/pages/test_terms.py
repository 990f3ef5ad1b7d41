"""Words of the glossary: what it says of them shows on hover, on focus and on the first tap."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.site

DESKTOP, PHONE = 1400, 390
PAGE = "book/05_shared.html"
TERM = "a[data-term]"
WARPS = "32 threads that execute an instruction together."


def test_hovering_shows_the_text_and_leaving_hides_it(open_page):
    page = open_page(PAGE, width=DESKTOP)
    bubble = page.locator("#worklog-term")
    word = page.locator(TERM, has_text="warps").first
    expect(bubble).to_be_hidden()
    word.hover()
    expect(bubble).to_have_text(WARPS)
    expect(word).to_have_attribute("aria-describedby", "worklog-term")
    assert inside(page, bubble)
    page.mouse.move(5, 5)
    expect(bubble).to_be_hidden()


def test_focus_shows_the_text_and_escape_hides_it(open_page):
    page = open_page(PAGE, width=DESKTOP)
    bubble = page.locator("#worklog-term")
    page.locator(TERM, has_text="warps").first.focus()
    expect(bubble).to_have_text(WARPS)
    page.keyboard.press("Escape")
    expect(bubble).to_be_hidden()


def test_the_first_tap_shows_the_text_and_the_second_follows_the_link(open_page):
    page = open_page(PAGE, width=PHONE)
    bubble = page.locator("#worklog-term")
    word = page.locator(TERM, has_text="warps").first
    word.tap()
    expect(bubble).to_have_text(WARPS)
    assert inside(page, bubble)
    assert page.url.endswith(PAGE)
    word.tap()
    page.wait_for_url("**/glossary.html#term-warp")


def test_tapping_elsewhere_hides_it(open_page):
    page = open_page(PAGE, width=PHONE)
    page.locator(TERM, has_text="warps").first.tap()
    page.locator("article h1").first.tap()
    expect(page.locator("#worklog-term")).to_be_hidden()


def inside(page, bubble):
    """Whether the bubble lies within the screen."""
    box = bubble.bounding_box()
    width = page.evaluate("document.documentElement.clientWidth")
    return box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] >= 0
