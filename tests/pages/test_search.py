"""The site's search, asked for the words of the field."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.site

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
