"""What the page on the GPU says of its memories, its warps and its blocks, held against what was measured."""

from math import ceil

import pytest

from softmax_lib import hardware, recorded
from softmax_lib.drawings.waiting import busy_share

pytestmark = pytest.mark.quick

FOUND = hardware()
LEVELS = FOUND.levels


def test_three_steps():
    cycles = {probe.at["kib"]: probe.found["cycles"] for probe in recorded.probed("latency")}
    near = [cycles[kib] for kib in cycles if kib <= 128]
    middle = [cycles[kib] for kib in cycles if 512 <= kib <= 8192]
    far = [cycles[kib] for kib in cycles if kib >= 65536]
    assert max(near) < 1.01 * min(near) < min(middle) / 4
    assert max(middle) < 1.01 * min(middle) < min(far) / 1.8
    assert middle[0] < cycles[16384] < cycles[32768] < min(far)
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
    assert FOUND.waits[32].cycles < 1.25 * one.cycles
    assert busy_share(FOUND.waits[8]) > 1.5 * busy_share(one)
