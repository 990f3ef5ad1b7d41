"""Records: refused when damaged, written whole or not at all, found by GPU, replayed without one."""

import dataclasses
import json
import os

import pytest
import torch
from records_for_tests import BOOK, content, write

from softmax_lib import measurements
from softmax_lib.bench.peers import PEERS
from softmax_lib.bench.plan import WORKLOG
from softmax_lib.errors import BadInput, BlockSizeNotAllowed, SoftmaxLibError
from softmax_lib.measurements import measure, recorded
from softmax_lib.records import record as records
from softmax_lib.registry import kernels, rungs

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU measures instead")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The folder of a reader's own records."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "softmax_lib" / "measurements"


def a_row(**changes):
    return {**content()["rows"][0], **changes}


# --- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 2}, "has schema 2; this version reads schema 1"),
        ({"schema": None}, "has schema None"),
        ({"gpu": {"name": "NVIDIA X"}}, "gpu lacks compute_capability"),
        ({"rows": {}}, "rows of the record is {}, which has the wrong type"),
        ({"more": 1}, "the record has more, which is not known here"),
        ({"rows": ["naive"]}, "rows[0] is no JSON object"),
        ({"rows": [{"provider": "naive"}]}, "rows[0] lacks rows"),
        ({"rows": [a_row(median_us="10")]}, "median_us of rows[0] is '10'"),
        ({"rows": [a_row(rows=True)]}, "rows of rows[0] is True"),
        ({"rows": [a_row(median_us=float("nan"))]}, "median_us of rows[0] is nan"),
        ({"rows": [a_row(copy_us=0.0)]}, "copy_us of rows[0] is 0.0, which cannot be"),
        ({"rows": [a_row(cols=-1)]}, "cols of rows[0] is -1"),
        ({"rows": [a_row(dtype="float99")]}, "dtype of rows[0] is 'float99' and not one of float32"),
        ({"rows": [a_row(l2="tepid")]}, "l2 of rows[0] is 'tepid'"),
        ({"counters": [{"kernel": "naive"}]}, "counters[0] lacks rows"),
    ],
)  # fmt: skip
def test_a_damaged_record_is_refused_in_one_sentence_and_left_alone(tmp_path, change, words):
    path = tmp_path / "x.json"
    text = write(path, {**content(), **change})
    with pytest.raises(BadInput) as refused:
        records.load(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert path.read_text() == text


@pytest.mark.parametrize("field", sorted(content()))
def test_a_record_that_lacks_a_field_is_refused(tmp_path, field):
    damaged = content()
    del damaged[field]
    write(tmp_path / "x.json", damaged)
    with pytest.raises(BadInput, match=field):
        records.load(tmp_path / "x.json")


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[]", b"3", BOOK.read_bytes()[:-100]])
def test_what_is_no_record_is_refused(tmp_path, data):
    (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(BadInput, match=r"is damaged|has schema"):
        records.load(tmp_path / "x.json")


def test_what_cannot_be_read_is_refused(tmp_path):
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(BadInput, match=r"Cannot read the record .*: "):
            records.load(path)


# --- writing ---------------------------------------------------------------------------------


def test_a_saved_record_reads_back_the_same(tmp_path):
    book = records.load(BOOK)
    book.save(tmp_path / "new" / "copy.json")
    assert records.load(tmp_path / "new" / "copy.json") == book
    assert (tmp_path / "new" / "copy.json").read_text() == BOOK.read_text()


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_record_whole(tmp_path, monkeypatch, stop):
    def fail(*paths):
        raise stop

    path = tmp_path / "x.json"
    text = write(path, content())
    book = records.load(path)
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises((BadInput, KeyboardInterrupt)) as stopped:
        book.save(path)
    if isinstance(stop, OSError):
        assert str(stopped.value) == f"Cannot write the record {path}: No space left on device."
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]  # nothing half-written stays behind


def test_a_folder_that_cannot_be_written_gets_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="Cannot write the record"):
        records.load(BOOK).save(tmp_path / "file" / "x.json")


# --- finding ---------------------------------------------------------------------------------


def test_a_readers_record_lies_beside_the_books(own):
    other = content()
    other["gpu"]["name"] = "Tesla T4"
    write(own / "tesla-t4.json", other)
    assert measurements.available() == ("nvidia-h200", "tesla-t4")
    assert recorded("Tesla T4").gpu == recorded("tesla-t4").gpu == "Tesla T4"
    assert recorded().gpu == "NVIDIA H200"


def test_a_record_that_was_written_anew_is_read_anew(own):
    other = content()
    write(own / "x.json", other)
    assert recorded("x") is recorded("x")
    other["date"] = "2030-01-01"
    write(own / "x.json", other)
    os.utime(own / "x.json", (0, 0))  # whatever the resolution of the file system's clock
    assert recorded("x").content["date"] == "2030-01-01"


def test_an_unknown_gpu_is_told_which_there_are(own):
    with pytest.raises(BadInput, match=r"called GTX 480; there are nvidia-h200\."):
        recorded("GTX 480")


def test_records_go_to_the_checkout_if_it_can_be_written_else_to_the_reader(own, monkeypatch):
    assert measurements.folders() == (measurements.FOLDER, own)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert measurements.folders() == (own, measurements.FOLDER)
    monkeypatch.undo()
    monkeypatch.setattr(measurements, "IS_INSTALLED", True)
    assert measurements.folders()[-1] == measurements.FOLDER
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    assert measurements.readers_folder().is_absolute()


# --- replaying -------------------------------------------------------------------------------


@without_gpu
def test_measure_replays_what_was_recorded_and_says_so():
    row = measure("shared", *WORKLOG)
    assert row == recorded().find("shared", *WORKLOG, "float32", 1024, "cold")
    assert row.source == f"recorded on {recorded().where}"
    assert measure("shared", *WORKLOG, block_size=64).block_size == 64
    assert measure("quack", *WORKLOG, dtype="bfloat16").dtype == "bfloat16"
    assert measure("float4", 256, 4096, l2="hot").l2 == "hot"


def test_bandwidth_and_shares_follow_from_the_times():
    row = measure("float4", *WORKLOG, gpu="nvidia-h200")
    assert row.gb_per_s == pytest.approx(2 * 4 * 1024 * 32768 / (row.median_us * 1e3))
    assert row.copy_gb_per_s == pytest.approx(2 * 4 * 1024 * 32768 / (row.copy_us * 1e3))
    assert row.copy_share == pytest.approx(row.gb_per_s / row.copy_gb_per_s)
    half = measure("quack", *WORKLOG, dtype="bfloat16", gpu="nvidia-h200")
    assert half.gb_per_s == pytest.approx(2 * 2 * 1024 * 32768 / (half.median_us * 1e3))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("naive", 3, 5), "naive on (3, 5) float32 at 32 threads a block, cold L2 was never recorded; "
                          "there are (1024, 32768) float32 cold"),
        (("softmin", 3, 5), "2026-11-21 has chunked, float4"),
        (("chunked", 1024, 32768, "float32", 64), "there are block sizes 1024"),
        (("shared", 1024, 32768, "bfloat16"), "(256, 4096) float32 hot"),
    ],
)  # fmt: skip
def test_a_key_never_recorded_says_what_there_is(asked, words):
    name, rows, cols, *rest = asked
    with pytest.raises(BadInput) as missing:
        measure(name, rows, cols, **dict(zip(("dtype", "block_size"), rest)), gpu="nvidia-h200")  # noqa: B905
    assert words.replace("2026-11-21", recorded().content["date"]) in str(missing.value)


def test_a_block_size_that_a_kernel_does_not_take_is_refused():
    with pytest.raises(BlockSizeNotAllowed):
        measure("shared", *WORKLOG, block_size=96)


def test_a_kernel_that_changed_since_is_stale_and_nothing_else_is(tmp_path):
    changed = content()
    changed["kernels"]["shared"] = "0" * 64
    write(tmp_path / "x.json", changed)
    record = records.load(tmp_path / "x.json")
    assert {row.provider for row in record.table.values() if row.stale} == {"shared"}
    row = record.find("shared", *WORKLOG, "float32", 1024, "cold")
    assert row.source == f"recorded on {record.where}, before this kernel changed"


def test_every_error_of_a_record_is_the_packages_own():
    assert issubclass(BadInput, SoftmaxLibError)


# --- the book's record -----------------------------------------------------------------------


def test_no_kernel_has_changed_since_the_book_was_measured():
    assert not [name for name in kernels if recorded().is_stale(name)], (
        "measure again: `softmax-lib record` on a GPU"
    )


def test_each_rung_is_at_least_as_fast_as_the_one_before():
    times = recorded().times(*WORKLOG)
    ladder = [times[kernel.name].median_us for kernel in rungs()]
    assert ladder == sorted(ladder, reverse=True)


def test_the_ladder_pays():
    times = {name: row.median_us for name, row in recorded().times(*WORKLOG).items()}
    assert times["naive"] >= 30 * times["shared"]
    assert times["torch"] >= 1.2 * times["fusion"]


def test_nothing_beats_a_copy_by_more_than_l2_can_explain():
    # y of 128 columns still fits into L2; elsewhere a share above 1 would be a wrong measurement
    for row in recorded().table.values():
        large = row.rows * row.cols * 8 > 4 * recorded().content["gpu"]["l2_bytes"]
        assert row.copy_share < (1.03 if large else 1.3), row
        assert 0 < row.low_us <= row.median_us <= row.high_us


def test_replays_of_the_book_agree_within_a_few_percent():
    spreads = sorted((r.high_us - r.low_us) / r.median_us for r in recorded().table.values())
    assert spreads[len(spreads) // 2] < 0.01
    assert spreads[-1] < 0.1


def test_times_lists_kernels_at_their_own_block_size_then_peers():
    times = recorded().times(*WORKLOG)
    names = [name for name in times if name in kernels]
    assert names == [name for name in kernels if name in times]
    assert list(times)[len(names) :] == list(PEERS)
    assert all(times[n].block_size == kernels[n].choose_block_size(WORKLOG[1]) for n in names)


def test_the_record_is_written_a_row_a_line():
    lines = BOOK.read_text().splitlines()
    assert sum('"provider"' in line for line in lines) == len(recorded().table)
    assert (
        dataclasses.asdict(recorded().find("naive", *WORKLOG, "float32", 32, "cold"))["rows"]
        == 1024
    )
    assert json.loads("\n".join(lines))["schema"] == 1
