"""Every page of the site, on a light desktop and a dark phone; `make test-all` looks at the others."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from .conftest import CHAPTERS, INTERACTIVE, visits

pytestmark = pytest.mark.site

DESKTOP, TABLET, PHONE = 1400, 820, 390
PAPER = 720
"""Between the margins of a sheet of A4, in CSS pixels."""

# The theme leaves its logo and the search page's sidebar out of every landmark, and that page's heading to a script.
OF_THE_THEME = {
    ("region", '<p class="title logo__title">'),
    ("region", '<div class="sidebar-primary-item">'),
    ("empty-heading", "<h1></h1>"),
}
ADDRESSES = [*CHAPTERS, "search.html"]
ON_A_DESKTOP, ON_A_PHONE = (DESKTOP, "light"), (PHONE, "dark")
OTHER_LOOKS = [(DESKTOP, "dark"), (TABLET, "light"), (PHONE, "light")]


@visits(ADDRESSES, [ON_A_DESKTOP, ON_A_PHONE], full=OTHER_LOOKS)
def test_page_is_clean_fits_and_is_accessible(visit):
    assert visit.problems == []
    assert overflow(visit) == [], "wider than the screen"
    assert violations(visit) == []


@visits(ADDRESSES, [ON_A_DESKTOP, ON_A_PHONE])
def test_an_option_in_the_text_stays_in_one_piece(visit):
    broken = """all => all.filter(one => one.textContent.startsWith("--"))
        .flatMap(one => [one, ...one.querySelectorAll(".pre")])
        .filter(one => one.getClientRects().length > 1).map(one => one.textContent)"""
    assert visit.locator("code.literal").evaluate_all(broken) == []


@visits(CHAPTERS, [ON_A_DESKTOP])
def test_every_word_of_the_glossary_carries_its_text(visit):
    words = visit.locator("article .std-term")
    assert words.count() == visit.locator("article a[data-term]").count()
    silent = "all => all.filter(a => !a.dataset.term || a.title).length"
    assert visit.locator("a[data-term]").evaluate_all(silent) == 0


@visits(INTERACTIVE, [ON_A_DESKTOP])
def test_pictures_have_words_for_those_who_cannot_see_them(visit):
    silent = "all => all.filter(one => !one.alt).map(one => one.src.slice(0, 80))"
    assert visit.locator("article img:not([aria-hidden] *)").evaluate_all(silent) == []
    unnamed = "all => all.filter(one => !one.labels[0].textContent).map(one => one.id)"
    assert visit.get_by_role("slider").evaluate_all(unnamed) == []


@visits(INTERACTIVE, [ON_A_PHONE])
def test_answers_of_two_lines_have_room_on_a_phone(visit):
    cut = "all => all.filter(one => one.scrollHeight > one.clientHeight).map(one => one.innerText)"
    assert visit.locator(".worklog-predict label").evaluate_all(cut) == []


@visits(ADDRESSES, [ON_A_DESKTOP])
def test_on_paper_nothing_is_cut_off_and_no_button_shows(visit):
    visit.set_viewport_size({"width": PAPER, "height": 900})  # the last that this load is asked
    visit.emulate_media(media="print")
    cut = """all => all.filter(one => one.checkVisibility() && getComputedStyle(one).overflowX !== "visible"
            && one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML.slice(0, 120))"""
    assert visit.locator(".bd-article *").evaluate_all(cut) == []
    expect(visit.locator(".worklog-copy").filter(visible=True)).to_have_count(0)


def overflow(page: Page) -> list[str]:
    """Elements that make the page scroll sideways."""
    return page.evaluate("""() => {
        const width = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth <= width) return [];
        return [...document.querySelectorAll("body *")]
            .filter(element => element.getBoundingClientRect().right > width + 1)
            .map(element => element.outerHTML.slice(0, 120));
    }""")


def violations(page: Page) -> list[str]:
    """What axe-core finds in markup that is not the theme's, one line per element."""
    return [
        f"{rule['id']}: {node['html'][:200]}"
        for rule in Axe().run(page).response["violations"]
        for node in rule["nodes"]
        if not any(
            rule["id"] == id_ and node["html"].startswith(html) for id_, html in OF_THE_THEME
        )
    ]
