"""A kernel that no GPU has timed yet is shown as such in every picture, and one that has changed since as well."""

import pytest
from sample_records import up_to_date, write

from softmax_lib import explore, figures, measure, recorded
from softmax_lib.engine.errors import BadInput
from softmax_lib.records import shelf
from softmax_lib.records.measurement import Case
from softmax_lib.records.record import Record

NEW, CHANGED = "shuffle", "float4"


def of_old_kernels():
    """The book's record before one rung was there, and before another had its present text."""
    old = up_to_date()
    for part, who in (("rows", "provider"), ("counters", "kernel")):
        old[part] = [one for one in old[part] if one[who] != NEW]
    old["kernels"] = {name: one for name, one in old["kernels"].items() if name != NEW}
    old["kernels"][CHANGED] = "0" * 64
    return old


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A folder of such a record, in place of the book's."""
    stand_in(of_old_kernels(), tmp_path, monkeypatch)
    return Record(of_old_kernels())


def stand_in(record, folder, monkeypatch):
    write(folder / "nvidia-h200.json", record)
    monkeypatch.setattr(shelf, "FOLDER", folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))


DRAWN = {
    "ladder": (),
    "bandwidth_by_cols": (),
    "traffic_ledger": (),
    "gains": ({"shared": "", NEW: "", CHANGED: ""},),
}


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize(("name", "wanted"), DRAWN.items())
def test_a_picture_says_which_kernel_was_not_yet_measured(name, wanted):
    told = getattr(figures, name)(*wanted).alt
    assert f"{NEW} not yet measured" in told or f"not yet measured on NVIDIA H200: {NEW}." in told


@pytest.mark.parametrize(("name", "wanted"), DRAWN.items())
def test_where_all_were_measured_it_says_nothing_of_that(name, wanted, tmp_path, monkeypatch):
    stand_in(up_to_date(), tmp_path, monkeypatch)
    assert "not yet measured" not in getattr(figures, name)(*wanted).alt


@pytest.mark.usefixtures("old")
def test_the_ladder_keeps_a_line_for_it():
    axes = figures.ladder().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "naive", "online", "shared", "float4*", "fusion", NEW,
    ]  # fmt: skip
    assert "not yet measured" in [words.get_text() for words in axes.texts]


@pytest.mark.usefixtures("old")
def test_what_has_no_number_says_so_in_one_sentence():
    sentence = rf"^{NEW} was not yet measured on NVIDIA H200, .*; `softmax-lib record` on such a GPU does it"
    with pytest.raises(BadInput, match=sentence):
        measure(NEW, 1024, 32768, gpu="nvidia-h200")
    with pytest.raises(BadInput, match=sentence):
        recorded.find(Case(NEW, 1024, 32768))
    pytest.importorskip("ipywidgets")
    assert f"{NEW} was not yet measured" in explore(NEW).fallback["text/plain"]


def test_kernels_that_wait_are_listed_by_why(old):
    waiting = old.waiting()
    assert waiting.pop("not yet measured on NVIDIA H200") == [NEW]
    assert CHANGED in waiting.pop("changed since they were measured on NVIDIA H200")
    assert not waiting
    assert Record(up_to_date()).waiting() == {}
