"""Text between two marks is a script's, and all around it people's."""

import pytest
from marks import rewrite

from softmax_lib.engine.errors import BadInput

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


@pytest.mark.parametrize("text", ["no marks", f"{BEGIN} only", f"{END}{END}"])
def test_a_page_without_its_marks_is_left_alone(text):
    with pytest.raises(BadInput, match="results:begin"):
        rewrite(text, "results", "new")


def test_rewriting_touches_only_what_lies_between_the_marks():
    text = f"before {BEGIN}\nold\n{END} after"
    assert rewrite(text, "results", "new") == f"before {BEGIN}\nnew\n{END} after"
