"""The rules of counting, one by one, each on the smallest request that shows it."""

import ctypes
from collections import defaultdict
from itertools import product

import pytest
from engine.compiled.fast_cases import copies, read_record

from softmax_lib.engine.compiled.library import library

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


class Wavefronts(ctypes.Structure):
    _fields_ = (("all", ctypes.c_int), ("conflicts", ctypes.c_int))


def wavefronts(address_of, size, lanes, ask=LOAD):
    """Passes, and those of them that a conflict costs."""
    count = library().count_wavefronts
    count.restype = Wavefronts
    found = count(ctypes.c_uint32(lanes), by_lane(address_of), size, ask)
    return found.all, found.conflicts


# ---- sectors

SECTORS = {
    # neighbours fill their sectors
    **{f"{size} bytes in a row": (size, ALL, LOAD, lambda lane, size=size: lane * size) for size in (1, 2, 4, 8, 16)},
    # of the whole warp: halves on their own would touch 10, and quarters 20
    "8 bytes, off by 8": (9, ALL, LOAD, lambda lane: 8 + lane * 8),
    "16 bytes, off by 16": (17, ALL, LOAD, lambda lane: 16 + lane * 16),
    # one address is one sector, and scattered ones are as many as there are lanes
    "one address": (1, ALL, LOAD, lambda lane: 64),
    "scattered backwards": (32, ALL, LOAD, lambda lane: (31 - lane) * 4096),
    "scattered, half of the lanes": (16, EVEN, LOAD, lambda lane: lane * 4096),
    # an atomic touches a sector as often as its most wanted address
    "atomics in a row": (4, ALL, CHANGE, lambda lane: lane * 4),
    "atomics on a word": (32, ALL, CHANGE, lambda lane: 0),
    "atomics on two words": (16, ALL, CHANGE, lambda lane: lane % 2 * 4),
    "atomics in two sectors": (32, ALL, CHANGE, lambda lane: lane % 2 * 32),
}  # fmt: skip


@pytest.mark.parametrize("name", SECTORS)
def test_sectors_of_global_memory(name):
    expected, lanes, ask, address_of = SECTORS[name]
    assert sectors(address_of, lanes, ask) == expected


@pytest.mark.parametrize("lanes", [1, 7, 32])
def test_of_lanes_evenly_apart_no_address_needs_to_be_looked_at(lanes):
    mask = (1 << lanes) - 1
    for size, by, first in product((1, 4, 8, 16), (0, 1, 3, 8, 9), range(3)):
        first, by = 64 + first * size, by * size
        address_of = lambda lane, first=first, by=by: first + lane * by  # noqa: E731
        even = library().count_even_sectors(lanes, ctypes.c_uint64(first), ctypes.c_uint64(by))
        assert even == sectors(address_of, mask), (size, by, first)
        if by == size >= 4:
            assert (
                library().count_even_wavefronts(lanes, size)
                == wavefronts(address_of, size, mask)[0]
            )


@pytest.mark.parametrize(
    ("address_of", "size", "expected"),
    [  # one index in all lanes is a line, an index of its own in each lane a sector each
        (lambda lane: 12, 4, 4), (lambda lane: 12, 1, 4), (lambda lane: 16, 16, 16),
        (lambda lane: lane * 4, 4, 32), (lambda lane: lane // 8 * 4, 4, 4),
    ],
)  # fmt: skip
def test_sectors_of_local_memory(address_of, size, expected):
    count = library().count_local_sectors
    assert count(ctypes.c_uint32(ALL), by_lane(address_of), size) == expected


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


# ---- shared memory

WAVEFRONTS = {
    # a bank gives one word a pass to all who want it
    "in a row": ((1, 0), ALL, 4, LOAD, lambda lane: lane * 4),
    "one word": ((1, 0), ALL, 4, LOAD, lambda lane: 64),
    "bytes in a row": ((1, 0), ALL, 1, LOAD, lambda lane: lane),
    "a column": ((32, 31), ALL, 4, LOAD, lambda lane: lane * 128),
    "every second word": ((2, 1), ALL, 4, LOAD, lambda lane: lane * 8),
    "a padded column": ((1, 0), ALL, 4, LOAD, lambda lane: lane * 132),
    # halves and quarters come one after the other
    "8 bytes in a row": ((2, 0), ALL, 8, LOAD, lambda lane: lane * 8),
    "16 bytes in a row": ((4, 0), ALL, 16, LOAD, lambda lane: lane * 16),
    # loads of lanes one or two apart that want the same let parts of the warp go together
    "8 bytes of one place": ((1, 0), ALL, 8, LOAD, lambda lane: 0),
    "16 bytes of one place": ((2, 0), ALL, 16, LOAD, lambda lane: 0),
    "pairs": ((1, 0), ALL, 8, LOAD, lambda lane: lane // 2 * 8),
    "two apart": ((2, 1), ALL, 8, LOAD, lambda lane: (lane & ~2) * 8),
    "four apart": ((2, 0), ALL, 8, LOAD, lambda lane: (lane & ~4) * 8),
    # one lane that wants something else keeps all parts of the warp apart
    "one wants another": ((4, 0), ALL, 16, LOAD, lambda lane: 16 * (lane == 5)),
    # a lane that is away wants what its neighbour wants
    "neighbours away": ((1, 0), EVEN, 8, LOAD, lambda lane: lane * 4),
    # stores go by halves and quarters whatever their lanes want
    "8 bytes stored in one place": ((2, 0), ALL, 8, STORE, lambda lane: 0),
    "16 bytes stored in one place": ((4, 0), ALL, 16, STORE, lambda lane: 0),
    # a part of the warp that is away costs nothing
    "a quarter": ((1, 0), 0xFF, 16, LOAD, lambda lane: lane * 16),
    "a lane": ((1, 0), FIRST, 8, LOAD, lambda lane: lane * 8),
    # one word is changed by one lane after the other; comparing takes two passes, counting is shared
    "atomics in a row": ((1, 0), ALL, 4, CHANGE, lambda lane: lane * 4),
    "atomics on a word": ((32, 31), ALL, 4, CHANGE, lambda lane: 0),
    "atomics on four words": ((8, 7), ALL, 4, CHANGE, lambda lane: lane % 4 * 4),
    "comparisons in a row": ((2, 0), ALL, 4, COMPARE, lambda lane: lane * 4),
    "counts in a word": ((1, 0), ALL, 4, COUNT, lambda lane: 0),
}


@pytest.mark.parametrize("name", WAVEFRONTS)
def test_wavefronts_of_shared_memory(name):
    expected, lanes, size, way, address_of = WAVEFRONTS[name]
    assert wavefronts(address_of, size, lanes, way) == expected
