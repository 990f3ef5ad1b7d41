"""What chapter 11 claims, as relations that the kept run of the suite has to bear out."""

import re

import numpy as np
import pytest

from softmax_lib import selections, topk_sizes, topk_times
from softmax_lib.emulator import launch
from softmax_lib.gpu.compile import compile_cubin
from softmax_lib.gpu.machine_code import disassemble
from softmax_lib.records.cited import FUSED_TOPK
from softmax_lib.source import KERNEL_FOLDER, Program, Source

KS = (5, 10, 15, 30)


def us(name, k, block_size=256, rows=4000):
    """Time of a kernel of the chapter on rows of 25,200."""
    (one,) = topk_sizes(kernel=name, k=k, block_size=block_size, rows=rows)
    return one.us


def cell(k, rows=4000, cols=25200):
    """All that was timed on one matrix of noise."""
    (found,) = topk_times(rows=rows, cols=cols, k=k, data="normal", dtype="float32")
    return found


def over_torch(one):
    """The time of torch's best form over that of softmax_topk()."""
    return one.torch_us / one.ours_us


def reading_us(k):
    """Half of a copy."""
    return cell(k).copy_us / 2


def test_fusing_gains_less_than_the_bytes():
    """On 4000 rows of 25,200 fusing gains about 2.2, and not 5."""
    assert cell(5).kernels["topk_unfused"] / cell(5).kernels["topk"] == pytest.approx(2.2, abs=0.15)


def test_topk_takes_three_reads():
    """topk takes three times as long as reading."""
    assert us("topk", 5) / reading_us(5) == pytest.approx(3, abs=0.15)


def test_lists_take_most():
    """Lists and meeting are more than half of the time at k = 5, nine tenths at k = 30; the rest is near reading."""
    share = {k: 1 - us("topk_no_lists", k) / us("topk", k) for k in KS}
    assert share[5] > 0.5
    assert share[30] == pytest.approx(0.92, abs=0.02)
    assert us("topk_no_lists", 5) < 1.4 * reading_us(5)


def test_meeting_is_small():
    """The meeting takes at most an eighth."""
    assert max(1 - us("topk_no_meeting", k) / us("topk", k) for k in KS) < 1 / 8


def test_loads_first_gain_little():
    """Four loads before the first is needed gain a twentieth at most."""
    assert max(1 - us("topk_loads_first", k) / us("topk", k) for k in KS) < 0.055


def test_few_blocks_cost_a_fifth():
    """Half of the warps at once cost a fifth at k = 5, a tenth at 10, and nothing at 15 and 30."""
    costs = {k: us("topk_few_blocks", k) / us("topk", k) - 1 for k in KS}
    assert costs[5] == pytest.approx(0.2, abs=0.03)
    assert costs[10] == pytest.approx(0.1, abs=0.03)
    assert max(abs(costs[k]) for k in (15, 30)) < 0.02


def test_lists_grow_with_k():
    """Six times the k takes the lists nine to ten times as long."""
    lists = {k: us("topk", k) - us("topk_no_lists", k) for k in KS}
    assert 9 < lists[30] / lists[5] < 10


def test_early_exit_costs():
    """Stopping early takes nearly four times as long at k = 30, and longer at every k."""
    assert us("topk_early_exit", 30) / us("topk", 30) == pytest.approx(3.7, abs=0.2)
    assert all(us("topk_early_exit", k) > 1.1 * us("topk", k) for k in KS)


def test_exits_make_code_long():
    """With an early exit the machine code has more than ten times the moves, and more registers are taken."""
    moves = {}
    for name in ("topk", "topk_early_exit"):
        program = Program(selections.kernels[name].source, (("BLOCK", 256), ("K", 30)))
        moves[name] = len(re.findall(r"\bMOV\b", disassemble(compile_cubin(program, 90), 90)))
    assert moves["topk_early_exit"] > 10 * moves["topk"]


def test_spills_are_slowest():
    """The block of 1024 threads whose lists spill is by far the slowest of all that was timed on this matrix."""
    times = {(one.kernel, one.k, one.block_size): one.us for one in topk_sizes(rows=4000)}
    assert max(times, key=times.__getitem__) == ("topk_early_exit", 30, 1024)
    assert times["topk_early_exit", 30, 1024] > 15 * times["topk_early_exit", 30, 512]


def test_warp_lists_hardly_grow():
    """At k = 30 a list per warp is four times as fast, at 5 no faster; from 5 to 30 it takes two fifths more."""
    assert us("topk", 30) / us("topk_warp", 30) == pytest.approx(4, abs=0.2)
    assert us("topk_warp", 5) > us("topk", 5)
    assert us("topk_warp", 30) / us("topk_warp", 5) == pytest.approx(1.4, abs=0.05)


def test_warp_loads_first_gain():
    """With a list per warp four loads first gain more than a quarter at k = 5."""
    assert 1 - us("topk_warp_loads_first", 5) / us("topk_warp", 5) > 0.25


def test_softmax_topk_is_near_reading():
    """softmax_topk() takes a twentieth more than reading at most for k = 5, and a fifth more for 30."""
    assert 1 < cell(5).ours_us / reading_us(5) < 1.05
    assert cell(30).ours_us / reading_us(30) == pytest.approx(1.2, abs=0.03)


def test_softmax_topk_beats_torch():
    """It is thirteen times as fast as the best that torch offers, or more."""
    assert min(over_torch(cell(k)) for k in KS) > 13


def test_flashinfer_takes_longer():
    """flashinfer.top_k takes more than three times as long on this matrix, and a tenth more on ten long rows, k = 30."""
    assert min(cell(k).peers["flashinfer.top_k"] / cell(k).ours_us for k in KS) > 3
    for one in topk_times(rows=10, k=30):
        assert one.peers["flashinfer.top_k"] / one.ours_us == pytest.approx(1.1, abs=0.06)


def test_no_peer_is_ahead():
    """On no cell of the suite is a peer ahead, by however little."""
    assert min(one.gain for one in topk_times()) > 1


def test_rows_that_rise_cost_reads():
    """On ascending rows and rows in steps softmax_topk() takes up to 3.3 reads, torch at least five times that."""
    found = [one for one in topk_times() if one.data in ("ascending", "in steps")]
    reads = [2 * one.ours_us / one.copy_us for one in found]
    assert 1.7 < min(reads) < max(reads) == pytest.approx(3.3, abs=0.05)
    assert min(over_torch(one) for one in found) > 5


def test_the_router():
    """On 16384 rows of 256 in bfloat16, k = 8, the best of torch takes twenty times as long."""
    (one,) = topk_times(rows=16384, cols=256)
    assert (one.dtype, one.k) == ("bfloat16", 8)
    assert 20 < over_torch(one) < 21


def test_softmax_alone_gains_less():
    """Online softmax alone is up to 1.27 times as fast as the safe one on 4000 rows, and behind on 10."""
    gains = {
        rows: [
            one.kernels["safe softmax"] / one.kernels["online softmax"]
            for one in topk_times(rows=rows, k=5, dtype="float32", data="normal")
            if one.kernels
        ]
        for rows in (4000, 10)
    }
    assert max(gains[4000]) == pytest.approx(1.27, abs=0.01)
    assert max(gains[10]) < 0.7


@pytest.mark.full
def test_the_unfused_forms_fail_the_check():
    for name in ("topk_unfused", "topk_unfused_online"):
        assert not selections.check(name, device="cpu").ok


def test_gain_melts_with_k():
    """Fusing gains less with every k, in the paper and here: from 2.3 to 1.2."""
    gains = [cell(k).kernels["topk_unfused"] / cell(k).kernels["topk"] for k in KS]
    assert gains == sorted(gains, reverse=True)
    assert (gains[0], gains[-1]) == (pytest.approx(2.25, abs=0.1), pytest.approx(1.2, abs=0.05))
    theirs = [FUSED_TOPK.gains[k] for k in KS]
    assert theirs == sorted(theirs, reverse=True)


@pytest.mark.parametrize("k", KS)
def test_few_rows_lose(k):
    """On 10 rows the fused, online form takes longer than unfused; the safe one is ahead of both."""
    times = cell(k, rows=10).kernels
    assert times["topk_safe"] < times["topk_unfused"] < times["topk"]


@pytest.mark.parametrize("k", KS)
def test_few_rows_read_online_slowly(k):
    """On 10 rows online softmax alone takes 1.5 times as long as the safe one or more, on 25,200 columns twice."""
    times = cell(k, rows=10).kernels
    assert times["online softmax"] / times["safe softmax"] == pytest.approx(2.1, abs=0.2)
    every = [one.kernels for one in topk_times(rows=10, k=k) if one.kernels]
    assert min(one["online softmax"] / one["safe softmax"] for one in every) > 1.5


@pytest.mark.parametrize("k", KS)
def test_few_rows_wait_for_loads(k):
    """On 10 rows four loads first win back about half of what the online form loses to the safe one, or more."""
    gained = us("topk", k, rows=10) - us("topk_loads_first", k, rows=10)
    lost = us("topk", k, rows=10) - us("topk_safe", k, rows=10)
    assert gained > 0.45 * lost


def test_small_blocks_are_best():
    """Up to 128 threads times of topk differ by a fifteenth; 1024 take a third more."""
    for k in KS:
        few = [us("topk", k, size) for size in (32, 64, 128)]
        assert max(few) / min(few) < 16 / 15
    for k in KS:
        assert us("topk", k, 1024) > 1.33 * min(us("topk", k, size) for size in (32, 64, 128))


@pytest.mark.parametrize("k", KS)
def test_two_to_four_warps(k):
    """The list per warp is best with two warps, or four."""
    times = {size: us("topk_warp", k, size) for size in (32, 64, 128, 256, 512, 1024)}
    assert min(times, key=times.__getitem__) in (64, 128)


def test_places_depend_on_the_block_without_an_order_of_places():
    """Of equal scores, 32 threads hand out lane 0's columns, and 256 others."""
    header = (KERNEL_FOLDER / "best.cuh").read_text()
    alone = re.sub(r"return a\.value > b\.value \|\|.*;", "return a.value > b.value;", header)
    assert alone != header
    found = {}
    for size in (32, 256):
        selection = selections.select("topk", np.ones((1, 1100), np.float32), 5, block_size=size)
        (words,) = selection.launches
        text = words["source"].text.replace('#include "best.cuh"', alone)
        launch(**words | {"source": Source("topk.cu", text, KERNEL_FOLDER)})
        found[size] = selection.found[1][0].tolist()
    assert found[32] == [0, 32, 64, 96, 128]
    assert found[256] == [0, 256, 512, 768, 1024]
