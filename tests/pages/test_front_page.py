"""The site from outside: its own address, addresses that nobody has, what a shared link shows, and how to mend a page."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from address import Address
from playwright.sync_api import expect

from .conftest import CHAPTERS, SITE

pytestmark = pytest.mark.site

ADDRESS = Address.read()


@pytest.mark.parametrize("width", [1400, 820, 390])
def test_the_introduction_is_at_the_site_s_own_address(open_page, width):
    page = open_page("", width=width)
    assert page.problems == []
    expect(page.get_by_role("heading", level=1)).to_contain_text("from the formula")
    slider = page.get_by_role("slider").first
    slider.press("End")
    expect(page.locator(".worklog-outcome").first).not_to_have_text("")
    page.get_by_role("link", name="chapter 1", exact=False).first.click()
    expect(page).to_have_url(re.compile("/book/01_math.html$"))


def test_links_of_the_introduction_lead_to_the_same_places_from_both_addresses(open_page, server):
    places = "all => all.map(one => one.href.replace(/^.*?(index|book.intro).html/, 'here'))"
    first, second = (
        open_page(one).locator("a[href]").evaluate_all(places)
        for one in ("index.html", "book/intro.html")
    )
    assert first == second


@pytest.mark.parametrize("path", ["index.html", "book/intro.html"])
def test_both_name_the_site_s_address(path):
    text = (SITE / path).read_text()
    assert f'<link rel="canonical" href="{ADDRESS.site}" />' in text
    assert f'<meta property="og:url" content="{ADDRESS.site}" />' in text


@pytest.mark.parametrize("path", ["index.html", *CHAPTERS])
def test_a_shared_link_shows_a_card(path):
    text = (SITE / path).read_text()
    assert '<meta name="twitter:card" content="summary_large_image" />' in text
    for name in ('property="og:title', 'property="og:description', 'name="description'):
        assert re.search(f'<meta {name}" content="[^"]{{11,}}"', text), name
    assert re.search('<meta property="og:url" content="[^"]+"', text)
    picture = re.search('<meta property="og:image" content="[^"]+/([^/"]+)"', text)
    assert (SITE / "_static" / picture[1]).is_file()


def test_the_sitemap_has_every_page_once():
    found = [one.text for one in ET.parse(SITE / "sitemap.xml").getroot().iter() if one.text]
    pages = [one for one in CHAPTERS if one != "book/intro.html"]
    assert sorted(found) == sorted([ADDRESS.site, *(ADDRESS.site + one for one in pages)])


def test_a_mistyped_address_finds_its_way_back():
    text = (SITE / "404.html").read_text()
    assert "No such page" in text
    links = re.findall(r'(?:href|src)="(/[^"#?]*)', text)
    assert len(links) > len(CHAPTERS)
    for link in links:
        path = SITE / link.removeprefix(f"/{ADDRESS.name}/")
        assert (path / "index.html" if path.is_dir() else path).is_file(), link


def test_each_page_says_where_to_edit_it_and_to_report_an_error(chapter):
    text = (SITE / chapter).read_text()
    source = Path(chapter).with_suffix("")
    assert re.search(rf'href="{ADDRESS.url}/edit/main/{source}\.(ipynb|md)"', text)
    assert re.search(rf'href="{ADDRESS.url}/issues/new\?[^"]*{source}', text)


@pytest.mark.parametrize("width", [1400, 820, 390])
def test_the_introduction_shows_every_page_as_a_card(open_page, width):
    page = open_page("index.html", width=width)
    cards = page.locator(".worklog-cards li")
    expect(cards).to_have_count(len(CHAPTERS) - 1)
    chapters = cards.filter(has_text=re.compile(r"^\d+\. "))
    for card in chapters.all():
        assert re.search(r"\d+ minutes · \d exercises · \w+", card.inner_text())
        card.scroll_into_view_if_needed()
        picture = card.locator(".worklog-card-picture > *")
        assert picture.evaluate(
            "one => one.complete === undefined || one.decode().then(() => true)"
        )
    cards.filter(has_text="3. ").first.click()
    expect(page).to_have_url(re.compile("/book/03_naive.html$"))
    assert page.problems == []
