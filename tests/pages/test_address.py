"""Where a control stands is in the address: a link restores it, and each move is told to who does not see it."""

import pytest
from playwright.sync_api import Page, expect

from .conftest import INTERACTIVE, SITE, WIDTHS, visits
from .test_widgets import SETTLED, SHOWN, sliders

pytestmark = pytest.mark.site

PAGE = "book/04_online.html"
MILLISECONDS_TO_SAY = 250


def controls(page: Page) -> dict[str, str]:
    """By the name that an address has for it, where each control stands."""
    return page.evaluate("""() => Object.fromEntries(
        [...document.querySelectorAll(".worklog-widget input")]
            .filter(one => one.type === "range" || one.checked).map(one => [one.name, one.value]))""")


DAILY, OTHERS = [(390, "light")], [(1400, "light"), (820, "light")]


@visits(INTERACTIVE, DAILY, full=OTHERS)
def test_what_comes_of_a_move_is_said(visit):
    for widget, slider in sliders(visit)[:1]:
        said = widget.locator("[role=status].worklog-outcome")
        expect(said).to_have_text("")
        slider.locator("input").press("End")
        slider.locator("input").press("Home")
        expect(said).not_to_have_text("")


@visits(INTERACTIVE, DAILY, full=OTHERS)
def test_a_link_restores_what_was_set(visit, open_page):
    for slider in visit.locator("input[type=range]").all():
        slider.press("End")
    for answers in visit.locator(".worklog-choices").all():
        answers.locator("input").last.check()
    shown = all_that_is_shown(visit)
    again = open_page(visit.url.split("/", 3)[3], width=visit.viewport_size["width"])
    assert all_that_is_shown(again) == shown
    assert controls(again) == controls(visit)
    assert visit.problems == again.problems == []


def all_that_is_shown(page: Page) -> list[str]:
    """What each widget shows once it shows what is set; hints are of a reader's own failures, and of no link."""
    widgets = '[...document.querySelectorAll(".worklog-widget")]'
    page.wait_for_function(f"() => {widgets}.every({SETTLED})")
    page.evaluate("for (const one of document.querySelectorAll('.worklog-help')) one.remove()")
    return page.evaluate(f"() => {widgets}.map({SHOWN})")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_copied_link_has_what_its_widget_shows_and_leads_to_it(open_page, width):
    page = open_page(PAGE, width=width)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    widget, slider = sliders(page)[-1]
    slider.locator("input").press("End")
    widget.locator(".worklog-copy").click()
    expect(widget.locator(".worklog-outcome")).to_have_text("The link is copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    other = open_page(link.split("/", 3)[3], width=width)
    widget, slider = sliders(other)[-1]
    expect(slider.locator("output")).to_have_text(link.rpartition("=")[2])
    expect(widget).to_be_in_viewport()


def test_what_a_move_came_to_is_not_said_over_the_copy_that_came_later(open_page):
    page = open_page(PAGE)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    late = []
    page.route("**/positions/**", lambda route: late.append(route))
    page.reload(wait_until="domcontentloaded")
    widget, slider = sliders(page)[-1]
    slider.locator("input").press("End")
    widget.locator(".worklog-copy").click()
    expect(widget.locator(".worklog-outcome")).to_have_text("The link is copied.")
    late[0].continue_()
    page.wait_for_function(SETTLED, arg=widget.element_handle())
    page.wait_for_timeout(2 * MILLISECONDS_TO_SAY)
    expect(widget.locator(".worklog-outcome")).to_have_text("The link is copied.")


def test_a_setting_that_the_page_does_not_have_is_left_alone(open_page):
    before = controls(open_page(PAGE))
    page = open_page(f"{PAGE}#block-size=77&no-such=1&step=")
    assert controls(page) == before
    assert page.problems == []


def test_an_address_of_a_section_is_none_of_settings(open_page):
    page = open_page(f"{PAGE}#exercises")
    expect(page.locator("#exercises h2")).to_be_in_viewport()


def test_a_page_that_is_opened_as_a_file_works(chromium):
    page = chromium.new_page()
    page.goto(f"file://{SITE / PAGE}")
    widget, slider = sliders(page)[0]
    first = widget.evaluate(SHOWN)
    slider.locator("input").press("End")
    page.wait_for_function(SETTLED, arg=widget.element_handle())
    assert widget.evaluate(SHOWN) != first
    page.close()


@pytest.fixture(scope="module")
def scriptless(chromium):
    context = chromium.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def test_without_scripts_each_widget_is_there_as_it_begins_and_says_so(
    scriptless, server, interactive
):
    scriptless.goto(server + interactive)
    for widget in scriptless.locator(".worklog-widget:has(input)").all():
        assert len(widget.inner_text()) > 60 or widget.locator("img").count()
        expect(widget.locator(".worklog-note").last).to_contain_text("where scripts run")
        expect(widget.locator("button:visible")).to_have_count(0)
