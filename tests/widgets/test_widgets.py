"""What explorers, steppers, questions and pictures are made of, without a browser."""

import math
import re
from urllib.parse import unquote
from xml.etree import ElementTree

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest

from softmax_lib import drawings, predict, widgets
from softmax_lib.engine.errors import BadInput, WrongType
from softmax_lib.widgets import explorer, stepper
from softmax_lib.widgets.views import view


def plot(height=2.0):
    figure, axes = plt.subplots(figsize=(2, 1))
    axes.plot([0, height])
    return figure


def words(choice):
    return f"{choice}"


def shown(explored):
    return [leaf.value for leaf in explored.leaves.values()]


def test_a_figure_is_closed_and_the_last_bits_of_coordinates_which_processors_differ_in_change_nothing():
    pictures = []
    for last_bits in (0, 1e-15):
        figure, axes = plt.subplots()
        axes.plot([1, 2], [1, 3 * (1 + last_bits)])
        axes.set_axis_off()
        figure.set_figwidth(6 + 4 * last_bits)
        pictures.append(unquote(view(figure, "a line").html))
    assert pictures[0] == pictures[1]
    assert plt.get_fignums() == []
    named = set(re.findall(r'id="([^"]+)"', pictures[0]))
    asked = re.findall(r'(?:url\(|href=")#([^")]+)', pictures[0])
    assert asked
    assert set(asked) <= named


def test_a_picture_carries_its_words_escaped():
    picture = view(plot(), 'below "1" & <2>')
    assert 'alt="below &#34;1&#34; &amp; &lt;2&gt;"' in picture.html
    assert picture.fallback()["text/plain"] == 'below "1" & <2>'
    assert picture.fallback().keys() == {"image/png", "text/plain"}


def test_html_and_pictures_join_in_order():
    both = view([plot(), "4 sectors"], "sectors")
    assert re.fullmatch(r"<img .*><p>4 sectors</p>", both.html)
    assert both.png is not None


def test_an_explorer_prepares_every_combination():
    explored = explorer({"block": [32, 64], "gpu": ["T4", "H200"]}, lambda b, g: f"{b} on {g}")
    assert shown(explored) == [
        "<p>32 on T4</p>", "<p>32 on H200</p>", "<p>64 on T4</p>", "<p>64 on H200</p>"
    ]  # fmt: skip
    assert list(explored.sliders) == ["block", "gpu"]


def test_an_axis_with_one_option_has_no_slider():
    explored = explorer({"block": [32], "cols": [1, 2]}, lambda b, c: f"{b}, {c}")
    assert list(explored.sliders) == ["cols"]
    assert explored.choice == (32, 1)


def test_an_impossible_option_says_why_over_the_last_good_view_of_its_last_axis():
    def render(gpu, size):
        if gpu == "T4" or size == 3:
            raise BadInput("It is <odd>.")
        return f"{size} on {gpu}"

    explored = explorer({"gpu": ["H200", "T4", "L4"], "size": [2, 3]}, render)
    no = '<p class="worklog-note" role="status">It is &lt;odd&gt;.</p>'
    assert shown(explored) == [
        "<p>2 on H200</p>", f"{no}<p>2 on H200</p>", no, no, "<p>2 on L4</p>", f"{no}<p>2 on L4</p>"
    ]  # fmt: skip


def test_a_live_kernel_replaces_a_view_and_a_move_of_the_slider_ends_what_it_said():
    button = ipywidgets.Button()
    explored = explorer({"size": [1, 2, 3]}, words, extra=[button])
    assert list(explored.children)[:2] == [explored.sliders["size"], button]
    explored.replace((2,), "measured")
    explored.say("No GPU to <run> on.")
    assert shown(explored) == ["<p>1</p>", "<p>measured</p>", "<p>3</p>"]
    assert "No GPU to &lt;run&gt; on." in explored.note.value
    explored.sliders["size"].index = 1
    assert explored.note.value == ""


REPLIES = {"b": "no"}
REFUSED = [
    (lambda: view({"a": 1}), WrongType, "A dict cannot be shown here"),
    (lambda: explorer({"size": []}, words), BadInput, "at least one option"),
    (lambda: explorer({"size": [1]}, words, start=[2]), BadInput, "not among the options"),
    (lambda: predict("Which?", ["a", "b"], "c", ""), BadInput, "'c' is not among the choices: a, b"),
    (lambda: predict("Which?", {"a": 1.0, "b": 2.0}, "c", ""), BadInput, "'c' is not among the choices: a, b"),
    (lambda: predict("Which?", {}, 1.0, ""), BadInput, "near none of the choices"),
    (lambda: predict("Which?", {"a": 1.0, "b": 2.0}, math.nan, ""), BadInput, "near none of the choices"),
    (lambda: predict("Which?", ["a", "b", "c"], "a", "", replies=REPLIES), BadInput, "no reply to the wrong answer 'c'"),
    (lambda: predict("Which?", ["a", "b"], "a", "", replies=REPLIES | {"d": ""}), BadInput, "reply to 'd', which is no answer"),
    (lambda: widgets.table(["", "ms"], [("a",)]), BadInput, "needs 2 cells"),
    (lambda: widgets.table(["", "ms"], [("a", 1)], [0.1, 0.2]), BadInput, "2 bars do not fit 1 rows"),
    (lambda: widgets.table(["", "ms"], [("a", 1)], [math.nan]), BadInput, "share from 0 to 1"),
    (lambda: widgets.table(["", "ms"], [("a", 1)], [-0.1]), BadInput, "share from 0 to 1"),
    (lambda: widgets.table([], [()]), BadInput, "at least one cell"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "error", "told"), REFUSED)
def test_what_cannot_be_shown_or_asked_is_refused(make, error, told):
    with pytest.raises(error, match=told):
        make()


def test_widgets_leave_a_view_behind_where_none_can_run():
    for widget, said in (
        (explorer({"size": [1, 2]}, words, start=[2], alt=lambda s: f"size {s}"), "size 2"),
        (stepper(["a", "b"]), "step 1 of 2"),
        (predict("Which?", ["a", "b"], "a", "why"), "Which? (a / b)"),
    ):
        bundle = widget._repr_mimebundle_()
        assert bundle["text/plain"] == said
        assert "application/vnd.jupyter.widget-view+json" in bundle
        assert bundle["text/html"]


@pytest.mark.parametrize(
    ("truth", "right"), [(1.0, "as fast"), (1.49, "as fast"), (1.51, "twice"), (100.0, "thrice")]
)
def test_of_answers_that_stand_for_numbers_the_nearest_to_what_was_measured_is_right(truth, right):
    answers = {"as fast": 1, "twice": 2, "thrice": 3}
    asked = predict("How fast?", answers, truth, "why")
    assert f"<summary>Answer</summary><p>{right}</p>" in asked.fallback["text/html"]
    assert asked.children[1].options == tuple(answers)
    assert f"; nearest is {right}" in "".join(verdicts(asked))
    assert "; it is twice." in verdicts(predict("How fast?", answers, "twice", "why"))[0]


def test_each_wrong_answer_has_a_reply_of_its_own():
    replies = {"b": "b is <wrong>.", "c": "c is late."}
    asked = predict("Which?", ["a", "b", "c"], "a", "why", replies=replies)
    said = verdicts(asked)
    assert "worklog-reply" not in said[0]
    assert "b is &lt;wrong&gt;." in said[1]
    assert "c is late." in said[2]


def test_question_answers_and_words_are_escaped():
    asked = predict("Is 1 < 2?", ["<yes>", "no"], "<yes>", "`a < b`")
    html = asked.fallback["text/html"]
    assert "Is 1 &lt; 2?" in html
    assert "<li>&lt;yes&gt;</li>" in html
    assert "<code>a &lt; b</code>" in html
    assert "You said &lt;yes&gt;: right." in verdicts(asked)[0]
    assert "You said no; it is &lt;yes&gt;." in verdicts(asked)[1]


def verdicts(asked):
    """What each choice is answered."""
    return [outcome.children[0].value for outcome in asked.children[2].children]


# --- text -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("4 sectors", "<p>4 sectors</p>"),
        ("**4** of `x`", "<p><strong>4</strong> of <code>x</code></p>"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("max_from_zero takes 1 * 2 * 3", "<p>max_from_zero takes 1 * 2 * 3</p>"),
    ],
)
def test_text_is_markdown_without_html_in_it(text, html):
    assert view(text).html == html


def test_a_text_is_its_own_words_unless_it_is_given_others():
    assert view("4 *sectors*").text == "4 *sectors*"
    assert view([view("4"), "sectors"]).text == "4 sectors"
    assert view("4", "four").text == view(["4"], "four").text == "four"


def test_plain_text_is_shown_as_it_is_escaped():
    told = widgets.plain("*4* of\n    __init__ <b>")
    assert "*4* of\n    __init__ &lt;b&gt;</div>" in told.html
    assert told.text == "*4* of\n    __init__ <b>"


# --- tables -----------------------------------------------------------------------------------


def cells(shown):
    """The table's cells, line by line."""
    body = re.sub(r"<style>.*?</style>", "", shown.html, flags=re.DOTALL)
    lines = re.findall(r"<tr>(.*?)</tr>", body)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in lines]


def test_a_table_has_headings_names_and_cells():
    shown = widgets.table(["size", "ms"], [(32, "1.5"), ("<64>", 2)], caption="naive & co")
    assert cells(shown) == [["size", "ms"], ["32", "1.5"], ["&lt;64&gt;", "2"]]
    assert shown.html.count('scope="row"') == shown.html.count('scope="col"') == 2
    assert "<caption>naive &amp; co</caption>" in shown.html
    assert shown.text == "naive & co: 32 1.5; <64> 2"
    assert cells(widgets.table([], [["y", 0.5, 0.5]])) == [["y", "0.5", "0.5"]]
    assert '<td></td><th scope="col">ms</th>' in widgets.table(["", "ms"], [("a", 1)]).html


def test_a_table_too_wide_for_a_phone_scrolls_by_itself_and_can_be_reached_by_keyboard():
    wide = widgets.table(["size", *"abcde"], [(32, *range(5))], caption="naive & co").html
    assert 'tabindex="0" role="group" aria-label="naive &amp; co"' in wide
    assert "tabindex" not in widgets.table(["size", *"abcd"], [(32, *range(4))]).html


def test_bars_reach_as_far_as_their_share_and_no_further():
    shown = widgets.table(["", "share"], [("a", "50%"), ("b", "120%")], np.array([0.5, 1.2]))
    ends = re.findall(r"#0072b255 (\d+)%,transparent (\d+)%", shown.html)
    assert ends == [("50", "50"), ("100", "100")]


def test_a_stepper_steps_between_its_first_and_last_frame():
    backward, _, forward, scrub = stepper([words(n) for n in range(2)]).children[0].children
    places = []
    for button in (backward, forward, forward, backward):
        button.click()
        places.append(scrub.index)
    assert places == [0, 1, 1, 0]


@pytest.fixture
def without_stack(monkeypatch):
    """ipywidgets 7, which Colab has, lacks `Stack`."""
    monkeypatch.delattr(ipywidgets, "Stack")


def test_without_a_stack_the_kernel_switches_views(without_stack):
    explored = explorer({"size": [1, 2]}, words)
    explored.sliders["size"].index = 1
    assert not is_named(explored)  # no widget of others is asked for
    box = explored.children[-1]
    assert [child.value for child in box.children] == ["<p>2</p>"]


def test_without_a_stack_a_question_still_waits_for_the_guess(without_stack):
    asked = predict("Which?", ["a", "b"], "a", "why")
    _, pick, outcome = asked.children
    assert outcome.children == ()
    pick.index = 1
    assert "it is a" in outcome.children[0].children[0].value


def is_named(widget):
    """Whether something in a widget's box names its sliders in JupyterLab."""
    return any(type(child).__name__ == "Announcer" for child in widget.children)


def test_what_has_a_slider_has_what_names_it():
    pytest.importorskip("anywidget")
    assert is_named(explorer({"size": [1, 2]}, words))
    assert is_named(stepper(["a", "b"]))
    assert not is_named(explorer({"size": [1]}, words))
    assert not is_named(stepper(["a"]))


def test_a_drawing_is_an_image_where_svg_would_be_stripped():
    shown = view([drawings.row_starts(), "Beside it."])._repr_mimebundle_()["text/html"]
    assert "<svg" not in shown
    image = '<img class="worklog-drawing" alt="Rows cut [^"]*" .*src="([^"]*)">'
    (source,) = re.findall(image, shown)
    drawn = ElementTree.fromstring(unquote(source.removeprefix("data:image/svg+xml,")))
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert "<p>Beside it.</p>" in shown
