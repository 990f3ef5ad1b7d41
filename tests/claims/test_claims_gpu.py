"""What the page on the GPU says of its memories, its warps and its blocks, held against what was measured."""

from itertools import pairwise
from math import ceil
from statistics import mean

import pytest

from softmax_lib import hardware, recorded
from softmax_lib.drawings.waiting import busy_share

pytestmark = pytest.mark.quick

FOUND = hardware()
LEVELS = FOUND.levels


def test_three_steps():
    cycles = FOUND.latency
    near = [cycles[kib] for kib in cycles if kib <= 128]
    middle = [cycles[kib] for kib in cycles if 512 <= kib <= 16384]
    far = [cycles[kib] for kib in cycles if kib >= 65536]
    assert max(near) < 1.01 * min(near) < min(middle) / 4
    assert max(middle) < 1.01 * min(middle) < min(far) / 1.8
    assert 1.3 * max(middle) < cycles[32768] < min(far) / 1.3
    nearest = ("registers", "shared memory", "L1", "L2", "DRAM")
    in_order = [LEVELS[name].cycles for name in nearest]
    assert in_order == sorted(in_order)


def test_dram_is_far():
    assert 600 < LEVELS["DRAM"].cycles < 800
    assert LEVELS["DRAM"].cycles > 100 * LEVELS["registers"].cycles


def test_limits_hold():
    limits, system_bytes = FOUND.limits, 1024
    assert limits["MaxThreadsPerMultiProcessor"] == 2048
    assert limits["MaxBlocksPerMultiprocessor"] == 32
    for one in FOUND.places:
        a_warp = -(-one.registers * 32 // 256) * 256
        room = min(
            2048 // one.threads,
            32,
            limits["MaxRegistersPerMultiprocessor"] // a_warp // (one.threads // 32),
            limits["MaxSharedMemoryPerMultiprocessor"] // (one.shared_bytes + system_bytes),
        )
        assert one.most == min(room, ceil(one.blocks / FOUND.multiprocessors))
    small = FOUND.placed(4096, 32)
    assert (len(small.held), small.most * small.threads) == (1, 2048 // 2)
    (large,) = {one.most for one in FOUND.places if one.shared_bytes > 40000 and one.blocks == 4096}
    assert (large, FOUND.placed(4096, 256).most) == (4, 8)


def test_blocks_are_spread():
    for threads in (32, 128, 256, 512, 1024):
        assert sorted(FOUND.placed(6, threads).held[0]) == [0] * 126 + [1] * 6
        assert set(FOUND.placed(132, threads).held[0]) == {1}


def test_rounds_are_counted():
    for one in FOUND.places:
        if not one.registers > 12:  # the others do not all stay for the same time
            room = FOUND.placed(4096, one.threads).most if one.shared_bytes < 99 else 4
            rounds = ceil(one.blocks / (FOUND.multiprocessors * room))
            assert len(one.held) == rounds
            assert rounds <= one.rounds < 1.05 * rounds
    assert FOUND.placed(4096, 256).most == 8
    assert FOUND.placed(4096, 1024).most == 2


def test_eight_warps_overlap():
    one, *others = (FOUND.waits[warps] for warps in (1, 2, 4, 8))
    assert all(0.9 * one.cycles < more.cycles < 1.1 * one.cycles for more in others)
    waits, arithmetic = zip(*(_turn_cycles(of) for of in (one, others[-1])), strict=True)
    assert max(waits) < 1.15 * min(waits)
    assert max(arithmetic) < 1.05 * min(arithmetic)
    assert FOUND.waits[32].cycles < 1.25 * one.cycles
    assert busy_share(FOUND.waits[8]) > 1.5 * busy_share(one)


def _turn_cycles(waits):
    """Mean cycles of a wait but a warp's first, and of the arithmetic after a load."""
    turns = [[turn for turn in waits.turns if turn[0] == warp] for warp in range(waits.warps)]
    waited = [came - asked for of in turns for _, asked, came in of[1:]]
    computed = [asked - came for of in turns for (_, _, came), (_, asked, _) in pairwise(of)]
    return mean(waited), mean(computed)


def test_arithmetic_overlaps():
    """One after the other, the arithmetic of eight warps alone would take longer than all of it took."""
    _, computed = _turn_cycles(FOUND.waits[8])
    assert 8 * 64 * computed > 2 * FOUND.waits[8].cycles


def test_room_for_many():
    assert 8 * 32 * FOUND.multiprocessors == 33792
    assert FOUND.limits["MaxThreadsPerMultiProcessor"] * FOUND.multiprocessors == 270336


def test_reading_is_faster_than_copying():
    """Bytes per second that all multiprocessors read from DRAM, over those of a copy."""
    assert LEVELS["DRAM"].gb_per_s > 1.05 * recorded.times(1024, 32768)["torch"].copy_gb_per_s


def test_half_a_nanosecond():
    assert all(0.49 < level.ns / level.cycles < 0.52 for level in LEVELS.values())
