"""Sliders, steppers and questions of every page, with no kernel: by keyboard, mouse and touch."""

import itertools

import pytest
from playwright.sync_api import Locator, Page

from softmax_lib import recorded
from softmax_lib.engine.words import time_in_words
from softmax_lib.worklog.registry import rungs

from .conftest import INTERACTIVE, visits

pytestmark = pytest.mark.site

DESKTOP, PHONE = 1280, 390
ON_A_DESKTOP, ON_A_PHONE = (DESKTOP, "light"), (PHONE, "light")
NO_BREAK = "\N{NO-BREAK SPACE}"
THUMB = 16  # pixels of a slider's handle, which stays within its track

# The theme makes code that scrolls focusable a while after it came.
SHOWN = r"""widget => [...widget.querySelectorAll("img, .worklog-html")]
    .filter(element => element.checkVisibility())
    .map(element => element.src || element.innerHTML.replace(/ tabindex="-?\d"/g, "")).join("\n")"""

# Whoever looks from outside may look too late: the next frame is there already.
KEEP_FRAMES = f"""widget => {{
    widget.frames = [];
    new MutationObserver(() => widget.frames.push(({SHOWN})(widget))).observe(widget, {{childList: true, subtree: true}});
}}"""

SETTLED = """widget => [...widget.querySelectorAll(".worklog-place")].every(place => {
    const control = document.getElementById(place.dataset.of);
    return place.dataset.at === (control.value ?? control.querySelector("input:checked")?.value ?? "");
})"""

LOOK = f"""async (slider, frames) => {{
    const widget = slider.closest(".worklog-widget");
    while (!({SETTLED})(widget)) {{
        if (!frames--) throw Error("what is shown is not what was set");
        await new Promise(requestAnimationFrame);
    }}
    return [slider.querySelector("output").innerText, ({SHOWN})(widget)];
}}"""
FRAMES = 600


@visits(INTERACTIVE, [ON_A_DESKTOP, ON_A_PHONE])
def test_questions_reveal_their_answer_after_a_guess_only(visit):
    touch = visit.viewport_size["width"] == PHONE
    for question in visit.locator(".worklog-predict").all():
        verdict = question.locator(".worklog-verdict:visible")
        assert verdict.count() == 0
        for radio in question.locator("input[type=radio]").all():
            radio.tap() if touch else radio.check()
            said = radio.locator("xpath=..").inner_text().strip()
            verdict.wait_for()
            assert said in verdict.inner_text()
        assert verdict.count() == 1


@visits(INTERACTIVE, [ON_A_DESKTOP])
def test_sliders_move_by_keyboard_through_every_position(visit):
    for _, slider in sliders(visit):
        handle = slider.locator("input")
        handle.focus()
        handle.press("Home")
        seen = [look(slider)]
        for _ in range(positions(slider) - 1):
            handle.press("ArrowRight")
            seen.append(look(slider))
        assert_all_differ(seen)
        handle.press("Home")
        assert look(slider) == seen[0]


@visits(INTERACTIVE, [ON_A_PHONE], full=[ON_A_DESKTOP])
def test_sliders_move_by_pointer_to_every_position(visit):
    touch = visit.viewport_size["width"] == PHONE
    for _, slider in sliders(visit):
        seen = []
        for position in reversed(range(positions(slider))):
            point_at(visit, slider, position, touch=touch)
            seen.append(look(slider))
        assert_all_differ(seen)


@visits(INTERACTIVE, [ON_A_DESKTOP])
def test_steppers_step_and_play(visit):
    for stepper in visit.locator(".worklog-stepper:has(input)").all():
        first = stepper.evaluate(SHOWN)
        stepper.locator(".worklog-forward").click()
        second = wait_for_change(visit, stepper, first)
        stepper.locator(".worklog-backward").click()
        assert wait_for_change(visit, stepper, second) == first
        stepper.evaluate(KEEP_FRAMES)
        stepper.locator(".worklog-play").click()
        wait_for_change(visit, stepper, first)
        frames = stepper.evaluate("widget => widget.frames")
        assert next(frame for frame in frames if frame != first) == second


@pytest.mark.parametrize("kernel", rungs(), ids=lambda kernel: kernel.name)
def test_block_size_sliders_show_the_recorded_times(open_page, kernel):
    page = open_page(f"book/{kernel.stem}.html")
    timings = recorded.select(provider=kernel.name, rows=1024, cols=32768, l2="cold")
    times = {
        str(t.case.block_size): time_in_words(t.median_us).replace(" ", NO_BREAK) for t in timings
    }
    ((_, slider),) = [pair for pair in sliders(page) if "block size" in pair[1].inner_text()]
    slider.locator("input").press("Home")
    for _ in range(positions(slider)):
        size, shown = look(slider)
        words = f"{size} threads per block: {times.pop(size)}"
        assert words in shown.replace("&nbsp;", NO_BREAK)
        assert f"ecorded on {recorded.where}" in shown
        slider.locator("input").press("ArrowRight")
    assert times == {}


def sliders(page: Page) -> list[tuple[Locator, Locator]]:
    """Every slider with the widget that it is a part of."""
    widgets = page.locator(".worklog-widget").all()
    return [(w, s) for w in widgets for s in w.locator(".worklog-slider").all()]


def positions(slider: Locator) -> int:
    """How many positions a slider has: they are numbered from 0."""
    return int(slider.locator("input").get_attribute("max")) + 1


def look(slider: Locator) -> tuple[str, str]:
    """The number beside the slider, and what its widget shows once that is settled."""
    return tuple(slider.evaluate(LOOK, FRAMES))


def assert_all_differ(seen: list[tuple[str, str]]) -> None:
    """Each position has its own value, and every move changes what is shown."""
    assert len({value for value, _ in seen}) == len(seen) > 1
    pairs = itertools.pairwise(seen)
    same = [f"{before[0]} and {after[0]}" for before, after in pairs if before[1] == after[1]]
    assert same == [], "these look alike"


def point_at(page: Page, slider: Locator, position: int, *, touch: bool) -> None:
    """Click or tap the track where `position` lies."""
    track = slider.locator("input")
    track.scroll_into_view_if_needed()
    box = track.bounding_box()
    x = box["x"] + THUMB / 2 + (box["width"] - THUMB) * position / (positions(slider) - 1)
    y = box["y"] + box["height"] / 2
    page.touchscreen.tap(x, y) if touch else page.mouse.click(x, y)


def wait_for_change(page: Page, widget: Locator, before: str) -> str:
    """What `widget` shows as soon as that is something else than `before`."""
    page.wait_for_function(
        f"([widget, before]) => ({SHOWN})(widget) !== before", arg=[widget.element_handle(), before]
    )
    return widget.evaluate(SHOWN)
