"""The memory chart: its numbers are the x-ray's and the record's, and what nobody counted is said to be so."""

import re
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from emulated import kernel_of

from softmax_lib import (
    drawings,
    hardware,
    kernels,
    recorded,
    selections,
    xray,
    xray_launch,
    xray_softmax,
)
from softmax_lib.engine.errors import BadInput
from softmax_lib.records.measurement import Case
from softmax_lib.show.drawings import memory_charts
from softmax_lib.show.drawings.memory_charts import UNKNOWN, flows_of

PLACES = {"shared": ("shared memory", "wavefronts"), "global": ("L1", "sectors")}
LOCAL_AND_ATOMIC = kernel_of("""\
    __shared__ float sums[32];
    int tid = threadIdx.x;
    sums[tid] = x[tid];
    atomicAdd(sums + tid / 2, 1.0f);
    float own[16] = {};
    for (int i = 0; i < 64; i++) own[(int)x[i + tid] & 15] += i;
    y[tid] = own[tid & 15] + sums[31 - tid];
    atomicAdd(y, 1.0f);
""")


def table_of(view):
    """Cells of the table under the picture, by memory and by what moves."""
    rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", view.html)
    cells = [re.findall(r">([^<]*)</t[hd]>", row) for row in rows]
    return {(between.split(" and ")[1], what): rest for between, what, *rest in cells}


def flow(found, level, kind):
    (one,) = (one for one in flows_of(found).of(level) if one.kind == kind)
    return one


@pytest.mark.parametrize("name", ["naive", "shared", "float4", "fusion", "chunked"])
def test_what_threads_ask_for_is_what_the_x_ray_counts(name):
    found = xray(name, 8, 512)
    table = table_of(drawings.memory_chart_of(found))
    for space, (level, unit) in PLACES.items():
        for operation in ("load", "store"):
            requests = found.total[f"{space}_{operation}_requests"]
            units = found.total[f"{space}_{operation}_{unit}"]
            cells = table.get((level, f"{operation}s"), ["0", f"0 {unit}"])
            assert cells[0] == f"{requests:,}"
            assert cells[1].split()[0] == f"{units:,}"
    asked = [one.bytes for one in flows_of(found).of("L1")]
    assert sum(asked) == found.total["bytes_asked"]


def test_hits_and_dram_are_those_that_ncu_counted():
    profile = recorded().profile("chunked", 1024, 32768).counters
    shown = drawings.memory_chart("chunked", 1024, 32768)
    table = table_of(shown)
    missed = profile["global_load_sectors"] - profile["global_load_hit_sectors"]
    hits = profile["global_load_hit_sectors"] / profile["global_load_sectors"]
    assert table["L2", "loads"][1:3] == [f"{missed:,} sectors", f"{32 * missed:,}"]
    assert table["L2", "stores"] == ["", "", "", "", UNKNOWN]
    assert table["DRAM", "loads"][2] == f"{profile['dram_read_bytes']:,}"
    assert table["DRAM", "stores"][2] == f"{profile['dram_write_bytes']:,}"
    assert f">hit rate of loads {hits:.1%}<".replace("%", " %") in shown.html
    assert f"ncu, {recorded().where}" in shown.text


def test_shares_are_bytes_over_time_over_the_peak_that_was_measured():
    found = xray("float4", 64, 4096)
    peaks = {name: level.gb_per_s for name, level in hardware().levels.items()}
    counters = recorded().profile("float4", 64, 4096).counters
    for level in ("shared memory", "L1", "L2", "DRAM"):
        one = flow(found, level, "loads")
        gb_per_s = one.bytes / counters["duration_ns"]
        assert one.share == pytest.approx(gb_per_s / peaks[level], rel=1e-12)
        assert flow(found, level, "stores").share is None
    both = counters["dram_read_bytes"] + counters["dram_write_bytes"]
    whole = flows_of(found)
    assert whole.dram_share == pytest.approx(both / counters["duration_ns"] / peaks["DRAM"])
    assert (whole.time_us, whole.timed_by) == (counters["duration_ns"] / 1e3, "ncu")


def test_a_launch_that_was_timed_and_not_profiled_has_shares_of_what_is_counted_here_alone():
    case = Case("float4", 1024, 512, block_size=128)
    assert case in recorded().timings
    found = xray("float4", 1024, 512, 128)
    whole = flows_of(found)
    assert (whole.time_us, whole.timed_by) == (recorded().find(case).median_us, "benchmark")
    assert flow(found, "L1", "loads").share > 0
    assert flow(found, "L2", "loads").share is None
    assert "by the benchmark of the record" in drawings.memory_chart_of(found).text


@pytest.mark.parametrize(
    "found",
    [
        lambda: xray("naive", 8, 100),  # a matrix that the record has not
        lambda: xray("naive", 64, 4096, 64),  # a block size that it has not
        lambda: xray("naive", 64, 4096, arch=75),  # another GPU's code
        lambda: xray("naive", 64, 4096, grid=1),  # another grid
        lambda: xray(kernels["naive"].source.text, 64, 4096, 32),  # a reader's own
        lambda: replace(xray(kernels["shared"], 64, 4096, 512), kernel="shuffle"),  # a name taken
        lambda: xray_softmax(64, 4096),
    ],
)
def test_a_launch_without_a_record_has_no_share_and_says_so(found):
    shown = drawings.memory_chart_of(found())
    assert "of peak" not in shown.html.partition("<details>")[0]
    assert f"hit rate of loads {UNKNOWN}" in shown.html
    table = table_of(shown)
    for level in ("L2", "DRAM"):
        for kind in ("loads", "stores"):
            assert table[level, kind] == ["", "", "", "", UNKNOWN]
    assert "No record has this launch" in shown.text


def test_a_kernel_that_changed_since_has_no_record(monkeypatch):
    found = xray("naive", 64, 4096)
    assert flows_of(found).profiled
    record = recorded()
    changed = type(record)({**record.content, "kernels": {}})
    monkeypatch.setattr(memory_charts, "recorded", lambda gpu: changed)
    assert not flows_of(found).profiled


def test_a_gpu_whose_memories_were_not_measured_has_no_shares(monkeypatch):
    missing = Mock(side_effect=BadInput("not measured"))
    monkeypatch.setattr(memory_charts, "hardware", missing)
    whole = flows_of(xray("naive", 64, 4096))
    assert whole.l1_hits == pytest.approx(0.875)
    assert [one.share for one in whole.flows] == [None] * len(whole.flows)
    assert (whole.dram_share, whole.peaks) == (None, "")


def test_caches_of_a_kernel_of_several_launches_are_as_the_one_before_left_them():
    assert "emptied" in flows_of(xray("naive", 64, 4096)).caches
    assert "as the launch before" in flows_of(xray("unfused", 64, 4096)).caches


def test_atomics_and_a_threads_own_memory_have_arrows():
    found = xray(LOCAL_AND_ATOMIC, 1, 1024, 32)
    shown = drawings.memory_chart_of(found)
    table = table_of(shown)
    assert {what for level, what in table if level == "L1"} == {
        "loads", "stores", "atomics", "local loads", "local stores",
    }  # fmt: skip
    for level, space in (("shared memory", "shared"), ("L1", "global")):
        (atomic,) = (one for one in found.lines if (one.space, one.operation) == (space, "atomic"))
        assert table[level, "atomics"][0] == f"{atomic.requests:,}"
    assert re.findall(r"<text[^>]*>local</text>", shown.html)
    assert ">not used<" not in shown.html
    assert ">not used<" in drawings.memory_chart("naive", 8, 64).html


def test_the_lists_of_a_top_k_are_stores_of_global_memory():
    (words,) = selections.select("topk", np.ones((4, 1024), np.float32), k=5).launches
    found = xray_launch(**words)
    stores = [one for one in found.lines if (one.space, one.operation) == ("global", "store")]
    assert len(stores) > 1
    cells = table_of(drawings.memory_chart_of(found))["L1", "stores"]
    assert cells[2] == f"{sum(one.bytes_asked for one in stores):,}"
    assert sum(one.bytes_asked for one in stores) >= 4 * 5 * (4 + 4)


def test_another_blocks_shared_memory_has_an_arrow():
    table = table_of(drawings.memory_chart_of(xray_softmax(64, 8192)))
    assert table["shared memory", "cluster stores"][:2] == ["512", ""]


def test_arrows_of_loads_lead_to_the_threads_and_those_of_stores_away():
    svg = drawings.memory_chart("shared", 64, 4096).html
    threads = float(re.search(r'y="([\d.]+)"[^>]*>threads<', svg)[1])
    for tone, leads_to in (("#1F7FC4", True), ("#D55E00", False)):
        shafts = re.findall(rf'<path d="M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)" stroke="{tone}"', svg)
        assert shafts
        for start, end in shafts:
            comes_nearer = abs(float(end) - threads) < abs(float(start) - threads)
            assert comes_nearer == leads_to


def test_every_word_lies_within_the_picture():
    for given in (("naive", 1024, 32768), (LOCAL_AND_ATOMIC, 1, 1024, 32)):
        shown = drawings.memory_chart(*given)
        svg = re.search(r"<svg.*</svg>", shown.html)[0]
        width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
        texts = re.findall(
            r'<text x="([\d.]+)" y="([\d.]+)"( text-anchor="end")? font-size="(\d+)"[^>]*>([^<]*)<',
            svg,
        )
        assert len(texts) > 20
        for x, y, ends, size, words in texts:
            wide = 0.5 * int(size) * len(words)  # of the letters of a page without a font
            left, right = (float(x) - wide, float(x)) if ends else (float(x), float(x) + wide)
            assert left >= 0
            assert right <= width, words
            assert float(y) < height


def test_a_picture_has_words_for_all_of_its_numbers():
    shown = drawings.memory_chart("shared", 64, 4096)
    label = re.search(r'role="img" aria-label="([^"]*)"', shown.html)[1]
    for cells in table_of(shown).values():
        for cell in filter(None, cells[:4]):
            assert cell in label
