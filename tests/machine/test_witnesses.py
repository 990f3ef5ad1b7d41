"""Three witnesses of what a kernel computes: the emulator from its source, its PTX, and its machine code."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from full_tables import beside, some
from machine.hard_launches import HARD, inputs
from machine.machine_runs import WITNESSES, assert_agreed, run_ptx, together
from machine.random_kernels import batch_of, random_kernel
from machine.random_kernels import inputs as random_inputs
from machine.random_on_gpu import digest, digest_of_sources
from machine.random_witnesses import ASKED, MISCOMPILED, REFUSED

from softmax_lib.engine.compiled.counters import COUNTERS, add_up
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.source import Source
from softmax_lib.worklog.registry import kernels

FOLDER = Path(__file__).parent
RECORD = json.loads((FOLDER / "hard_on_gpu.json").read_text(encoding="utf-8"))
RANDOM = json.loads((FOLDER / "random_on_gpu.json").read_text(encoding="utf-8"))

SHAPES = ((5, 1030), (8, 96), (3, 257))
RACY = {"fusion_no_barrier"}
"""What it computes depends on which warp comes first."""

# ---- kernels of the book


@pytest.mark.parametrize("name", some([name for name in kernels if name not in RACY], every=9))
def test_a_kernel_of_the_book_gives_the_same_bits_by_ptx_and_machine_code_and_nearly_by_the_emulator(
    name,
):
    kernel = kernels[name]
    for rows, shortest in SHAPES:
        cols = kernel.longer(shortest)
        if cols > kernel.max_cols(kernel.settle_block_size(None, cols)):
            continue
        assert_agreed(kernel, rows, cols)


# ---- random kernels, of which a GPU's results are recorded

SEEDS = [*range(8), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(8, 200))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("witness", ["source", "ptx"])
def test_a_random_kernel_gives_the_same_bits_as_on_a_gpu(seed, witness):
    kernel = random_kernel(seed)
    x, y = (np.array(one) for one in random_inputs(kernel))
    arguments = [x, y, *(int(one) for one in kernel.arguments(x, y)[2:])]
    source = batch_of(seed) if witness == "ptx" else kernel.source
    WITNESSES[witness](source, kernel.entry, kernel.grid, kernel.block, arguments)
    assert digest(y.tobytes()) == RANDOM["y"][str(seed)]


# ---- ten thousand more, asked once on a GPU: random_witnesses.py


def test_ten_thousand_kernels_gave_the_same_by_ptx_machine_code_and_a_gpu_but_for_those_that_are_explained():
    assert (ASKED["first"], ASKED["asked"]) == (0, 10_000)
    differ = {int(seed): found for seed, found in ASKED["differ"].items()}
    assert set(differ) == MISCOMPILED | set(REFUSED)
    for seed in MISCOMPILED:
        assert differ[seed]["machine code"] == differ[seed]["gpu"] != differ[seed]["ptx"]
    for seed, witness in REFUSED.items():
        assert differ[seed].pop(witness).startswith("NotAvailable")
        assert len(set(differ[seed].values())) == 1


@pytest.mark.full
def test_they_are_the_kernels_that_were_asked_about():
    kernels = [random_kernel(seed) for seed in range(ASKED["asked"])]
    assert digest_of_sources(kernels) == ASKED["sources"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("(unsigned)__double2ull_rn(4503599627370497.0)", 1),
        ("(unsigned)((short)-x[0] * (short)6)", 2**32 - 6 * 32768),
    ],
)
def test_ptx_says_what_is_documented_where_an_assembler_does_not(asked, expected):
    text = f'extern "C" __global__ void k(const int* x, unsigned* y) {{ y[0] = {asked}; }}'
    y = np.zeros(1, np.uint32)
    run_ptx(Source("k.cu", text), "k", 1, 1, [np.array([0x8000], np.int32), y])
    assert y[0] == expected


# ---- hard kernels

NOT_IN_PTX = {"recursion", "function_by_a_pointer"}
"""Functions that call themselves, or by their address, are not put in the place of their calls."""

FUSED = {"doubles", "halves", "halves_in_pairs"}
"""The assembler makes one operation, rounded once, of a product and a sum, which PTX leaves to it."""

REQUESTS = {"global_load_requests", "global_load_sectors"}
SHARED = {f"shared_{kind}_{unit}" for kind in ("load", "store") for unit in ("requests", "wavefronts", "conflicts")}  # fmt: skip
LOCAL = {f"local_{kind}_{unit}" for kind in ("load", "store") for unit in ("requests", "sectors")}
ATOMICS = {one for one in COUNTERS if "atomic" in one or "reduction" in one}
ASSEMBLED = {
    # loops unrolled again, with a branch into their middle
    "sum_of_trips_by_lane": REQUESTS, "max_of_trips_by_lane": REQUESTS, "trips_from_memory": REQUESTS,
    # lanes that leave early do so at once, or at the end of what they share with the others
    "end_in_the_middle": REQUESTS, "cases_that_fall_through": REQUESTS, "jumps": REQUESTS,
    # equal loads made one
    "masks_known_at_run_time": REQUESTS,
    # neighbours in shared memory merged
    "shared_neighbours": SHARED, "shared_partials": SHARED, "shared_neighbours_stored": SHARED, "block_sum": SHARED,
    "product_of_matrices": SHARED, "structures_of_32_bytes": SHARED,
    # arrays of a thread in registers, and registers in local memory
    "local_float4_by_lane": LOCAL, "registers_indexed": LOCAL, "array_with_one_unknown_index": LOCAL, "spills": LOCAL,
    "spills_of_some_lanes": LOCAL,
    # atomics made of a loop, and how often that turns
    "shared_atomic_one_address": SHARED, "shared_atomic_64_bits": SHARED, "shared_atomic_floats": SHARED,
}  # fmt: skip
"""Counters that the assembler changes, by kernel; of atomics PTX does not tell whether their results are used."""


@pytest.mark.parametrize("name", some(HARD, every=8))
def test_a_hard_kernel_gives_the_same_by_ptx_as_on_a_gpu_and_counts_the_same_but_for_the_assembler(
    name,
):
    hard, recorded = HARD[name], RECORD["kernels"][name]
    x, y = (one.copy() for one in inputs(hard))
    how = {"shared_bytes": hard.shared_bytes}
    source = together(HARD[one].source for one in beside(name, HARD, every=8))
    words = (source, name, hard.grid, hard.block, [x, y, hard.rows, hard.cols])
    if name in NOT_IN_PTX:
        with pytest.raises(NotAvailable, match=rf"The PTX of {name}\.cu:\d+ has .*, which is not run here"):  # fmt: skip
            run_ptx(*words, **how)
        return
    found = add_up([run_ptx(*words, **how)])
    differ = {one for one in COUNTERS if found[one] != recorded["counters"].get(one, 0)}
    assert differ - {"instructions"} - ATOMICS <= ASSEMBLED.get(name, set())
    if hard.approx:
        np.testing.assert_allclose(y, np.array(recorded["y"], np.float32), rtol=2e-5, atol=1e-6)
    elif name not in FUSED:
        assert hashlib.sha256(y.tobytes()).hexdigest() == recorded["y_sha256"]


def test_what_the_assembler_changes_is_only_a_few():
    assert set(ASSEMBLED) | NOT_IN_PTX | FUSED <= set(HARD)
    assert len(ASSEMBLED) < len(HARD) / 12
