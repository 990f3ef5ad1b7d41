"""The README's results are those of the record: `make readme` makes them anew, between two marks."""

import re
from importlib import metadata

import pytest
import readme
from facts.facts_results import FACTS_INTRO
from marks import rewrite
from sample_records import content, up_to_date

from softmax_lib import recorded
from softmax_lib.engine.errors import BadInput
from softmax_lib.records.record import Record

STALE = "the README is stale: run `make readme`"


def test_the_readmes_results_are_the_records_and_its_list_of_chapters_the_books():
    text = readme.README.read_text(encoding="utf-8")
    for name, block in (("results", readme.results(recorded())), ("chapters", readme.chapters())):
        assert rewrite(text, name, block) == text, STALE


def test_the_picture_of_the_race_is_what_the_x_ray_finds():
    assert readme.PICTURE.read_text(encoding="utf-8") == readme.picture(), STALE


def test_the_readmes_chart_is_that_of_the_record():
    constraints = (readme.ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = re.search(r"^matplotlib==(\S+)$", constraints, re.MULTILINE)[1]
    if metadata.version("matplotlib") != pinned:
        pytest.skip(f"the chart was drawn by matplotlib {pinned}; another one draws other bytes")
    assert readme.CHART.read_text(encoding="utf-8") == readme.chart(recorded()), STALE


def test_a_record_without_naive_is_one_sentence(monkeypatch, capsys):
    without = Record(content(rows=[row for row in content()["rows"] if row["provider"] != "naive"]))
    monkeypatch.setattr(readme, "recorded", lambda: without)
    assert readme.main() == 2
    assert capsys.readouterr().err.startswith("readme: naive was not yet measured on NVIDIA H200")


def test_contributing_has_a_line_for_every_room_of_the_package():
    text = (readme.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = [path.parent.name for path in (readme.ROOT / "softmax_lib").glob("*/__init__.py")]
    assert [room for room in rooms if f"`{room}/`" not in text] == []


@pytest.fixture
def copy_of_both(tmp_path, monkeypatch):
    """A README and a chart that may be written."""
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    monkeypatch.setattr(readme, "CHART", tmp_path / "ladder.svg")
    monkeypatch.setattr(readme, "PICTURE", tmp_path / "race.svg")
    return tmp_path


def test_it_is_written_with_its_chart_and_one_line_says_so(copy_of_both, capsys):
    (copy_of_both / "README.md").write_text(
        "before <!-- chapters:begin --><!-- chapters:end --> <!-- results:begin --><!-- results:end --> after"
    )
    assert readme.main() == 0
    assert capsys.readouterr().out == "Wrote README.md and its pictures.\n"
    written = (copy_of_both / "README.md").read_text()
    assert written.startswith("before ")
    assert "| **naive** |" in written
    assert (copy_of_both / "ladder.svg").read_text().startswith("<?xml")


def test_what_cannot_be_written_gets_one_line_and_status_2(copy_of_both, capsys):
    (copy_of_both / "README.md").write_text("without marks")
    assert readme.main() == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert (copy_of_both / "README.md").read_text() == "without marks"
    assert not (copy_of_both / "ladder.svg").exists()


def test_a_rung_that_was_not_yet_measured_keeps_its_line():
    old = content(rows=[row for row in content()["rows"] if row["provider"] != "shuffle"])
    lines = readme.results(Record(old)).splitlines()
    assert "| **shuffle** | not yet measured | | | |" in lines
    assert "not yet measured" not in readme.results(Record(up_to_date()))


def test_the_readme_begins_with_the_result_that_the_introduction_has():
    said = " ".join(readme.README.read_text(encoding="utf-8").split())
    result, share, *_ = FACTS_INTRO
    assert result in said
    assert share in said


# ---- text between two marks

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


@pytest.mark.parametrize("text", ["no marks", f"{BEGIN} only", f"{END}{END}"])
def test_a_page_without_its_marks_is_left_alone(text):
    with pytest.raises(BadInput, match="results:begin"):
        rewrite(text, "results", "new")
