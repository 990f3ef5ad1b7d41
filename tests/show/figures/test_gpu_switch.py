"""`over_records`: the view alone beside one record, and a slider over GPUs beside several."""

import pytest
from sample_records import of_another_gpu, run_of_another_gpu, write

from softmax_lib import figures, recorded
from softmax_lib.show.figures import over_records
from softmax_lib.widgets.views import View

H200, L4 = "NVIDIA H200", "NVIDIA L4"


@pytest.fixture
def an_l4(own):
    """A reader's own record beside the book's."""
    write(own / "nvidia-l4.json", of_another_gpu())


def shown(explored):
    return {choice: leaf.value for choice, leaf in explored.leaves.items()}


@pytest.mark.usefixtures("own")
def test_beside_one_record_it_is_the_figure_and_other_axes_keep_their_sliders():
    alone = over_records(figures.ladder)
    assert isinstance(alone, View)
    own_look = figures.ladder()._repr_mimebundle_()
    assert alone._repr_mimebundle_() == own_look
    explored = over_records(lambda gpu, dtype: f"{dtype} on {gpu}", axes={"dtype": ["a", "b"]})
    assert list(explored.sliders) == ["dtype"]


@pytest.mark.usefixtures("an_l4")
def test_beside_a_second_record_a_slider_starts_at_the_books_and_goes_to_it():
    explored = over_records(figures.ladder)
    assert explored.sliders["GPU"].options == ((H200, H200), (L4, L4))
    assert explored.choice == (H200,)
    assert figures.ladder().alt == explored.fallback["text/plain"]
    assert f"recorded on {recorded(L4).where}" in shown(explored)[L4,]
    assert H200 not in shown(explored)[L4,]


@pytest.mark.usefixtures("an_l4")
def test_other_axes_are_arguments_and_start_where_they_are_told():
    explored = over_records(
        lambda gpu, dtype, rows: f"{rows} {dtype} on {gpu}",
        axes={"dtype": ["float32", "bfloat16"]},
        start=["bfloat16"],
        rows=8,
    )
    assert explored.choice == (H200, "bfloat16")
    assert shown(explored)[L4, "float32"] == "<p>8 float32 on NVIDIA L4</p>"


@pytest.mark.usefixtures("an_l4")
def test_what_a_record_lacks_is_a_sentence_and_no_view_of_another_gpu():
    explored = over_records(figures.in_a_model)
    assert "<img" in shown(explored)[H200,]
    said = '<p class="worklog-note" role="status">softmax() was not measured in a whole model on a GPU called NVIDIA L4'
    assert shown(explored)[L4,].startswith(said)


@pytest.mark.usefixtures("an_l4")
def test_runs_bring_the_gpus_that_have_no_record(own):
    run = {**run_of_another_gpu(), "gpu": {"name": "Tesla T4"}}
    write(own / "peers" / "tesla-t4-1.json", run)
    explored = over_records(figures.beside_peers, runs="peers")
    assert [name for name, _ in explored.sliders["GPU"].options][-2:] == [L4, "Tesla T4"]
    assert "on Tesla T4" in shown(explored)["Tesla T4",]
    assert "was not measured beside its peers" in shown(explored)[L4,]


@pytest.mark.usefixtures("own")
def test_what_is_no_error_of_ours_is_none_of_a_record():
    with pytest.raises(TypeError):
        over_records(figures.ladder, no_such_argument=1)
