"""Where records are found: the book's, and a reader's own beside them."""

import os

import pytest
from sample_records import content, of_another_gpu, write

from softmax_lib.engine.errors import BadInput
from softmax_lib.records import shelf
from softmax_lib.records.shelf import available, readable, recorded
from softmax_lib.worklog.files import readers_folder


def test_a_readers_record_lies_beside_the_books(own):
    write(own / "nvidia-l4.json", of_another_gpu())
    assert available() == ("nvidia-h200", "nvidia-l4")
    assert recorded("NVIDIA L4").gpu == recorded("nvidia-l4").gpu == "NVIDIA L4"
    assert recorded().gpu == "NVIDIA H200"


def test_a_record_that_was_written_anew_is_read_anew(own):
    other = content()
    write(own / "x.json", other)
    assert recorded("x") is recorded("x")
    other["date"] = "2030-01-01"
    write(own / "x.json", other)
    os.utime(own / "x.json", (0, 0))  # whatever the resolution of the file system's clock
    assert recorded("x").where == "NVIDIA H200, 2030-01-01"


def test_a_record_of_an_older_schema_is_left_alone_and_hides_no_other(own):
    write(own / "gtx-480.json", {**content(), "schema": 1})
    write(own / "nvidia-l4.json", of_another_gpu())
    with pytest.warns(
        UserWarning, match=r"The record .*gtx-480\.json has schema 1; .*; it is left out"
    ):
        assert list(readable()) == ["NVIDIA H200", "NVIDIA L4"]
    with pytest.raises(BadInput, match="has schema 1; this version reads schema 2"):
        recorded("gtx-480")


def test_a_record_under_another_name_is_found_under_that(own):
    write(own / "before.json", content())
    assert list(readable()) == ["NVIDIA H200", "before"]
    assert all(recorded(name) is record for name, record in readable().items())


@pytest.mark.parametrize("name", ["Evil Name.json", "EVIL-NAME.json"])
def test_the_name_of_a_file_may_have_capitals_and_spaces(own, name):
    write(own / name, content())
    assert available() == ("evil-name", "nvidia-h200")
    assert recorded("Evil Name") is recorded("evil-name") is readable()["evil-name"]


def test_what_is_no_file_is_named_and_hides_no_other(own):
    (own / "folder.json").mkdir(parents=True)
    (own / "link.json").symlink_to("nothing")
    with pytest.warns(UserWarning, match="it is left out") as told:
        assert list(readable()) == ["NVIDIA H200"]
    assert [str(one.message).rpartition("/")[2] for one in told] == [
        "folder.json: it is no file; it is left out.",
        "link.json: No such file or directory; it is left out.",
    ]


def test_a_damaged_record_of_the_readers_does_not_hide_the_books(own, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as where it is installed
    own.mkdir(parents=True)
    (own / "NVIDIA H200.json").write_text("{")
    with pytest.warns(UserWarning, match=r"NVIDIA H200\.json is damaged: .*; it is left out"):
        assert recorded().times(1024, 32768)


def test_a_damaged_record_of_the_book_itself_says_so(tmp_path, monkeypatch):
    write(tmp_path / "nvidia-h200.json", {**content(), "schema": 1})
    monkeypatch.setattr(shelf, "FOLDER", tmp_path)
    with pytest.raises(BadInput, match="has schema 1"):
        readable()


def test_an_unknown_gpu_is_told_which_there_are(own):
    with pytest.raises(BadInput, match=r"called GTX 480; there are nvidia-h200\."):
        recorded("GTX 480")


def test_records_go_to_the_checkout_if_it_can_be_written_else_to_the_reader(own, monkeypatch):
    assert shelf.folders() == (shelf.FOLDER, own)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert shelf.folders() == (own, shelf.FOLDER)
    monkeypatch.undo()
    installed = shelf.FOLDER.with_name("_measurements")
    monkeypatch.setattr(shelf, "FOLDER", installed)
    assert shelf.folders() == (readers_folder("measurements"), installed)


def test_what_is_asked_of_the_shelf_itself_is_the_books():
    assert recorded.where == recorded().where
    assert recorded.times(1024, 32768) == recorded().times(1024, 32768)
    assert recorded.cited.ms["naive"] > recorded.cited.ms["online"]
    with pytest.raises(AttributeError, match="no_such_fact"):
        recorded.no_such_fact  # noqa: B018
