"""Where files are kept, and that a file is replaced whole or not at all."""

import json
import os
from unittest.mock import Mock

import pytest

from softmax_lib.engine.caches import cache_folder, replace_file
from softmax_lib.records import shelf
from softmax_lib.worklog import files
from softmax_lib.worklog.files import readers_folder, shipped_folder, write_json

pytestmark = pytest.mark.quick


def test_the_cache_and_a_readers_files_lie_where_the_system_keeps_such(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "given"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert cache_folder("cuda") == tmp_path / "given" / "softmax_lib" / "cuda"
    assert cache_folder("cuda").is_dir()
    assert readers_folder("measurements") == tmp_path / "data" / "softmax_lib" / "measurements"
    assert not (tmp_path / "data").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/paths/are/ignored")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder("cuda").is_relative_to(tmp_path)


def test_kernels_and_records_lie_in_the_checkout_or_in_the_installed_package():
    for folder, name in ((files.KERNEL_FOLDER, "03_naive.cu"), (shelf.FOLDER, "nvidia-h200.json")):
        assert (folder / name).is_file()
    assert shipped_folder("no_such_folder", "kernels").name == "kernels"


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, stop):
    fail = Mock(side_effect=stop)
    path = tmp_path / "file"
    replace_file(path, b"old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(type(stop)):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_replaced_file_can_be_read_by_everyone(tmp_path):
    replace_file(tmp_path / "file", b"content")
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_json_has_a_line_for_each_entry_and_for_each_entry_of_those_that_hold_more(tmp_path):
    rows = [{"grid": (4, [1])}, {"grid": []}]
    write_json(tmp_path / "x.json", {"gpu": {"sm": 9}, "none": [], "rows": rows, "y": {7: {}}})
    written = (tmp_path / "x.json").read_text()
    assert written == (
        '{\n"gpu": {"sm": 9},\n"none": [],\n"rows": [\n  {"grid": [4, [1]]},\n  {"grid": []}\n],\n'
        '"y": {\n  "7": {}\n}\n}\n'
    )
    assert json.loads(written)["rows"][0] == {"grid": [4, [1]]}
