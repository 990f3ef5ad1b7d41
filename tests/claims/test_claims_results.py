"""What the results page claims, as relations that the book's record has to bear out."""

import numpy as np
import pytest
from recorded_facts import COLS, MATRIX_BYTES, ROWS, counted, us

from softmax_lib import recorded, warp_times
from softmax_lib.bench.plan import WORKLOG
from softmax_lib.records.contests import contest_runs
from softmax_lib.records.contests import contests as beside_peers
from softmax_lib.records.measurement import PEERS, TIE
from softmax_lib.records.models import COMPILED, ONE_PASS, OURS, texts
from softmax_lib.registry import rungs

RUNGS = [kernel.name for kernel in rungs() if kernel.name in recorded.providers]
SHORT, LONG = (1024, 2048), (1024, 131072)
"""The two shapes that the worklog's readers ask about."""
H100 = "NVIDIA H100 80GB HBM3"


def contests():
    """Times by name on each float32 shape on which rungs and peers were timed."""
    shapes = {t.case.shape for t in recorded.select(provider="torch", dtype="float32", l2="cold")}
    return {shape: recorded.times(*shape) for shape in sorted(shapes)}


def best(times, names):
    """The fastest of these, as far as they were timed."""
    return min((times[n] for n in names if n in times), key=lambda timing: timing.median_us)


def as_profiled(name, shape):
    """Time and profile of a rung at the block size at which it was profiled."""
    profile = recorded.profile(name, *shape)
    return recorded.find(profile.case), profile


def copies(name, shape):
    """A rung's time in copies of the same matrix."""
    timing, _ = as_profiled(name, shape)
    return timing.median_us / timing.copy_us


def read_share(name, shape):
    """What DRAM read for a rung, in multiples of the matrix."""
    profile = recorded.profile(name, *shape)
    return profile.counters["dram_read_bytes"] / profile.case.matrix_bytes


def waits(name, shape):
    """Share of its warps' cycles in which they wait for global memory."""
    return recorded.profile(name, *shape).stalls["long_scoreboard"]


def empty_blocks_us(blocks):
    """Time of a launch of this many blocks of a warp that do nothing."""
    (probe,) = recorded.probed("block starts", blocks=blocks, threads=32)
    return probe.found["us"]


def test_fusion_beats_the_peers():
    """No peer is ahead of fusion on the worklog's matrix."""
    times = recorded.times(*WORKLOG)
    there = [times[name] for name in PEERS if name in times]
    assert len(there) >= 5
    assert times["fusion"].median_us < min(timing.median_us for timing in there)


def test_steps_of_the_climb():
    """The largest step is to a block per row, then loads that leave together, and last one read."""
    to_blocks = us("naive") / us("shared")
    in_flight = us("shuffle") / us("constant_stride")
    read_once = us("float4") / us("fusion")
    assert to_blocks > 10 * in_flight
    assert in_flight > 1.2 * read_once > 1.2


def test_fusion_ties_with_copies():
    """fusion ties with a copy on some shapes, and is ahead of it on none."""
    shares = [times["fusion"].copy_share for times in contests().values() if "fusion" in times]
    assert max(shares) < TIE
    assert sum(share > 1 / TIE for share in shares) >= 2


def test_rungs_crowd_on_short_rows():
    """At 32768 x 128 rungs with a block per row are within a fifth; QuACK takes half of their best."""
    times = recorded.times(32768, 128)
    by_block = [times[name].median_us for name in ("shared", "shuffle", "float4", "fusion")]
    assert max(by_block) < 1.2 * min(by_block)
    assert times["quack"].median_us == pytest.approx(min(by_block) / 2, rel=0.12)


@pytest.mark.parametrize("cols", [128, 256])
def test_block_starts_hold_the_rungs(cols):
    """32768 empty blocks take longer than a copy, and fusion less than an eighth longer than they."""
    times, empty_us = recorded.times(32768, cols), empty_blocks_us(32768)
    assert times["fusion"].copy_us < empty_us
    assert empty_us < times["fusion"].median_us < 1.125 * empty_us


def test_naive_ahead_only_in_l2():
    """naive is ahead of online on nearly half of the shapes, all of which fit into L2."""
    all_times = contests()
    upside_down = [
        shape
        for shape, times in all_times.items()
        if times["naive"].median_us * TIE < times["online"].median_us
    ]
    assert 0.35 < len(upside_down) / len(all_times) < 0.5
    assert all(4 * rows * cols < recorded.l2_bytes for rows, cols in upside_down)


def test_rereading_is_free_in_l2():
    """DRAM reads 2048 columns once for every rung, gets hardly a write, and reads 8192 no less for online."""
    for name in RUNGS:
        assert read_share(name, SHORT) == pytest.approx(1, abs=0.05)
        counters = recorded.profile(name, *SHORT).counters
        assert counters["dram_write_bytes"] < 0.1 * 4 * SHORT[0] * SHORT[1]
    assert read_share("online", (1024, 8192)) > 0.98 * read_share("naive", (1024, 8192))


def test_online_pays_in_arithmetic():
    """At 1024 x 2048 online waits for memory less than naive; all else takes it more than twice as long."""
    waiting, besides = {}, {}
    for name in ("naive", "online"):
        timing, share = as_profiled(name, SHORT)[0], waits(name, SHORT)
        waiting[name], besides[name] = share * timing.median_us, (1 - share) * timing.median_us
    assert waiting["online"] < waiting["naive"]
    assert 2 < besides["online"] / besides["naive"] < 2.7


def test_smallest_matrix():
    """On 128 x 96 shuffle is ahead of float4."""
    times = recorded.times(128, 96)
    assert times["shuffle"].median_us * TIE < times["float4"].median_us


def test_peers_fall_at_the_cliff():
    """Liger and simple Triton have nine tenths of a copy at 32768 columns, little over six at 65536."""
    for name in ("liger", "triton-tile"):
        before, behind = (recorded.times(1024, cols)[name].copy_share for cols in (32768, 65536))
        assert before == pytest.approx(0.9, abs=0.025)
        assert 0.57 < behind < 0.67
    quack = [recorded.times(1024, cols)["quack"].copy_share for cols in (32768, 65536)]
    assert quack[1] > 0.97 * quack[0]


def test_torch_stays_below():
    """torch has less than three quarters of a copy's bandwidth at every length of the sweep."""
    shares = [recorded.times(1024, 2**power)["torch"].copy_share for power in range(9, 19)]
    assert max(shares) < 0.75


def test_long_rows_move_the_same():
    """On 131072 columns float4, shuffle and shared make three trips; float4 is half as fast again."""
    for name in ("float4", "shuffle", "shared"):
        assert read_share(name, LONG) == pytest.approx(2, abs=0.05)
    for name in ("shuffle", "shared"):
        assert as_profiled(name, LONG)[0].median_us > 1.5 * us("float4", LONG[1])


def test_float4_is_at_its_bytes():
    """On 131072 columns float4 takes the time of three trips where a copy makes two."""
    assert copies("float4", LONG) == pytest.approx(1.5, rel=0.05)


def test_long_rows_wait():
    """There shuffle and shared wait for memory in four fifths of their cycles, and issue in few."""
    for name in ("shuffle", "shared"):
        assert waits(name, LONG) == pytest.approx(0.8, abs=0.05)
        assert recorded.profile(name, *LONG).issue_share < 0.5


def test_no_collapse():
    """shared and shuffle take as many copies on 131072 columns as on 32768."""
    for name in ("shuffle", "shared"):
        at_worklog = us(name) / recorded.times(*WORKLOG)[name].copy_us
        at_long = recorded.times(*LONG)[name]
        assert at_long.median_us / at_long.copy_us == pytest.approx(at_worklog, rel=0.05)


def test_bytes_do_not_hold_naive():
    """On 131072 columns online reads a third less than naive, and gains a twentieth."""
    assert read_share("online", LONG) / read_share("naive", LONG) == pytest.approx(2 / 3, abs=0.03)
    naive, online = (as_profiled(name, LONG)[0].median_us for name in ("naive", "online"))
    assert 1 - online / naive == pytest.approx(1 / 20, abs=0.025)


def test_reading_once_gains_little():
    """On 1024 x 2048 fusion gains a twentieth on float4."""
    float4, fusion = (as_profiled(name, SHORT)[0].median_us for name in ("float4", "fusion"))
    assert 1 - fusion / float4 == pytest.approx(1 / 20, abs=0.02)


def test_short_rows_issue():
    """There shuffle and shared wait about as much as float4, with 2.5 times its instructions."""
    float4 = recorded.profile("float4", *SHORT)
    for name in ("shuffle", "shared"):
        profile = recorded.profile(name, *SHORT)
        assert waits(name, SHORT) == pytest.approx(waits("float4", SHORT), abs=0.03)
        more = profile.counters["instructions"] / float4.counters["instructions"]
        assert more == pytest.approx(2.5, abs=0.15)
        assert profile.issue_share == pytest.approx(0.7, abs=0.05)


def test_instructions_bound_short_rows():
    """The instructions of shuffle and shared alone take longer than float4."""
    float4_us = as_profiled("float4", SHORT)[0].median_us
    for name in ("shuffle", "shared"):
        timing, profile = as_profiled(name, SHORT)
        assert timing.median_us * profile.issue_share > 1.1 * float4_us


def test_small_copies_are_slow():
    """A copy of 1024 x 2048 reaches seven tenths of the bandwidth of the worklog's."""
    small, large = (recorded.times(*shape)["naive"].copy_gb_per_s for shape in (SHORT, WORKLOG))
    assert small / large == pytest.approx(0.7, abs=0.04)


def test_copies_have_two_us_beside():
    """A line through the copies of whole waves has two us beside the bytes, and fits the small copy."""
    found = {
        timing.case.rows: timing.copy_us
        for timing in recorded.select(provider="fusion", cols=COLS)
        if timing.case.rows % recorded.multiprocessors == 0
    }
    slope, beside_us = np.polyfit(list(found), list(found.values()), 1)
    assert beside_us == pytest.approx(2, abs=0.4)
    small_us = recorded.times(*SHORT)["naive"].copy_us
    assert beside_us + slope * SHORT[0] * SHORT[1] / COLS == pytest.approx(small_us, rel=0.06)


@pytest.mark.parametrize("cols", [128, 256])
@pytest.mark.parametrize("name", ["fusion", "float4", "shuffle", "shared", "triton-tile", "liger"])
def test_one_block_per_row_waits_for_starts(name, cols):
    """Who has one block per row takes longer on 32768 rows than as many empty blocks."""
    assert recorded.times(32768, cols)[name].median_us > empty_blocks_us(32768)


def test_one_thread_per_row_wants_small_blocks():
    """From 32 to 1024 threads per block, naive and online take several times as long."""
    for name in ("naive", "online"):
        assert us(name, block_size=1024) > 5 * us(name, block_size=32)


def test_one_block_per_row_wants_large_ones():
    """shared and shuffle take over five times as long with 32 threads as with 256, then are flat."""
    for name in ("shared", "shuffle"):
        times = {size: us(name, block_size=size) for size in (32, 256, 512, 1024)}
        assert 5 < times.pop(32) / times[256] < 6
        assert max(times.values()) < 1.05 * min(times.values())


def test_one_block_finds_its_row_in_l2():
    """float4 with two blocks on a multiprocessor is slower, and DRAM reads nearly twice as much."""
    assert us("float4", block_size=512) > 1.1 * us("float4", block_size=1024)
    two = recorded.profile("float4", ROWS, COLS, 512).counters["dram_read_bytes"]
    assert counted("float4").counters["dram_read_bytes"] == pytest.approx(MATRIX_BYTES, rel=0.05)
    assert two == pytest.approx(1.9 * MATRIX_BYTES, rel=0.08)


def test_level_on_half():
    """On about half of the shapes the best rung is ahead of the best peer or ties with it."""
    level = [
        best(times, RUNGS).median_us < TIE * best(times, PEERS).median_us
        for times in contests().values()
    ]
    assert 0.4 < sum(level) / len(level) < 0.6


def test_peers_lead_on_short_and_long():
    """A peer leads on short rows in great number, and on rows beyond fusion of even length."""
    all_times = contests()
    long = [shape for shape in all_times if shape[1] > 32768 and shape[1] % 2 == 0]
    assert len(long) >= 5
    for shape in ((32768, 128), (32768, 256), *long):
        times = all_times[shape]
        assert TIE * best(times, PEERS).median_us < best(times, RUNGS).median_us


def test_fusion_is_near_everywhere_between():
    """fusion is within a tenth of a copy on every shape with rows of 1000 to 32768 floats."""
    shares = {
        shape: times["fusion"].copy_share
        for shape, times in contests().items()
        if 1000 <= shape[1] <= 32768
    }
    assert len(shares) >= 10
    assert min(shares.values()) > 0.9


def test_float4_leads_at_odd_lengths():
    """float4 is ahead of all peers that take rows of 50257, the only odd length of long rows."""
    odd = {shape: times for shape, times in contests().items() if shape[1] % 2 and shape[1] > 1}
    assert {cols for _, cols in odd} == {50257}
    for times in odd.values():
        assert TIE * times["float4"].median_us < best(times, PEERS).median_us


def test_softmax_is_never_behind():
    """On no matrix do both runs have softmax() more than one per cent behind the best peer."""
    verdicts = {one.verdict for one in beside_peers()}
    assert verdicts == {"ahead", "level"}
    assert len(contest_runs()) == 2


def test_softmax_gains_most_on_odd_and_on_few_rows():
    """The largest gains over the best peer are all on rows of odd length, and on few long ones."""
    largest = sorted(beside_peers(), key=lambda one: -one.gain)[:8]
    assert all(one.cols % 2 or one.rows <= 64 for one in largest)
    assert min(one.gain for one in largest) > 1.25


def test_softmax_is_near_a_copy_but_on_small_matrices():
    """It takes less than 1.1 copies where a copy takes more than 10 µs, and at most 1.75 elsewhere."""
    rows = [row for run in contest_runs() for row in run["rows"] if row["direction"] == "forward"]
    copies = {large: [] for large in (True, False)}
    for row in rows:
        copies[row["copy_us"] > 10].append(row["ours_us"] / row["copy_us"])
    assert max(copies[True]) < 1.1
    assert 1.65 < max(copies[False]) < 1.75


def test_softmax_on_an_h100_loses_three():
    """With the H200's table an H100 is behind the best peer on three matrices, by less than a twentieth.

    It is of the same generation, and its copies of large matrices take longer.
    """
    behind = [one for one in beside_peers(H100) if one.verdict == "behind"]
    assert len(behind) == 3
    assert min(min(one.gains) for one in behind) > 0.95
    (h100, *_), (h200, *_) = contest_runs(H100), contest_runs()
    assert h100["gpu"]["compute_capability"] == h200["gpu"]["compute_capability"]
    for theirs, ours in zip(h100["rows"], h200["rows"], strict=True):
        assert theirs["copy_us"] > (1.3 if ours["copy_us"] > 20 else 1) * ours["copy_us"]


def test_patching_a_model_gains():
    """patch_torch() makes the model between a twenty-fifth and a quarter faster."""
    gains = [text.gain[OURS] for text in texts()]
    assert len(gains) >= 4
    assert 1 + 1 / 25 < min(gains) < max(gains) < 1.25


def test_one_pass_gains_more():
    """Scores in one pass gain more on each text, and double the speed on the longest."""
    assert all(text.gain[ONE_PASS] > TIE * text.gain[OURS] for text in texts())
    longest = max(texts(), key=lambda text: text.length)
    assert longest.gain[ONE_PASS] == pytest.approx(2, abs=0.1)


def test_compile_leads_in_bfloat16():
    """torch.compile is ahead of one pass on each text in bfloat16, and ties with it in float32."""
    for text in texts():
        lead = text.gain[COMPILED] / text.gain[ONE_PASS]
        assert lead > TIE if text.dtype == "bfloat16" else 1 / TIE < lead < TIE
    assert {text.dtype for text in texts()} == {"bfloat16", "float32"}


def plane():
    """Times by name on each matrix of the plane, and the winner's among the kernels of the book."""
    found = {}
    for one in warp_times(part="plane"):
        found.setdefault((one.rows, one.cols), {})[one.name] = one
    return [
        (matrix, times, min(one.us for one in times.values() if one.block_size))
        for matrix, times in found.items()
    ]


def beside_the_winner(name):
    """A softmax's time on each matrix of the plane that it takes, divided by the winner's."""
    return {
        matrix: times[name].us / winner_us for matrix, times, winner_us in plane() if name in times
    }


def test_the_plane_has_three_lands():
    """8 lanes up to 64 columns, a warp at 128 and 256, fusion from 1024 to 8192 and at 32768, float4 beyond."""
    lands = {
        "warp, 8 lanes": {16, 32, 64},
        "warp, 32 lanes": {128, 256},
        "fusion": {1024, 2048, 4096, 8192, 32768},
        "float4": {2**power for power in range(16, 27)},
    }
    assert len(plane()) == 124
    for (_, cols), times, winner_us in plane():
        for name, lengths in lands.items():
            assert cols not in lengths or times[name].us < TIE * winner_us


def test_two_lengths_change_with_the_rows():
    """At 512 and 16384 columns, and at no other length, no single kernel ties with the winner on all rows."""
    ever_ahead = {}
    for (_, cols), times, winner_us in plane():
        level = {n for n, one in times.items() if one.block_size and one.us < TIE * winner_us}
        ever_ahead[cols] = ever_ahead.get(cols, level) & level
    assert {cols for cols, names in ever_ahead.items() if not names} == {512, 16384}


def test_torch_wins_no_field():
    """torch is ahead nowhere, ties on six matrices, and takes up to 2.8 times as long."""
    ratios = list(beside_the_winner("torch").values())
    assert len(ratios) == 124
    assert min(ratios) > 1 / TIE
    assert sum(ratio <= TIE for ratio in ratios) == 6
    assert max(ratios) == pytest.approx(2.8, abs=0.05)


def test_triton_between_the_ends():
    """Triton's simple kernel is ahead on twelve, by at most 8 %, and takes 14 times as long at 524288 x 16."""
    ratios = beside_the_winner("Triton, simple")
    ahead = {matrix: ratio for matrix, ratio in ratios.items() if ratio < 1 / TIE}
    assert len(ahead) == 12
    assert {cols for _, cols in ahead} == {512, 1024, 2048, 16384}
    assert min(ahead.values()) > 0.915
    assert max(ratios, key=ratios.get) == (524288, 16)
    assert ratios[524288, 16] == pytest.approx(14.5, abs=0.5)


def test_softmax_beside_the_winner():
    """softmax() takes 17 to 37 % less from 65536 columns on, and is behind on twenty small matrices."""
    ratios = beside_the_winner("softmax()")
    long = [ratio for (_, cols), ratio in ratios.items() if cols >= 65536]
    assert 1 - max(long) == pytest.approx(0.17, abs=0.005)
    assert 1 - min(long) == pytest.approx(0.365, abs=0.006)
    behind = {matrix: ratio for matrix, ratio in ratios.items() if ratio > TIE}
    assert len(behind) == 20
    assert max(rows * cols for rows, cols in behind) == 2**20
    assert max(behind.values()) < 1.125
