"""Hazards that machine code shows: those of the source as it is written, but for races of lanes of one warp."""

from dataclasses import replace

import numpy as np
import pytest
from engine.kernel_tables import read_kernels
from full_tables import some

from softmax_lib import kernels
from softmax_lib.engine.source import WARP, Source
from softmax_lib.engine.written.metering import meter
from softmax_lib.engine.written.structs import HazardKind
from softmax_lib.engine.xrays.counting import hazards_of
from softmax_lib.engine.xrays.machine_path import watch_machine
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import resolve

ARCH, BARRIER = 90, "__syncthreads();"
OF_TWO = (HazardKind.RACE, HazardKind.RACE_OVER_CALL, HazardKind.RACE_IN_STEP, HazardKind.SAME_VALUE)  # fmt: skip
SHAPES = ((3, 257), (5, 1024))
"""Rows for a block of one warp in some kernels, and for more."""
BROKEN, SOUND = read_kernels()


def launches(kernel, rows, cols, block_size=None):
    x = noise(rows, kernel.longer(cols))
    size = block_size or kernel.choose_block_size(x.shape[1])
    return kernel.launches(x, np.full_like(x, np.nan), size)


def told(metered, *, across=False):
    """Kind, lines and array of each hazard; of races only those whose first was `across` warps."""
    found = set()
    for row in metered.hazards:
        kind, is_own = HazardKind(row["kind"]), not row["other_is_elsewhere"]
        if across and kind in OF_TWO and is_own and row["thread"] // WARP == row["other_thread"] // WARP:  # fmt: skip
            continue
        names = ("place", "other_place") if kind in OF_TWO else ("place",)
        lines = frozenset(metered.places[row[name]] for name in names)
        found.add((kind, lines, metered.element(row).partition("[")[0]))
    return found


def assert_alike(kernel):
    """What the source shows between warps is found in machine code, and nothing that it does not show."""
    for rows, cols in SHAPES if kernel.name != "per_element" else ((5, 129),):
        written = meter(*launches(kernel, rows, cols))
        machine = watch_machine(*launches(kernel, rows, cols), arch=ARCH)
        assert told(written, across=True) <= told(machine) <= told(written)


@pytest.mark.parametrize("name", some(["fusion_no_barrier", *kernels], 9))
def test_a_kernel_has_the_hazards_of_its_source(name):
    assert_alike(kernels[name])


EDITED = [
    (name, number)
    for name in ("shared", "chunked", "textbook", "shuffle", "fusion")
    for number in range(kernels[name].source.text.count(BARRIER))
]


@pytest.mark.parametrize(("name", "number"), some(EDITED, 4))
def test_a_barrier_less_shows_in_machine_code_too(name, number):
    source = kernels[name].source
    parts = source.text.split(BARRIER)
    text = BARRIER.join(parts[: number + 1]) + BARRIER.join(parts[number + 1 :])
    assert_alike(replace(kernels[name], given_source=Source(f"{name}.cu", text, source.folder)))


HEAP = ("memory_of_the_devices_heap", "room_in_the_heap_for_a_block")
"""Of kernels that call malloc() there is no machine code that runs here."""


@pytest.mark.parametrize("name", some([one for one in SOUND if one not in HEAP], 7))
def test_a_sound_kernel_raises_no_alarm_in_machine_code(name):
    one = SOUND[name]
    shape = (one.shape[which] for which in ("rows", "cols", "block"))
    assert hazards_of(*launches(resolve(one.source), *shape), path="machine") == ()
