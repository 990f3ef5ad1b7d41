"""Every page of the site, at desktop and phone width, light and dark."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from .conftest import SITE

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


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (DESKTOP, "light"),
        (DESKTOP, "dark"),
        pytest.param(TABLET, "light", marks=pytest.mark.full),
        (PHONE, "light"),
        (PHONE, "dark"),
    ],
)
def test_page_is_clean_fits_and_is_accessible(open_page, address, width, scheme):
    page = open_page(address, width=width, scheme=scheme)
    assert page.problems == []
    assert overflow(page) == [], "wider than the screen"
    assert violations(page) == []


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_an_option_in_the_text_stays_in_one_piece(open_page, address, width):
    broken = """all => all.filter(one => one.textContent.startsWith("--"))
        .flatMap(one => [one, ...one.querySelectorAll(".pre")])
        .filter(one => one.getClientRects().length > 1).map(one => one.textContent)"""
    assert open_page(address, width=width).locator("code.literal").evaluate_all(broken) == []


def test_on_paper_nothing_is_cut_off_and_no_button_shows(open_page, address):
    page = open_page(address, width=PAPER)
    page.emulate_media(media="print")
    cut = """all => all.filter(one => one.checkVisibility() && getComputedStyle(one).overflowX !== "visible"
            && one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML.slice(0, 120))"""
    assert page.locator(".bd-article *").evaluate_all(cut) == []
    expect(page.locator(".worklog-copy").filter(visible=True)).to_have_count(0)


def test_chapters_describe_themselves(open_page, chapter):
    page = open_page(chapter)
    for selector in ('meta[name="description"]', 'meta[property="og:title"]'):
        assert len(page.locator(selector).get_attribute("content")) > 10, selector
    picture = page.locator('meta[property="og:image"]').get_attribute("content")
    assert (SITE / "_static" / picture.rsplit("/", 1)[1]).is_file()


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
