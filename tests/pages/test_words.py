"""Words: what the glossary says of them shows on hover, focus and the first tap; the search finds the field's."""

import re
from urllib.parse import quote

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


# ---- the site's search

WORDS = {
    "01_math": ["safe softmax"],
    "02_pytorch": ["roofline", "memory-bound"],
    "gpu": ["warp", "streaming multiprocessor"],
    "03_naive": ["one thread per row"],
    "04_online": ["online softmax"],
    "05_shared": ["coalescing", "bank conflicts", "shared memory"],
    "06_shuffle": ["warp shuffle"],
    "07_float4": ["float4", "vectorized loads", "memory-level parallelism", "Little's law"],
    "08_fusion": ["kernel fusion"],
    "09_unroll": ["occupancy", "loop unrolling"],
    "11_topk": ["top-k"],
    "12_triton": ["Triton"],
    "13_precision": ["batch invariance"],
    "14_hopper": ["thread block clusters", "distributed shared memory", "TMA"],
    "15_distributed": ["several gpus"],
    "xray": ["Nsight Compute"],
}
CHAPTER, BESIDE = re.compile(r"\d\d_|gpu$|xray$"), re.compile("api$|evidence/")


@pytest.fixture(scope="module")
def search(tabs, server):
    """A function that gives the pages that the search finds for some words, the first one first."""
    with tabs.opener(server) as open_:
        page = open_("search.html")
        page.route("**/book/**", lambda route: route.fulfill(body=""))  # for summaries of hits

        def found(words):
            page.goto(f"{server}search.html?q={quote(words)}")
            expect(page.get_by_text("Search finished")).to_be_visible()
            links = "all => all.map(one => one.pathname.match('/book/(.*).html')[1])"
            return page.locator("#search-results li > a").evaluate_all(links)

        yield found


@pytest.mark.parametrize(("words", "due"), [(one, page) for page in WORDS for one in WORDS[page]])
def test_a_search_for_the_fields_word_finds_its_chapter_first(search, words, due):
    pages = search(words)
    assert pages[0] == due
    last = max(place for place, one in enumerate(pages) if CHAPTER.match(one))
    assert [one for one in pages[:last] if BESIDE.search(one)] == []
