"""What all suites have in common: runs that are kept, found, damaged or out of date, wrong kernels, and tables."""

import json
from types import SimpleNamespace

import pytest
import torch
from suites.conftest import book_run

from softmax_lib import (
    cluster_times,
    contests,
    hardware,
    hopper,
    kernels,
    lie_times,
    selections,
    sharded_times,
    shown_times,
    tile_times,
    tiles,
    topk_times,
    unroll_times,
    warp_times,
)  # fmt: skip
from softmax_lib.cli import main
from softmax_lib.cli.suite_table import LAYOUTS, print_run
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.engine.source import Program
from softmax_lib.suites import cells, clusters, kept, topk, unroll, warps
from softmax_lib.suites import shown as shown_suite
from softmax_lib.suites import tiles as tile_suite
from softmax_lib.suites.conform.record import conform_rows
from softmax_lib.suites.hardware.measure import digests as probe_digests
from softmax_lib.suites.kept import gpus_with_runs
from softmax_lib.suites.model.record import texts
from softmax_lib.suites.phases.record import phases
from softmax_lib.suites.rmsnorm import measure as rmsnorm
from softmax_lib.suites.rmsnorm.record import rmsnorm_times
from softmax_lib.suites.symptoms.record import symptom_times
from softmax_lib.suites.table import SUITES
from softmax_lib.suites.times import FULL, precision_times
from softmax_lib.worklog.registry import with_copy

READERS = {
    "peers": contests, "model": texts, "topk": topk_times, "unroll": unroll_times, "warp": warp_times,
    "cluster": cluster_times,
    "triton": tile_times, "lies": lie_times, "hardware": hardware, "phases": phases, "shown": shown_times,
    "rmsnorm": rmsnorm_times, "symptoms": symptom_times, "conform": conform_rows, "precision": precision_times,
    "sharded": sharded_times,
}  # fmt: skip


def test_every_suite_is_read_and_shown():
    assert SUITES.keys() == READERS.keys() == LAYOUTS.keys()


@pytest.mark.parametrize("suite", SUITES)
def test_a_gpu_without_a_run_is_told_what_makes_one(suite):
    with pytest.raises(BadInput, match=f"No Such; on such a GPU, .*bench --suite {suite} --keep"):
        READERS[suite]("No Such")


def test_the_newest_run_counts(keep):
    run = book_run("shown")
    keep("shown", run, "tesla-t4-10")
    keep("shown", {**run, "rows": run["rows"][:1]}, "tesla-t4-9")
    assert len(shown_times("Tesla T4")) == len(shown_times("tesla-t4")) == len(run["rows"]) > 1


def test_gpus_with_runs_are_found_but_damaged_ones(keep):
    keep("peers", {**book_run("peers"), "gpu": {"name": "Tesla T4"}}, "tesla-t4-10")
    keep("peers", "no run", "tesla-v100-old")
    keep("peers", "{", "nvidia-l4-1")
    with pytest.warns(UserWarning, match=r"The run .*nvidia-l4-1\.json is damaged: .*; it is left"):
        found = set(gpus_with_runs("peers"))
    assert {"Tesla T4", "NVIDIA H200"} <= found
    assert not any(name.lower().endswith(("v100", "l4")) for name in found)


@pytest.mark.parametrize("text", ["{", "[]", '{"rows": [{"rows": 1}]}'])
def test_a_file_that_holds_no_run_is_damaged(keep, text):
    keep("peers", text)
    with pytest.raises(BadInput, match=r"tesla-t4-1\.json is damaged"):
        contests("Tesla T4")


# ---- damaged runs: a suite, a place in its run, what stands there, and what is said of it

LOST = object()
DAMAGES = [
    ("cluster", "rows.0.times.0.cluster", None, "cluster is None"),
    ("conform", "rows.0.found", {"liger": "fine"}, "found is {'liger': 'fine'}"),
    ("conform", "rows.0.told", {"nobody": "?"}, "nobody was not asked"),
    ("conform", "rows.0.kind", None, "kind is None"),
    ("hardware", "limits", None, "limits is None"),
    ("hardware", "rows.0.ns", LOST, "it lacks 'ns'"),
    ("hardware", "rows.0.cycles", "1", "cycles is '1'"),
    ("hardware", "places.0.held", None, "NoneType"),
    ("hardware", "waits.0.turns", [[1]], "not enough values"),
    ("lies", "rows.0.times", LOST, "it lacks 'times'"),
    ("lies", "peak_gb_per_s", -1, "peak_gb_per_s is -1, which cannot be"),
    ("lies", "rows.0.times.0.us", ["2"], "us"),
    ("lies", "gpu.l2_bytes", LOST, "it lacks 'l2_bytes'"),
    ("model", "rows.0.length", LOST, "it lacks 'length'"),
    ("phases", "rows.0.kernel", None, "kernel is None"),
    ("phases", "rows.0.blocks", [[1, 2]], "missing 3 required"),
    ("symptoms", "rows.0.symptom", "hurry", "symptom is 'hurry'"),
    ("symptoms", "rows.0.times.0.counters", {"hopes": 1}, "hopes is no counter"),
    ("symptoms", "rows.0.times.0.who", "nobody", "'nobody' is not known here"),
    ("symptoms", "timelines.0.events.0.at_us", -1, "at_us is -1"),
    ("symptoms", "timelines.0.events", [], "small, eager has no kernel"),
    ("symptoms", "timelines", None, "NoneType"),
    ("topk", "sweep.0.block_size", LOST, "it lacks 'block_size'"),
    ("triton", "codes", [], r"it lacks \('simple', "),
    ("unroll", "codes", [], "it lacks"),
    ("warp", "digests", None, "digests is None"),
]


@pytest.mark.parametrize(("suite", "where", "value", "told"), DAMAGES)
def test_a_damaged_run_is_told_by_name(keep, suite, where, value, told):
    run = holder = book_run(suite)
    *way, last = (int(part) if part.isdecimal() else part for part in where.split("."))
    for part in way:
        holder = holder[part]
    if value is LOST:
        del holder[last]
    else:
        holder[last] = value
    keep(suite, run)
    with pytest.raises(BadInput, match=rf"tesla-t4-1\.json is damaged: .*{told}"):
        READERS[suite]("Tesla T4")


@pytest.mark.parametrize(
    ("suite", "setting"),
    [("unroll", "kernel block_size unroll in_flight"), ("triton", "who cols tile num_warps num_stages")],
)  # fmt: skip
def test_times_come_with_the_machine_code_of_their_setting_the_fastest_first(suite, setting):
    run, setting = book_run(suite), setting.split()
    codes = {tuple(code[name] for name in setting): code for code in run["codes"]}
    found = READERS[suite]()
    assert [one.us for one in found] == sorted(one.us for one in found)
    assert len(found) == sum(len(row["times"]) for row in run["rows"])
    settings = [tuple(getattr(one, name) for name in setting) for one in found]
    assert codes.keys() & set(settings)
    assert READERS[suite](cols=7) == []
    for one, of in zip(found, settings, strict=True):
        assert codes.get(of, {}).items() <= vars(one).items()


# ---- what has changed since

EVERY = {**with_copy, **hopper, **selections.kernels, **tiles.kernels}
STEPS = [name for names in rmsnorm.STEPS.values() for name in names]
TIMED = {
    "topk": [name for name, one in selections.kernels.items() if not one.suite],
    **{
        suite: [name for name, one in kernels.items() if one.suite == suite]
        for suite in ("unroll", "precision")
    },
    "triton": list(tiles.kernels),
    "shown": sorted({*FULL, *FULL.values()}),
    **{
        suite: list(book_run(suite)["digests"])
        for suite in ("warp", "cluster", "lies", "phases", "symptoms")
    },
}
NOW = {
    **{suite: {name: EVERY[name].digest for name in names} for suite, names in TIMED.items()},
    "hardware": probe_digests(),
    "rmsnorm": {name: Program(rmsnorm.step(name).source).digest for name in STEPS},
}


@pytest.mark.fresh
@pytest.mark.parametrize(("suite", "now"), NOW.items(), ids=NOW)
def test_nothing_has_changed_since_it_was_timed(suite, now):
    then = book_run(suite)["digests"]
    changed = [name for name, digest in now.items() if then.get(name) != digest]
    assert not changed, (
        f"{', '.join(changed)}: `softmax-lib bench --suite {suite} --keep` on a GPU times what has changed."
    )


# ---- measuring


def of(cell):
    return {"part": cell.part, "rows": cell.rows, "cols": cell.cols}


DO_NOT_FIT = book_run("triton")["skipped"]
ASKED = {
    "topk": [vars(cell) for cell in topk.cells()],
    "unroll": [
        {"rows": cell.rows, "cols": cell.cols, **vars(one)}
        for cell in unroll.cells()
        for one in cell.contenders
    ],
    "warp": [{**of(cell), **vars(one)} for cell in warps.cells() for one in cell.contenders],
    "cluster": [{**of(cell), **vars(one)} for cell in clusters.cells() for one in cell.contenders],
    "triton": [
        {**of(cell), "who": one.who, **vars(one.setting)}
        for cell in tile_suite.cells()
        for one in cell.contenders
        if f"{one} on {cell.rows}x{cell.cols}" not in DO_NOT_FIT
    ],
    "shown": [
        {"kernel": case.provider, "rows": case.rows, "cols": case.cols}
        for case in shown_suite.cells()
    ],
}
"""What each suite times now, in the words of its run."""


@pytest.mark.parametrize("suite", ASKED)
def test_a_suite_times_what_its_run_in_the_book_has_and_kernels_that_came_since(suite):
    rows = [row | one for row in book_run(suite)["rows"] for one in row.get("times", [row])]
    names = {row.get("who", row.get("kernel")) for row in rows}
    asked = [one for one in ASKED[suite] if one.get("who", one.get("kernel")) in names]
    timed = [{name: row[name] for name in asked[0]} for row in rows]
    assert [one for one in timed if one.get("tile", True)] == asked  # others have no setting


@pytest.mark.parametrize(
    "suite",
    ["topk", "unroll", "warp", "cluster", "triton", "lies", "shown", "symptoms", "precision"],
)
def test_where_a_kernel_is_wrong_nothing_is_timed(monkeypatch, suite):
    wrong = SimpleNamespace(ok=False, verdict="fusion: 1 launch, wrong")
    for module in (cells, selections, "softmax_lib.suites.tiles"):
        name = module if isinstance(module, str) else module.__name__
        monkeypatch.setattr(f"{name}.check", lambda name, device: wrong)
    with pytest.raises(NotAvailable, match="1 launch, wrong"):
        SUITES[suite].run(lambda *told: pytest.fail("it is measured"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without a GPU says")
@pytest.mark.parametrize("name", SUITES)
def test_without_a_gpu_every_suite_says_so(name, capsys):
    assert main(["bench", "--suite", name]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "GPU" in said


# ---- tables

PEERS = [
    {"rows": 1024, "cols": 131072, "dtype": "bfloat16", "direction": "forward", "ours_us": 2000.0, "copy_us": 1000.0,
     "peers": {"torch": 3000.0, "torch.compile": 2500.0}},
    {"rows": 4, "cols": 32, "dtype": "float32", "direction": "backward", "ours_us": 2.0, "copy_us": 1.0, "peers": {}},
]  # fmt: skip
TOPK = [
    {"rows": 4000, "cols": 25200, "dtype": "float32", "k": 30, "data": "ascending", "ours_us": 200.0, "copy_us": 200.0,
     "peers": {"topk(softmax)": 3000.0}},
    {"rows": 4, "cols": 32, "dtype": "bfloat16", "k": 5, "data": "normal", "ours_us": 2.0, "copy_us": 1.0, "peers": {}},
]  # fmt: skip
UNROLL = [{
    "rows": 128, "cols": 2048, "copy_us": 2.0, "others": {"float4": 6.5},
    "times": [
        {"kernel": kernel, "block_size": 64, "unroll": unroll, "in_flight": 2, "us": us}
        for kernel, unroll, us in (("unroll", 8, 4.0), ("unroll", 1, 5.0), ("unroll_full", 1, 1.0))
    ],
}]  # fmt: skip
WARP = [
    {"part": "short", "rows": 128, "cols": 96, "copy_us": 2.0, "times": [
        {"who": "warp", "block_size": 64, "lanes": 16, "turns": 1, "us": 4.0},
        {"who": "warp", "block_size": 32, "lanes": 8, "turns": 1, "us": 5.0},
        {"who": "shuffle", "block_size": 32, "lanes": 0, "turns": 0, "us": 6.5}]},
    {"part": "plane", "rows": 256, "cols": 96, "copy_us": 2.0, "times": []},
]  # fmt: skip
CLUSTER = [{"part": "few", "rows": 16, "cols": 96, "copy_us": 2.0, "times": [
    {"who": "tma", "block_size": 64, "cluster": 4, "us": 4.0}, {"who": "unroll", "block_size": 64, "cluster": 0, "us": 6.5},
]}]  # fmt: skip
TRITON = [{"part": "settings", "rows": 4096, "cols": 1024, "copy_us": 2.0, "times": [
    {"who": "torch", "tile": 0, "num_warps": 0, "num_stages": 0, "us": 3.25},
    {"who": "simple", "tile": 1024, "num_warps": 2, "num_stages": 1, "us": 5.0},
    {"who": "persistent", "tile": 1024, "num_warps": 8, "num_stages": 3, "us": 4.0},
]}]  # fmt: skip
LIES = [{"lie": "slow rival", "times": [
    {"who": "five operations", "method": "protocol", "rows": 1000, "cols": 500, "data": "normal", "us": [1.0, 2.0, 9.0]},
]}]  # fmt: skip
SYMPTOMS = [{"symptom": "tail of blocks", "times": [
    {"role": "symptom", "who": "softmax()", "rows": 133, "cols": 32768, "block_size": 0, "how": "cold", "us": [5.0], "counters": {}},
]}]  # fmt: skip
MODEL = [{
    "batch": 2, "length": 6, "dtype": "float32", "tokens_per_s": {"torch": 4000, "softmax_lib": 6000}, "gain": {"softmax_lib": 1.5},
}]  # fmt: skip
CHAPTERS = [{"kernel": "shuffle_plain", "rows": 1024, "cols": 512, "us": 4.0, "full_us": 6.5, "copy_us": 2.0}]  # fmt: skip
RMSNORM = [{"name": "naive", "rows": 8, "cols": 4096, "dtype": "float32", "us": 4.0, "copy_us": 2.0}]  # fmt: skip
PRECISION = [{"rows": 16, "cols": 8, "copy_us": 2.0, "times": [{"who": "order_free", "us": 4.0}]}]
SHARDED = [{"ranks": 2, "times": [{
    "operator": "topk", "rows": 64, "cols": 512, "dtype": "bfloat16", "copy_us": 2.0, "read_us": 1.0, "bits": "not compared",
    "us": {"softmax_lib": 4.0, "gathered": 6.5, "all-reduces left out": 1.0},
}]}]  # fmt: skip
CONFORM = [{
    "kind": "bits", "ask": "33 float32", "found": {"torch": "wrong", "softmax()": "holds"}, "told": {"torch": "It depends."},
}]  # fmt: skip
FOUND = {
    "gpu": {"name": "Test GPU"}, "date": "2026-01-01", "gain": {"forward": 1.25}, "notes": ["it was warm"],
    "model": {"layers": 2, "vocabulary": 31},
    "skipped": {"quack on 1x1": "no wheel", "quack on 2x2": "no wheel"},
}  # fmt: skip
SHOWN = [
    ("peers", PEERS, "torch.compile 2500.00 1.250 50% none"),
    ("topk", TOPK, "ascending 4000x25200 float32 15.000 50% none"),
    ("unroll", UNROLL, "128x2048 8 4.00 50% 6.50"),
    ("warp", WARP, "128x96 16 64 4.00 50% 6.50"),
    ("cluster", CLUSTER, "16x96 tma 4 64 4.00 50% 6.50"),
    ("triton", TRITON, "4096x1024 persistent 4.00 50% 3.25"),
    ("lies", LIES, "slow rival five operations 1000x500 2.00 4.00 2,000"),
    ("symptoms", SYMPTOMS, "tail of blocks softmax() symptom 133x32768 cold 5.00 6,973"),
    ("model", MODEL, "2 x 6 float32 torch 4,000 softmax_lib 6,000 1.500"),
    ("shown", CHAPTERS, "1024x512 shuffle_plain 4.00 50% 6.50"),
    ("sharded", SHARDED, "topk 64x512 bfloat16 2 softmax_lib 4.00 50%"),
    ("conform", CONFORM, "bits 1 torch softmax() depends."),
    ("precision", PRECISION, "16x8 order_free 4.00 50%"),
    ("rmsnorm", RMSNORM, "8x4096 float32 naive 4.00 50%"),
]


@pytest.mark.parametrize(("suite", "rows", "words"), SHOWN)
def test_a_table_tells_the_best_and_who_was_skipped(suite, rows, words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    print_run(suite, {**FOUND, "rows": rows})
    said = capsys.readouterr().out
    assert set(words.split()) <= set(said.split())
    for part in ("Test GPU", "quack: no wheel (and 1 more)", "it was warm"):
        assert part in said
    assert "256x96" not in said


# ---- the command


@pytest.fixture
def found(monkeypatch):
    """A suite that is measured at once, on a GPU that is not there."""
    run = {**FOUND, "rows": PEERS, "software": {}}
    monkeypatch.setattr("softmax_lib.worklog.checking.choose_device", lambda device: device)
    monkeypatch.setattr("softmax_lib.gpu.presence.gpu_name", lambda: "Test GPU")
    monkeypatch.setattr("softmax_lib.suites.peers.measure.run_suite", lambda tell: run)
    return run


def test_the_command_prints_and_writes_json(found, capsys, tmp_path):
    path = tmp_path / "folder" / "found.json"
    assert main(["bench", "--suite", "peers", "--json", "--output", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(path.read_text()) == found


def test_a_run_is_kept_where_the_pages_look_for_it(found, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(kept, "folders", lambda: (tmp_path,))
    for many in (1, 2):
        assert main(["bench", "--keep"]) == 0
        assert "softmax() on Test GPU" in capsys.readouterr().out
        assert len(contests("Test GPU")[0].gains) == many
