"""The primitives of every drawing: what is drawn lies where it was said, escaped, readable in any theme."""

from xml.etree import ElementTree

import pytest

from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame, number


def test_a_drawing_has_its_size_and_its_words_for_a_screen_reader():
    drawing = Drawing(123.4, 'above "1" & <2>')
    svg = ElementTree.fromstring(drawing.svg())
    assert svg.get("viewBox") == f"0 0 {WIDTH} 123.4"
    assert (svg.get("role"), svg.get("aria-label")) == ("img", 'above "1" & <2>')
    assert svg.get("fill") == "currentColor"  # the page's own ink, light or dark


@pytest.mark.parametrize(
    ("value", "written"),
    [(3.0, "3"), (-3.0, "−3"), (0.13533, "0.135"), (-0.5, "−0.500"), (0.0001, "1e−04"),
     (float("inf"), "∞"), (float("-inf"), "−∞")],
)  # fmt: skip
def test_numbers_are_short_and_have_a_real_minus(value, written):
    assert number(value) == written


def test_a_frame_escapes_its_words_and_keeps_its_drawing():
    shown = frame(Drawing(10, "w"), "a < b", "c & d")
    assert shown.html.startswith("<p><strong>a &lt; b</strong></p><svg ")
    assert shown.html.endswith("</svg><p>c &amp; d</p>")
    assert shown.text == "a < b: c & d"
