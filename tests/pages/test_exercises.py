"""Exercises on a page with no kernel: hints one by one, and what a grader says of the answer that is picked."""

import pytest
from playwright.sync_api import Locator, Page

from softmax_lib import exercises
from softmax_lib.grading.outcomes import recorded_grade

pytestmark = pytest.mark.site

DESKTOP, PHONE = 1400, 390
BY_CHAPTER: dict = {}
for _one in exercises().values():
    BY_CHAPTER.setdefault(_one.chapter, []).append(_one)
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
def test_a_hint_is_behind_the_one_before_and_the_solution_last(open_page, width):
    page = open_page("book/05_shared.html", width=width)
    widget = page.locator(".worklog-exercise").first
    for number in (1, 2, 3):
        assert summaries(widget).count() == 2 + number
        widget.get_by_text(f"Hint {number} of 3").click()
    solution = exercises()["shared_tree"].why[:40]
    assert not widget.get_by_text(solution).is_visible()
    widget.get_by_text("Solution", exact=True).click()
    assert widget.get_by_text(solution).is_visible()
    assert fits(page)


def pick(widget: Locator, label: str, *, touch: bool) -> None:
    choice = widget.locator("label").get_by_text(label, exact=True)
    choice.tap() if touch else choice.click()


def summaries(widget: Locator) -> Locator:
    """The fold-outs that can be seen."""
    return widget.locator("summary:visible")


def fits(page: Page) -> bool:
    """Whether nothing makes the page scroll sideways."""
    return page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
