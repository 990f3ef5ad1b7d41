"""What softmax() launches, x-rayed: the kernel it takes, the counters of an H200, and sentences for bad input."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from kernel_tables import some

from softmax_lib import xray_softmax
from softmax_lib.errors import BadInput, WrongType
from softmax_lib.machine.counters import COUNTERS, add_up
from softmax_lib.machine.program import decode_program
from softmax_lib.ops.tables import table_for
from softmax_lib.reference import as_numpy, softmax
from softmax_lib.xrays.code_agreement import ARBITERS
from softmax_lib.xrays.fast import arrays_for, outline_of, run_outline

sys.path.insert(0, str(Path(__file__).parent))

from fast_cases import CASES

RECORD = json.loads(Path(__file__).with_name("fast_on_gpu.json").read_text(encoding="utf-8"))
BY_NAME = {case.name: case for case in CASES}
POLLING = [name for name, case in BY_NAME.items() if case.outline.is_cooperative]
ALONE = [name for name in BY_NAME if name not in POLLING]

MOST_MORE_WAVEFRONTS = 0.15
"""Where blocks write into each other and where copies run in the background a GPU counts more, and not twice the same."""
MOST_MORE_INSTRUCTIONS = 5e-6
"""Threads that wait for a phase of an mbarrier ask again after a while."""
ULPS = {4: 8, 2: 1}
"""By bytes of a number: the GPU's approximation of an exponential is its own."""


def launched(case):
    arrays = arrays_for(case.task, case.inner)
    decoded = decode_program(case.outline.build.program, 90, "")
    return add_up([run_outline(case.outline, arrays, decoded)]), arrays


def recorded(name):
    """Both times that a GPU counted."""
    first = RECORD["cases"][name]["counters"]
    return [
        {one: held.get(one, 0) for one in COUNTERS}
        for held in (first, first | RECORD["cases"][name]["counted_again"])
    ]


def test_every_case_was_recorded():
    assert list(RECORD["cases"]) == list(BY_NAME)


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", some(ALONE, every=6))
def test_each_counts_and_computes_what_a_gpu_did(name):
    ours, arrays = launched(BY_NAME[name])
    for theirs in recorded(name):
        for one in COUNTERS:
            most = 0.0
            if one in ARBITERS:
                most = MOST_MORE_WAVEFRONTS * ours[one.replace("conflicts", "wavefronts")]
            elif one == "instructions":
                most = MOST_MORE_INSTRUCTIONS * ours[one]
            assert 0 <= theirs[one] - ours[one] <= most, one
    check_result(name, arrays)


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", some(POLLING, every=3))
def test_grids_ask_for_each_other_less_often_than_on_a_gpu_and_else_do_the_same(name):
    ours, arrays = launched(BY_NAME[name])
    for theirs in recorded(name):
        assert theirs["global_store_requests"] == ours["global_store_requests"]
        assert theirs["global_store_sectors"] == ours["global_store_sectors"]
        assert theirs["shared_load_requests"] == ours["shared_load_requests"]
        for one in ("instructions", "global_load_requests", "global_load_sectors"):
            assert ours[one] <= theirs[one] <= 1.1 * ours[one], one
    check_result(name, arrays)


def check_result(name, arrays):
    task, (_, _, result) = BY_NAME[name].task, arrays
    held = RECORD["cases"][name]
    if task.backward:  # sums and products alone
        assert hashlib.sha256(result.tobytes()).hexdigest() == held["result_sha256"]
    bits = result.view(np.int32 if task.size == 4 else np.int16).ravel()
    step = max(1, bits.size // len(held["result"]))
    kept = np.array(held["result"], np.int64)
    assert np.abs(bits[::step][: len(kept)].astype(np.int64) - kept).max() <= ULPS[task.size]


@pytest.mark.nvrtc
@pytest.mark.parametrize("arch", [75, 80, 90])
def test_each_gpu_gets_the_kernel_of_its_table(arch):
    found = xray_softmax(8, 16384, arch=arch)
    assert found.kernel == ("softmax_cluster" if arch == 90 else "softmax_block")
    task = BY_NAME["float32, 32x16384"].task
    assert any(str(design) in found.notes[0] for design in table_for(arch).designs(task))


@pytest.mark.nvrtc
@pytest.mark.parametrize("how", [{}, {"log": True}, {"dtype": "float16"}, {"inner": 96}])
def test_the_result_is_softmax(how):
    from softmax_lib.ops.designs import Task

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
    from softmax_lib.machine import code

    monkeypatch.setattr(code, "compile_code", None)
    code.code_of.cache_clear()
    found = xray_softmax(64, 8192)
    assert (found.kernel, found.blocks, found.block_size) == ("softmax_cluster", 128, 128)
    assert found.total["bytes_moved"] == 2 * 4 * 64 * 8192
    assert not found.hazards_sought
    assert found.as_json()["path"] == "machine"


@pytest.mark.nvrtc
def test_notes_say_what_is_not_counted():
    assert any("which is not counted" in note for note in xray_softmax(2, 64, inner=8).notes)
    assert any("Blocks ask for one another" in note for note in xray_softmax(8, 262144).notes)


@pytest.mark.parametrize(
    ("words", "how", "said"),
    [
        ((0, 5), {}, "a matrix of 1 to 67108864 elements, not"),
        ((1 << 20, 1 << 20), {}, "a matrix of 1 to 67108864 elements, not"),
        ((4, 4, "int8"), {}, "dtype is 'int8'; it is one of float32, float16, bfloat16"),
        ((4, 4), {"path": "written"}, "counted as machine code or ptx alone"),
        ((4, 4), {"arch": 10}, "machine code is run for"),
    ],
)
def test_bad_input_is_one_sentence(words, how, said):
    with pytest.raises(BadInput, match=said):
        xray_softmax(*words, **how)


def test_numbers_are_whole():
    with pytest.raises(WrongType):
        xray_softmax(4.5, 4)
