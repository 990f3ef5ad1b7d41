"""One record: refused when damaged, written whole or not at all, and what it says of itself."""

import os
from dataclasses import replace
from unittest.mock import Mock

import pytest
from sample_records import BOOK, content, write

from softmax_lib.engine.errors import BadInput
from softmax_lib.records.measurement import PEERS, Case, Measurement, Profile
from softmax_lib.records.record import Record, load, read_skipped, skipped_case, write_skipped
from softmax_lib.records.schema import METRICS
from softmax_lib.worklog.registry import kernels


def a_row(**changes):
    return {**content()["rows"][0], **changes}


# --- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 1}, "has schema 1; this version reads schema 2"),
        ({"gpu": {"name": "NVIDIA X"}}, "gpu lacks compute_capability"),
        ({"rows": {}}, "rows of the record is {}, which has the wrong type"),
        ({"more": 1}, "the record has more, which is not known here"),
        ({"rows": ["naive"]}, "rows[0] is no JSON object"),
        ({"rows": [{"provider": "naive"}]}, "rows[0] lacks rows"),
        ({"rows": [a_row(median_us="10")]}, "median_us of rows[0] is '10'"),
        ({"rows": [a_row(rows=True)]}, "rows of rows[0] is True"),
        ({"rows": [a_row(median_us=float("nan"))]}, "median_us of rows[0] is nan"),
        ({"rows": [a_row(copy_us=0.0)]}, "copy_us of rows[0] is 0.0, which cannot be"),
        ({"rows": [a_row(dtype="float99")]}, "dtype of rows[0] is 'float99' and not one of float32"),
        ({"counters": [{**content()["counters"][0], "warp_cycles": None}]}, "warp_cycles of counters[0] is None"),
        ({"rows": [a_row(data="odd")]}, "data of rows[0] is 'odd' and not one of normal"),
        ({"probes": [{"name": "latency", "at": {}}]}, "probes[0] lacks found"),
        ({"probes": [{"name": "latency", "at": {"kib": 4}, "found": {"cycles": 1, "ns": "1"}}]}, "ns of probes[0] is '1', which cannot be"),
        ({"probes": [{"name": "latency", "at": {"kib": -1}, "found": {}}]}, "kib of probes[0] is -1"),
        ({"notes": [7]}, "notes[0] is no text"),
        ({"skipped": {"liger": 7}}, "liger of skipped is no text"),
        ({"probes": [{"name": "latency", "at": {"kib": 4}, "found": {"ns": 1}}]}, "found of probes[0] lacks cycles"),
        ({"probes": [{"name": "heat", "at": {}, "found": {}}]}, "probes[0] is heat, which is not known here"),
        ({"rows": [a_row(provider="chunked_v2")]}, "provider of rows[0] is chunked_v2, which is not known here"),
        ({"rows": [a_row(provider="torch", block_size=32)]}, "block_size of rows[0] is 32, which torch is not"),
        ({"rows": [a_row(provider="shared", block_size=7)]}, "block_size of rows[0] is 7, which shared is not"),
        ({"rows": [a_row(step="second")]}, "step of rows[0] is second, which naive does not have"),
        ({"rows": [a_row(median_us=10**400)]}, "median_us of rows[0] is 1000"),
        ({"rows": [a_row(low_us=1e9)]}, "which is not between its quartiles"),
        ({"gpu": {**content()["gpu"], "multiprocessors": 0}}, "multiprocessors of gpu is 0, which cannot be"),
        ({"gpu": {**content()["gpu"], "compute_capability": "x"}}, "compute_capability of gpu is 'x'"),
        ({"counters": [{**content()["counters"][0], "kernel": "torch"}]}, "kernel of counters[0] is torch, which is not"),
        ({"software": {"torch": None}}, "torch of software is no text"),
        ({"clocks": {"after": []}}, "clocks after is no JSON object"),
        ({"clocks": {"after": {"clocks.sm": 7}}}, "clocks.sm of clocks after is no text"),
    ],
)  # fmt: skip
def test_a_damaged_record_is_refused_in_one_sentence_and_left_alone(tmp_path, change, words):
    path = tmp_path / "x.json"
    text = write(path, {**content(), **change})
    with pytest.raises(BadInput) as refused:
        load(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff\xfe", b"[]", b"3", 100_000 * b"[", b"9" * 5000, BOOK.read_bytes()[:-100]],
)
def test_what_is_no_record_is_refused(tmp_path, data):
    (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(BadInput, match=r"is damaged|has schema"):
        load(tmp_path / "x.json")


# --- writing ---------------------------------------------------------------------------------


def test_a_saved_record_reads_back_the_same(tmp_path):
    book = load(BOOK)
    book.save(tmp_path / "new" / "copy.json")
    assert load(tmp_path / "new" / "copy.json") == book
    assert (tmp_path / "new" / "copy.json").read_text() == BOOK.read_text()


def test_a_full_disk_gets_one_sentence_and_leaves_the_old_record(tmp_path, monkeypatch):
    fail = Mock(side_effect=OSError(28, "No space left on device"))
    path = tmp_path / "x.json"
    text = write(path, content())
    book = load(path)
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(BadInput) as stopped:
        book.save(path)
    assert str(stopped.value) == f"Cannot write the record {path}: No space left on device."
    assert path.read_text() == text


KEYS = {
    "quack (8192, 50257) float32": Case("quack", 8192, 50257),
    "torch.compile (4, 32) bfloat16": Case("torch.compile", 4, 32, "bfloat16"),
    "liger": "liger",
    "a peer (of mine)": "a peer (of mine)",
    "quack (0, 5) float32": "quack (0, 5) float32",
    "quack (4, 5) float99": "quack (4, 5) float99",
    f"quack ({'9' * 5000}, 5) float32": f"quack ({'9' * 5000}, 5) float32",
}


def test_what_was_skipped_are_cases_at_every_block_size_or_whole_peers_and_tools():
    there = dict.fromkeys(KEYS, "why")
    assert list(read_skipped(there)) == list(KEYS.values())
    assert write_skipped(read_skipped(there)) == there
    assert skipped_case(Case("shared", 4, 32, block_size=64)) == Case("shared", 4, 32)


# --- what it says ----------------------------------------------------------------------------


def test_a_record_says_where_its_numbers_come_from():
    book = load(BOOK)
    gpu = content()["gpu"]
    assert (book.gpu, book.multiprocessors, book.l2_bytes) == (
        gpu["name"], gpu["multiprocessors"], gpu["l2_bytes"]
    )  # fmt: skip
    assert book.clock_mhz == float(content()["clocks"]["after"]["clocks.sm"].split()[0])


@pytest.mark.parametrize("clocks", [{}, {"after": {}}, {"after": {"clocks.sm": "unknown"}}])
def test_a_clock_that_the_driver_did_not_tell_is_asked_for_in_vain(tmp_path, clocks):
    write(tmp_path / "x.json", content(clocks=clocks))
    with pytest.raises(BadInput, match="does not have the clock"):
        _ = load(tmp_path / "x.json").clock_mhz


def test_a_kernel_that_changed_since_is_stale_and_nothing_else_is(tmp_path):
    changed = content()
    changed["kernels"] |= {name: kernel.digest for name, kernel in kernels.items()}
    changed["kernels"]["shared"] = "0" * 64
    write(tmp_path / "x.json", changed)
    record = load(tmp_path / "x.json")
    assert {case.provider for case, timing in record.timings.items() if timing.stale} == {"shared"}
    timing = record.find(Case("shared", 1024, 32768, block_size=1024))
    assert timing.source == f"recorded on {record.where}, before this kernel changed"
    assert timing.label == "shared*"


def test_times_lists_kernels_at_their_best_block_size_then_peers():
    book = load(BOOK)
    times = book.times(1024, 2048)
    names = [name for name in times if name in kernels]
    assert names == [name for name in kernels if name in times]
    there = {timing.case.provider for timing in book.select(rows=1024, cols=2048)}
    assert list(times)[len(names) :] == [name for name in PEERS if name in there]
    for name in names:
        tried = book.select(provider=name, rows=1024, cols=2048)
        assert times[name].median_us == min(timing.median_us for timing in tried)
        assert book.find(Case(name, 1024, 2048)) == times[name]


def test_a_record_that_grows_finds_its_new_best(tmp_path):
    book = load(BOOK)
    old = book.find(Case("shared", 1024, 2048))
    faster = Measurement(replace(old.case, block_size=32), 1.0, 1.0, 1.0, 1.0)
    book.add(faster)
    assert book.find(Case("shared", 1024, 2048)) == faster
    assert book.has(Case("shared", 1024, 2048))
    assert not book.has(Case("shared", 3, 5))


def test_timings_of_steps_and_of_other_data_are_found_when_asked_for():
    book = load(BOOK)
    plain = book.select(provider="naive_passes")
    assert {(timing.case.data, timing.case.step) for timing in plain} == {("normal", "")}
    steps = book.select(provider="naive_passes", rows=1024, cols=32768, step="softmax_passes_sum")
    assert [timing.case.step for timing in steps] == ["softmax_passes_sum"]
    assert book.select(provider="naive", data="masked")


def test_probes_and_profiles_are_found_by_name():
    book = load(BOOK)
    (small,) = book.probed("latency", kib=4)
    assert small.found["cycles"] == pytest.approx(40, abs=1)
    assert len(book.probed("latency")) > 10
    assert book.probed("weight") == []
    assert book.profile("naive", 64, 4096).case.block_size == 32
    with pytest.raises(BadInput, match=r"naive was not profiled on \(3, 5\)"):
        book.profile("naive", 3, 5)
    sizes = [book.profile("float4", 1024, 32768, size).case.block_size for size in (None, 512)]
    assert sizes == [1024, 512]
    assert book.profiles_on(1024, 32768)["float4"].case.block_size == 1024
    with pytest.raises(
        BadInput, match=r"ncu profiled nothing on \(3, 5\) .* it did on \(8, 512\), "
    ):
        book.profiles_on(3, 5)


def test_versions_are_those_of_the_peers_among_the_names():
    software = {"torch": "2.11.0", "triton": "3.6.0", "numpy": "2.0"}
    book = Record(content(software=software))
    assert (
        book.versions(["naive", "triton-tile", "torch.compile", "torch"])
        == "torch 2.11.0, triton 3.6.0"
    )
    assert book.versions(["quack", "fusion"]) == ""  # it was not there


def test_how_a_kernel_ran_is_refused_where_it_was_not_counted():
    profile = Profile(Case("naive", 8, 8, block_size=32), dict.fromkeys(METRICS, 7))
    for ask in ("stalls", "issue_share", "l1_hit_share", "warps_per_multiprocessor"):
        with pytest.raises(BadInput, match=r"How naive ran on \(8, 8\) was not counted"):
            getattr(profile, ask)


def test_what_a_profile_says_follows_from_its_counters():
    ran = {"instructions": 64, "instructions_issued": 66, "scheduler_cycles": 132, "warp_cycles": 90,
           "multiprocessor_cycles": 30, "global_load_hit_sectors": 3, "global_load_sectors": 4,
           "stalled_barrier": 1, "stalled_wait": 3}  # fmt: skip
    profile = Profile(Case("naive", 8, 16, block_size=32), ran)
    assert profile.instructions_per_element == 16
    assert (profile.issue_share, profile.warps_per_multiprocessor) == (0.5, 3)
    assert profile.l1_hit_share == 0.75
    assert list(profile.stalls.items()) == [("wait", 0.75), ("barrier", 0.25)]
