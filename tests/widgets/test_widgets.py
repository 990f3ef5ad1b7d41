"""What explorers, steppers, questions and pictures are made of, without a browser."""

import re

import ipywidgets
import matplotlib.pyplot as plt
import pytest

from softmax_lib.errors import BadInput
from softmax_lib.widgets.explorers import explorer
from softmax_lib.widgets.stepping import predict, stepper
from softmax_lib.widgets.views import view


def plot(height=2.0):
    figure, axes = plt.subplots(figsize=(2, 1))
    axes.plot([0, height])
    return figure


def words(choice):
    return f"<p>{choice}</p>"


def shown(explored):
    return [leaf.value for leaf in explored.leaves.values()]


def test_a_figure_becomes_the_same_svg_each_time_and_is_closed():
    first, second = view(plot(), "a line"), view(plot(), "a line")
    assert first == second
    assert plt.get_fignums() == []


def test_a_picture_carries_its_words_escaped():
    picture = view(plot(), 'below "1" & <2>')
    assert 'alt="below &quot;1&quot; &amp; &lt;2&gt;"' in picture.html
    assert picture.fallback()["text/plain"] == 'below "1" & <2>'
    assert picture.fallback().keys() == {"image/png", "text/plain"}


def test_html_and_pictures_join_in_order():
    both = view([plot(), "<p>4 sectors</p>"], "sectors")
    assert re.fullmatch(r"<img .*><p>4 sectors</p>", both.html)
    assert both.png is not None


def test_an_explorer_prepares_every_combination():
    explored = explorer({"block": [32, 64], "gpu": ["T4", "H200"]}, lambda b, g: f"{b} on {g}")
    assert shown(explored) == ["32 on T4", "32 on H200", "64 on T4", "64 on H200"]
    assert list(explored.sliders) == ["block", "gpu"]


def test_an_axis_with_one_option_has_no_slider():
    explored = explorer({"block": [32], "cols": [1, 2]}, lambda b, c: f"{b}, {c}")
    assert list(explored.sliders) == ["cols"]
    assert explored.choice == (32, 1)


def test_an_impossible_option_says_why_over_the_last_good_view():
    def render(size):
        if size == 3:
            raise BadInput("3 is <odd>.")
        return f"<p>{size}</p>"

    explored = explorer({"size": [1, 2, 3]}, render)
    assert (
        shown(explored)[2] == '<p class="worklog-note" role="status">3 is &lt;odd&gt;.</p><p>2</p>'
    )


def test_a_live_kernel_replaces_a_view_and_its_error_becomes_a_sentence():
    explored = explorer({"size": [1, 2, 3]}, words)

    def launch(choice):
        if choice == (3,):
            raise BadInput("No GPU to run on.")
        explored.replace(choice, "<p>measured</p>")

    explored.on_choice(launch)
    explored.sliders["size"].index = 1
    assert shown(explored) == ["<p>1</p>", "<p>measured</p>", "<p>3</p>"]
    explored.sliders["size"].index = 2
    assert "No GPU to run on." in explored.note.value
    explored.sliders["size"].index = 1
    assert explored.note.value == ""


def test_an_explorer_refuses_what_it_cannot_show():
    with pytest.raises(BadInput, match="at least one option"):
        explorer({"size": []}, words)
    with pytest.raises(BadInput, match="not among the options"):
        explorer({"size": [1]}, words, start=[2])


def test_widgets_leave_a_view_behind_where_none_can_run():
    for widget, said in (
        (explorer({"size": [1, 2]}, words, start=[2], alt=lambda s: f"size {s}"), "size 2"),
        (stepper(["<p>a</p>", "<p>b</p>"]), "step 1 of 2"),
        (predict("Which?", ["a", "b"], "a", "<p>why</p>"), "Which? (a / b)"),
    ):
        bundle = widget._repr_mimebundle_()
        assert bundle["text/plain"] == said
        assert "application/vnd.jupyter.widget-view+json" in bundle
        assert bundle["text/html"]


def test_a_question_needs_its_answer_among_the_choices():
    with pytest.raises(BadInput, match="not among the choices"):
        predict("Which?", ["a", "b"], "c", "")


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
    box = explored.children[-1]
    assert [child.value for child in box.children] == ["<p>2</p>"]


def test_without_a_stack_a_question_still_waits_for_the_guess(without_stack):
    asked = predict("Which?", ["a", "b"], "a", "<p>why</p>")
    _, pick, outcome = asked.children
    assert outcome.children == ()
    pick.index = 1
    assert "it is a" in outcome.children[0].children[0].value
