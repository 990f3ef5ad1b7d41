"""The primitives of every drawing: what is drawn lies where it was said, escaped, readable in any theme."""

import itertools
import re
from xml.etree import ElementTree

import pytest

from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame, number, places


def parsed(drawing):
    """The drawing as a tree of elements: it has to be well formed."""
    return ElementTree.fromstring(drawing.svg())


def numbers(element, *names):
    return [float(element.get(name)) for name in names]


def test_a_drawing_has_its_size_and_its_words_for_a_screen_reader():
    svg = parsed(Drawing(123.4, 'above "1" & <2>'))
    assert svg.get("viewBox") == f"0 0 {WIDTH} 123.4"
    assert (svg.get("role"), svg.get("aria-label")) == ("img", 'above "1" & <2>')
    assert svg.get("fill") == "currentColor"  # the page's own ink, light or dark


def test_a_box_lies_where_it_was_said_with_its_text_in_the_middle():
    drawing = Drawing(50, "")
    drawing.box((10, 5, 40, 30), "a<b", tone="blue")
    box, text = parsed(drawing)
    assert numbers(box, "x", "y", "width", "height") == [10, 5, 40, 30]
    assert (text.text, text.get("text-anchor")) == ("a<b", "middle")
    assert numbers(text, "x", "y") == [30, 25]


def test_a_plain_box_takes_the_pages_ink_and_a_faint_one_is_dashed():
    drawing = Drawing(50, "")
    drawing.box((0, 0, 40, 30))
    drawing.box((0, 0, 40, 30), faint=True)
    drawing.arrow((0, 0), (0, 40), tone="plain")  # of which nothing comes
    plain, faint, arrow, _ = parsed(drawing)
    assert (plain.get("stroke"), plain.get("fill")) == ("currentColor", "none")
    assert plain.get("stroke-dasharray") is None
    assert faint.get("stroke-dasharray")
    assert arrow.get("stroke-dasharray")


def test_many_boxes_are_one_path_of_closed_rectangles():
    drawing = Drawing(50, "")
    drawing.boxes([(0, 1, 10, 5), (20, 1, 10.25, 5)], "orange", solid=True)
    (path,) = parsed(drawing)
    assert path.get("d") == "M0 1h10v5h-10zM20 1h10.2v5h-10.2z"
    assert path.get("stroke") is None
    drawing.boxes([], "blue")
    assert len(parsed(drawing)) == 1


@pytest.mark.parametrize(
    ("start", "end"), [((0, 0), (0, 40)), ((10, 10), (50, 40)), ((9, 9), (9, 9))]
)
def test_an_arrow_ends_at_its_point(start, end):
    drawing = Drawing(50, "")
    drawing.arrow(start, end)
    shaft, head = parsed(drawing)
    assert re.findall(r"[\d.]+", shaft.get("d"))[:2] == [f"{v:g}" for v in start]
    assert re.findall(r"[\d.]+", head.get("d"))[:2] == [f"{v:g}" for v in end]
    assert head.get("d").endswith("z")


@pytest.mark.parametrize("count", [1, 3, 8, 16])
def test_boxes_side_by_side_are_centred_alike_and_do_not_touch(count):
    spots = places(count, left=20, width=300)
    edges = [(left, left + wide) for left, wide in spots]
    assert edges[0][0] >= 20
    assert edges[-1][1] <= 320
    assert edges[0][0] - 20 == pytest.approx(320 - edges[-1][1])
    assert all(a[1] < b[0] for a, b in itertools.pairwise(edges))
    assert len({round(wide, 6) for _, wide in spots}) == 1


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
