"""What an x-ray says that the compiler did to a line, of kernels written so that it does."""

import pytest
from engine.compiled.hard_launches import HARD, inputs
from full_tables import some

from softmax_lib.worklog.xray import xray_launch

LOCAL = "in local memory: a thread's own array, or what its registers have no room for"

# By kernel of hard_kernels.cu the changes that are told, by line and operation; what is not here has none.
TOLD = {
    "members_one_by_one": {(7, "load"): "merged with line 6 into one of 8 bytes"},
    "members_stored_one_by_one": {(6, "store"): "merged with line 7 into one of 8 bytes"},
    "block_sum": {(12, "load"): "merged into loads of 16 bytes"},
    "load_sinks_below_a_branch": {(8, "load"): "moved below a branch: asked for only where it is needed"},
    "stores_of_few": {(5, "store"): "left out: another store follows, or nobody needs it"},
    "masks_known_at_run_time": {
        (6, "load"): "left out: its value is in a register already, or nobody needs it",
        (7, "load"): "left out: its value is in a register already, or nobody needs it",
    },
    "halves_meet": {(13, "store"): "moved to line 15", (15, "store"): "moved here from line 13"},
    "structures_of_32_bytes": {
        (8, "load"): "asked for once instead of 2 times: a value is in a register, or not needed"
    },
    "overlap_is_possible": {(6, "load"): "asked for 2 times as often"},
    "trips_from_memory": {(6, "load"): "unrolled by 16: lanes with other numbers of turns go through other copies"},
    "unrolled_by_seven": {(7, "load"): "unrolled by 7: lanes with other numbers of turns go through other copies"},
    "call_of_some_lanes": {(3, "load"): "fewer lanes ask at once"},
    "local_chars_by_lane": {
        (5, "store"): LOCAL, (6, "load"): LOCAL, (6, "store"): LOCAL, (7, "load"): LOCAL,
    },
    "angles": {(8, "load"): LOCAL, (8, "store"): LOCAL},
    "global_bytes": {},
}  # fmt: skip


NO_LINES = "in compiled code alone"


def changes(name):
    hard = HARD[name]
    x, y = (one.copy() for one in inputs(hard))
    found = xray_launch(hard.source, hard.grid, hard.block, [x, y, hard.rows, hard.cols])
    assert found.path == "machine"
    return found.changes


@pytest.mark.parametrize("name", some(TOLD, every=3))
def test_each_change_is_told_in_words(name):
    told = {(one.line, one.operation): one.what for one in changes(name) if one.what != NO_LINES}
    assert told == TOLD[name]


def test_loads_that_no_line_makes_are_those_of_the_devices_library():
    assert [one.written for one in changes("angles") if one.what == NO_LINES] == [(0, 0)]
