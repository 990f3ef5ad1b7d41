"""What is kept is whole or counts as nothing, and what a killed process left does not stay."""

import multiprocessing
import os
import time
from unittest.mock import Mock

import pytest
from damages import DAMAGES

from softmax_lib.engine import caches
from softmax_lib.engine.caches import building_folder, is_whole, read_or_make

pytestmark = pytest.mark.quick


def make():
    return b"content"


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_anew(tmp_path, damage):
    path = tmp_path / "file"
    read_or_make(path, make)
    assert is_whole(path)
    DAMAGES[damage](path, 3)
    assert not is_whole(path) or (damage == "unreadable" and os.geteuid() == 0)
    assert read_or_make(path, make) == b"content"
    assert is_whole(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_under_the_name_of_another_is_no_such_file(tmp_path):
    read_or_make(tmp_path / "other", make)
    (tmp_path / "other").rename(tmp_path / "file")
    assert not is_whole(tmp_path / "file")


def test_what_was_made_is_kept_and_a_full_disk_keeps_nothing(tmp_path, monkeypatch):
    path, count = tmp_path / "file", Mock(return_value=b"content")
    assert read_or_make(path, count) == read_or_make(path, count) == b"content"
    count.assert_called_once()
    monkeypatch.setattr(os, "replace", Mock(side_effect=OSError(28, "No space left on device")))
    assert read_or_make(tmp_path / "other", make) == b"content"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(os, "fsync", lambda file: done.append("fsync"))
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), replace(*paths)))
    read_or_make(tmp_path / "file", make)
    assert done == ["fsync", "replace"]


def build_for_ever(inside, started):
    with building_folder(inside):
        started.set()
        time.sleep(600)


def test_only_the_folder_of_a_process_that_is_no_longer_alive_is_removed(tmp_path):
    started = multiprocessing.Event()
    builder = multiprocessing.Process(target=build_for_ever, args=(tmp_path, started))
    builder.start()
    assert started.wait(60)
    (left,) = tmp_path.iterdir()
    with building_folder(tmp_path):
        assert left.is_dir()
    builder.kill()
    builder.join()
    assert left.is_dir()
    with building_folder(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_lock_goes_after_a_day(tmp_path):
    new, old = tmp_path / "building-new", tmp_path / "building-old"
    for folder in (new, old):
        folder.mkdir()
    then = time.time() - caches._ABANDONED_S - 1
    os.utime(old, (then, then))
    with building_folder(tmp_path) as own:
        assert set(tmp_path.iterdir()) == {own, new}
