"""What softmax() launches, x-rayed: the kernel it takes, the counters of an H200, and sentences for bad input."""

import hashlib

import numpy as np
import pytest
from engine.compiled.fast_cases import (
    ALONE,
    CASES,
    POLLING,
    launched,
    read_record,
    recorded,
    units_apart,
)
from full_tables import some

from softmax_lib import xray_softmax
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.ops.designs import Task
from softmax_lib.ops.tables import table_for
from softmax_lib.ops.xray import arrays_for, outline_of, run_outline
from softmax_lib.worklog.reference import as_numpy, softmax

MOST_MORE_WAVEFRONTS = 0.16
"""Where blocks write into each other and where copies run in the background a GPU counts more, and not twice the same."""
MOST_MORE_INSTRUCTIONS = 5e-6
"""Threads that wait for a phase of an mbarrier ask again after a while. And where lanes of a warp have parted before they
wait for one another, as in each block of a cluster, a GPU counts one more, both times."""
ULPS = {4: 8, 2: 1}
"""By bytes of a number: the GPU's approximation of an exponential is its own."""


def test_every_case_was_recorded():
    assert list(read_record()["cases"]) == [case.name for case in CASES]


@pytest.mark.parametrize("case", some(ALONE, every=6), ids=lambda case: case.name)
def test_each_counts_and_computes_what_a_gpu_did(case):
    ours, arrays = launched(case)
    for name, both in recorded(case).items():
        most = 0.0
        if name.endswith(("wavefronts", "conflicts")):
            most = MOST_MORE_WAVEFRONTS * ours[name.replace("conflicts", "wavefronts")]
        elif name == "instructions":
            most = MOST_MORE_INSTRUCTIONS * ours[name] + case.outline.blocks
        assert all(0 <= theirs - ours[name] <= most for theirs in both), name
    check_result(case, arrays)


@pytest.mark.parametrize("case", some(POLLING, every=3), ids=lambda case: case.name)
def test_grids_ask_for_each_other_less_often_than_on_a_gpu_and_else_do_the_same(case):
    ours, arrays = launched(case)
    theirs = recorded(case)
    for name in ("global_store_requests", "global_store_sectors", "shared_load_requests"):
        assert theirs[name] == (ours[name], ours[name])
    for name in ("instructions", "global_load_requests", "global_load_sectors"):
        assert all(0.999 * ours[name] <= one <= 1.1 * ours[name] for one in theirs[name]), name
    check_result(case, arrays)


def check_result(case, arrays):
    task, (_, _, result) = case.task, arrays
    held = read_record()["cases"][case.name]
    if task.backward:  # sums and products alone
        assert hashlib.sha256(result.tobytes()).hexdigest() == held["result_sha256"]
    bits = result.view(np.int32 if task.size == 4 else np.int16).ravel()
    step = max(1, bits.size // len(held["result"]))
    kept = np.array(held["result"], np.int64)
    assert np.abs(bits[::step][: len(kept)].astype(np.int64) - kept).max() <= ULPS[task.size]


@pytest.mark.parametrize("case", some(CASES, every=10), ids=lambda case: case.name)
def test_ptx_gives_the_same_result(case):
    """To the bit in single precision; what the assembler makes of `-ftz=true` may be another last bit of 16."""
    assert units_apart(case) <= (1 if case.task.size == 2 else 0)


@pytest.mark.parametrize("arch", [75, 80, 90])
def test_each_gpu_gets_the_kernel_of_its_table(arch):
    found = xray_softmax(8, 16384, arch=arch)
    assert found.kernel == ("softmax_cluster" if arch == 90 else "softmax_block")
    task = Task(8, 16384, "float32", "float32")
    assert any(str(design) in found.notes[0] for design in table_for(arch).designs(task))


@pytest.mark.parametrize("how", [{}, {"log": True}, {"dtype": "float16"}, {"inner": 96}])
def test_the_result_is_softmax(how):
    inner, dtype = how.get("inner", 1), how.get("dtype", "float32")
    task = Task(8 * inner, 300, dtype, dtype, log=how.get("log", False))
    outline = outline_of(task, inner, 90)[1]
    arrays = arrays_for(task, inner)
    run_outline(outline, arrays, decode_program(outline.build.program, 90, ""))
    right = softmax(np.moveaxis(as_numpy(arrays[0]), 1, -1))
    right = np.moveaxis(np.log(right) if task.log else right, -1, 1)
    np.testing.assert_allclose(
        arrays[2], right, rtol=2e-3 if dtype == "float16" else 2e-5, atol=1e-6
    )


def test_what_comes_along_needs_neither_compiler_nor_disassembler(monkeypatch):
    from softmax_lib.engine.compiled import code

    monkeypatch.setattr(code, "compile_code", None)
    code.code_of.cache_clear()
    found = xray_softmax(64, 8192)
    assert (found.kernel, found.blocks, found.block_size) == ("softmax_cluster", 128, 128)
    assert found.total["bytes_moved"] == 2 * 4 * 64 * 8192
    assert not found.hazards_sought
    assert found.as_json()["path"] == "machine"


def test_notes_say_what_is_not_counted():
    moved = xray_softmax(2, 64, inner=2)
    assert any("which is not counted" in note for note in moved.notes)
    assert (moved.rows, moved.cols, moved.kernel) == (4, 64, "softmax_warp")
    assert any("Blocks ask for one another" in note for note in xray_softmax(8, 262144).notes)
