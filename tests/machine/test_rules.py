"""The rules of counting, one by one, each on the smallest request that shows it."""

import ctypes
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from softmax_lib.engine.compiled.library import library

sys.path.insert(0, str(Path(__file__).parent))

from cluster_launches import copies
from fast_cases import read_record

ALL = 0xFFFFFFFF
FIRST, EVEN = 1, 0x55555555
LOAD, STORE, CHANGE, COMPARE, COUNT = range(5)

COPIES = defaultdict(list)
"""By name requests that copy to shared memory, and the sectors that a GPU counted."""
for (name, *request), counted in zip(copies(), read_record()["copies"], strict=True):
    COPIES[name].append((*request, counted))

pytestmark = pytest.mark.quick


def by_lane(address_of):
    return (ctypes.c_uint64 * 32)(*[address_of(lane) for lane in range(32)])


def sectors(address_of, lanes=ALL, ask=LOAD):
    return library().count_sectors(ctypes.c_uint32(lanes), by_lane(address_of), ask)


def local_sectors(address_of, size, lanes=ALL):
    return library().count_local_sectors(ctypes.c_uint32(lanes), by_lane(address_of), size)


class Wavefronts(ctypes.Structure):
    _fields_ = (("all", ctypes.c_int), ("conflicts", ctypes.c_int))


def wavefronts(address_of, size=4, lanes=ALL, ask=LOAD):
    """Passes, and those of them that a conflict costs."""
    count = library().count_wavefronts
    count.restype = Wavefronts
    found = count(ctypes.c_uint32(lanes), by_lane(address_of), size, ask)
    return found.all, found.conflicts


# ---- global memory


@pytest.mark.parametrize(("size", "expected"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16)])
def test_neighbours_fill_their_sectors(size, expected):
    assert sectors(lambda lane: lane * size) == expected


def test_sectors_are_those_of_the_whole_warp_not_of_its_halves_or_quarters():
    assert sectors(lambda lane: 8 + lane * 8) == 9  # halves on their own would touch 10
    assert sectors(lambda lane: 16 + lane * 16) == 17  # and quarters 20


def test_one_address_is_one_sector_and_scattered_ones_are_as_many_as_there_are_lanes():
    assert sectors(lambda lane: 64) == 1
    assert sectors(lambda lane: (31 - lane) * 4096) == 32
    assert sectors(lambda lane: lane * 4096, lanes=EVEN) == 16


@pytest.mark.parametrize("name", COPIES)
def test_copies_to_shared_memory_take_the_sectors_that_a_gpu_counted(name):
    width = int(name[2:])
    for lanes, start, to, counted in COPIES[name]:
        there = by_lane(lambda lane, start=start: start + lane * width)
        here = by_lane(lambda lane, to=to: to + lane * width)
        count, more = library().count_sectors, LOAD
        if name.startswith("cg"):  # past the first cache
            count, more = library().count_bypassing_sectors, here
        assert count(ctypes.c_uint32(lanes), there, more) == counted, (lanes, start, to)


def test_an_atomic_touches_a_sector_as_often_as_its_most_wanted_address():
    assert sectors(lambda lane: lane * 4, ask=CHANGE) == 4
    assert sectors(lambda lane: 0, ask=CHANGE) == 32
    assert sectors(lambda lane: lane % 2 * 4, ask=CHANGE) == 16
    assert sectors(lambda lane: lane % 2 * 32, ask=CHANGE) == 32


# ---- local memory


def test_one_index_in_all_lanes_is_a_line_of_local_memory():
    assert local_sectors(lambda lane: 12, 4) == 4
    assert local_sectors(lambda lane: 12, 1) == 4
    assert local_sectors(lambda lane: 16, 16) == 16


def test_an_index_of_its_own_in_each_lane_is_a_sector_each():
    assert local_sectors(lambda lane: lane * 4, 4) == 32
    assert local_sectors(lambda lane: lane // 8 * 4, 4) == 4


# ---- shared memory: 4 bytes a lane and less


def test_a_bank_gives_one_word_a_pass_to_all_who_want_it():
    assert wavefronts(lambda lane: lane * 4, 4) == (1, 0)
    assert wavefronts(lambda lane: 64, 4) == (1, 0)
    assert wavefronts(lambda lane: lane, 1) == (1, 0)
    assert wavefronts(lambda lane: lane * 128, 4) == (32, 31)
    assert wavefronts(lambda lane: lane * 8, 4) == (2, 1)
    assert wavefronts(lambda lane: lane * 132, 4) == (1, 0)


# ---- 8 and 16 bytes a lane


def test_halves_and_quarters_come_one_after_the_other():
    assert wavefronts(lambda lane: lane * 8, 8) == (2, 0)
    assert wavefronts(lambda lane: lane * 16, 16) == (4, 0)


def test_loads_of_lanes_one_or_two_apart_that_want_the_same_let_parts_of_the_warp_go_together():
    assert wavefronts(lambda lane: 0, 8) == (1, 0)
    assert wavefronts(lambda lane: 0, 16) == (2, 0)
    assert wavefronts(lambda lane: lane // 2 * 8, 8) == (1, 0)
    assert wavefronts(lambda lane: (lane & ~2) * 8, 8) == (2, 1)
    assert wavefronts(lambda lane: (lane & ~4) * 8, 8) == (2, 0)  # four apart they do not


def test_one_lane_that_wants_something_else_keeps_all_parts_of_the_warp_apart():
    assert wavefronts(lambda lane: 16 * (lane == 5), 16) == (4, 0)


def test_a_lane_that_is_away_wants_what_its_neighbour_wants():
    assert wavefronts(lambda lane: lane * 4, 8, lanes=EVEN) == (1, 0)


def test_stores_go_by_halves_and_quarters_whatever_their_lanes_want():
    assert wavefronts(lambda lane: 0, 8, ask=STORE) == (2, 0)
    assert wavefronts(lambda lane: 0, 16, ask=STORE) == (4, 0)


def test_a_part_of_the_warp_that_is_away_costs_nothing():
    assert wavefronts(lambda lane: lane * 16, 16, lanes=0xFF) == (1, 0)
    assert wavefronts(lambda lane: lane * 8, 8, lanes=FIRST) == (1, 0)


# ---- atomics in shared memory


def test_lanes_that_change_one_word_come_one_after_the_other():
    assert wavefronts(lambda lane: lane * 4, ask=CHANGE) == (1, 0)
    assert wavefronts(lambda lane: 0, ask=CHANGE) == (32, 31)
    assert wavefronts(lambda lane: lane % 4 * 4, ask=CHANGE) == (8, 7)


def test_a_comparison_takes_two_passes_and_lanes_that_count_themselves_share_one():
    assert wavefronts(lambda lane: lane * 4, ask=COMPARE) == (2, 0)
    assert wavefronts(lambda lane: 0, ask=COUNT) == (1, 0)
