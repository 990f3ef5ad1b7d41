"""Exercises on a page with no kernel: what a grader says of the answer that is picked, hints, and what is kept."""

from itertools import groupby

import pytest
from playwright.sync_api import Locator

from softmax_lib import exercises
from softmax_lib.grading.grade import recorded_grade

from .conftest import listen
from .test_pages import overflow

pytestmark = pytest.mark.site

DESKTOP, PHONE = 1400, 390
BY_CHAPTER = {
    name: [*those] for name, those in groupby(exercises().values(), lambda one: one.chapter)
}
TREE = BY_CHAPTER["05_shared"][0]
WRONG = [one for one in TREE.offered if one.label != TREE.label]
ON_A_DESKTOP = ("01_math", "05_shared")
SHAPES = [
    *((chapter, PHONE) for chapter in BY_CHAPTER),
    *((chapter, DESKTOP) for chapter in ON_A_DESKTOP),
]


@pytest.mark.parametrize(("chapter_name", "width"), SHAPES)
def test_every_answer_gets_the_grade_that_was_recorded(open_page, chapter_name, width):
    page = open_page(f"book/{chapter_name}.html", width=width)
    shown = page.locator(".worklog-exercise").all()
    for widget, exercise in zip(shown, BY_CHAPTER[chapter_name], strict=True):
        grades = widget.locator(".worklog-grade:visible")
        assert grades.count() == 0
        for attempt in exercise.offered:
            pick(widget, attempt.label, touch=width == PHONE)
            grade = recorded_grade(exercise, attempt.label)
            grades.get_by_text(grade.head, exact=True).wait_for()
            assert grades.count() == 1
            assert widget.locator(".worklog-grade:visible li").count() == len(grade.findings)
    assert page.problems == []


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_each_wrong_attempt_opens_a_hint_and_the_last_the_solution(open_page, width):
    page = open_page("book/05_shared.html", width=width)
    widget = page.locator(".worklog-exercise").first
    assert helps(widget).count() == 0
    for number, attempt in enumerate(WRONG[:3], 1):
        pick(widget, attempt.label, touch=width == PHONE)
        widget.get_by_text(f"Hint {number} of 3").wait_for()
        pick(widget, attempt.label, touch=width == PHONE)  # once more, which is no other failure
        assert helps(widget).count() == number + (number == 3)
    widget.get_by_text("Solution", exact=True).click()
    assert widget.get_by_text(TREE.why[:30]).is_visible()
    assert overflow(page) == []
    page.reload()
    assert helps(page.locator(".worklog-exercise").first).count() == 4


def test_the_introduction_tells_how_many_are_solved_once_there_is_one(open_page):
    page = open_page("book/intro.html", width=DESKTOP)
    told = page.locator(".worklog-progress")
    assert not told.is_visible()
    page.goto(page.url.replace("intro", "05_shared"))
    widget = page.locator(".worklog-exercise").first
    pick(widget, TREE.label, touch=False)
    widget.get_by_text("Solution", exact=True).wait_for()
    page.goto(page.url.replace("05_shared", "intro").split("#")[0])
    said = f"You’ve solved 1 of {len(exercises())} exercises in this browser: chapter 5."
    page.get_by_text(said).wait_for()


BLOCKED = "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, {get() { throw new DOMException('', 'SecurityError'); }})"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); }"


@pytest.mark.parametrize("storage", [BLOCKED, FULL])
def test_a_browser_that_keeps_nothing_does_no_harm(chromium, server, storage):
    page = chromium.new_context().new_page()
    listen(page)
    page.add_init_script(storage)
    page.goto(f"{server}book/05_shared.html")
    button, themes = page.locator(".theme-switch-button:visible").first, set()
    for _ in range(3):
        button.click()
        themes.add(page.evaluate("document.documentElement.dataset.mode"))
    assert themes == {"auto", "light", "dark"}
    widget = page.locator(".worklog-exercise").first
    for number, attempt in enumerate(WRONG[:2], 1):
        pick(widget, attempt.label, touch=False)
        widget.get_by_text(f"Hint {number} of 3").wait_for()
    assert (helps(widget).count(), page.problems) == (2, [])
    page.context.close()


def pick(widget: Locator, label: str, *, touch: bool) -> None:
    choice = widget.locator("label").get_by_text(label, exact=True)
    choice.tap() if touch else choice.click()


def helps(widget: Locator) -> Locator:
    """The hints that can be seen, and the solution."""
    return widget.locator(".worklog-help summary:visible")
