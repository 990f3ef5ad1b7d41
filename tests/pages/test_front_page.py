"""The site from outside: its own address, addresses that nobody has, what a shared link shows, and how to mend a page."""

import re
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import pytest
from address import Address
from playwright.sync_api import expect

from .conftest import CHAPTERS, SITE

pytestmark = pytest.mark.site

ADDRESS = Address.read()
MOST_LETTERS = 160
"""Of a description: search engines cut longer ones."""


@pytest.mark.parametrize("width", [1400, 820, 390])
def test_the_introduction_is_at_the_site_s_own_address(open_page, width):
    page = open_page("", width=width)
    assert page.problems == []
    expect(page.get_by_role("heading", level=1)).to_contain_text("Fast softmax")
    slider = page.get_by_role("slider").first
    slider.press("End")
    expect(page.locator(".worklog-outcome").first).not_to_have_text("")
    page.get_by_role("link", name="Read here").click()
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
    for name in ("title", "url"):
        assert re.search(f'<meta property="og:{name}" content="[^"]{{11,}}"', text), name
    picture = re.search('<meta property="og:image" content="[^"]+/([^/"]+)"', text)
    assert (SITE / "_static" / picture[1]).is_file()


def described(page):
    """The descriptions of a page: a search engine's, and that of a shared link."""
    kinds = 'name="description"|property="og:description"'
    found = re.findall(f'<meta (?:{kinds}) content="([^"]*)"', (SITE / page).read_text())
    return [unescape(one) for one in found]


def test_a_page_is_described_by_its_subtitle_one_sentence(chapter):
    shown = re.search(r"</h1>\s*<p>(.*?)</p>", (SITE / chapter).read_text(), re.DOTALL)[1]
    subtitle = " ".join(unescape(re.sub("<[^>]+>", "", shown)).split())
    assert described(chapter) == [subtitle, subtitle]
    assert not re.search(r"[.?!] ", subtitle)
    assert len(subtitle) <= MOST_LETTERS


def test_no_two_pages_are_described_alike():
    found = [described(page)[0] for page in CHAPTERS]
    assert len(found) == len(set(found))


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


@pytest.mark.parametrize("width", [1440, 820, 390])
def test_the_introduction_lists_every_page_with_its_minutes(open_page, width):
    page = open_page("index.html", width=width)
    listed = page.locator("#contents li")
    expect(listed).to_have_count(len([one for one in CHAPTERS if "evidence" not in one]) - 1)
    for one in listed.filter(has=page.locator("a[href*='/0'], a[href*='/1']")).all():
        took = int(re.search(r"(\d+) min$", one.inner_text())[1])
        assert 10 <= took <= 45
        assert took % 5 == 0
    listed.get_by_role("link", name="Naive").click()
    expect(page).to_have_url(re.compile("/book/03_naive.html$"))
    assert page.problems == []


def test_the_first_screen_has_the_result_the_climb_the_contents_and_the_search(open_page):
    page = open_page("index.html", width=1440)
    for part in ("p strong", ".worklog-doors", ".worklog-widget", "#contents li >> nth=-1"):
        box = page.locator(f"article {part}").first.bounding_box()
        assert box["y"] + box["height"] <= 900, part
    expect(page.get_by_role("button", name="Search").first).to_be_visible()
