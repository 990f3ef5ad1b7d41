"""Witnesses of what a kernel computes and counts: the emulator from its source, its PTX, its machine code, and an H100."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from engine.compiled.hard_launches import HARD, inputs
from engine.compiled.machine_runs import WITNESSES, assert_agreed, run_ptx, together
from engine.compiled.random_kernels import EVERYDAY, batch_of, random_kernel
from engine.compiled.random_meetings import REDUCTIONS, SLOTS, SUMS, VOTES
from engine.compiled.random_on_gpu import ASKED, MISCOMPILED, REFUSED, digest_by, digest_of_sources
from engine.compiled.random_operations import OPERATIONS
from engine.on_gpu import nvrtc_version
from full_tables import beside, some

from softmax_lib.engine.compiled.counters import COUNTERS, add_up
from softmax_lib.engine.compiled.cubin import kernels_of
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.source import Program, Source
from softmax_lib.gpu.compile import compile_cubin
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.xray import xray_launch

FOLDER = Path(__file__).parent
RECORD = json.loads((FOLDER / "hard_on_gpu.json").read_text(encoding="utf-8"))
RANDOM = json.loads((FOLDER / "random_on_gpu.json").read_text(encoding="utf-8"))


@pytest.fixture
def _recorded_nvrtc(witness):
    """Of machine code: another compiler makes other, of which nothing is recorded."""
    version, recorded = nvrtc_version(), RECORD["nvrtc_of_the_machine_code"]
    if witness == "machine code" and version != recorded:
        pytest.skip(f"recorded with NVRTC {recorded}, this is {version}")


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

ALL = 200
"""How many kernels, from 0 on, have a GPU's results."""
ARCHS = (75, 80, 90)
CONTROL = {"if", "for", "for_by_lane", "while", "switch", "return", "for_together"}

SEEDS = [*range(EVERYDAY), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(EVERYDAY, ALL))]  # fmt: skip


def assert_same_bits(seed, witness, **how):
    kernel = random_kernel(seed)
    source = kernel.source if witness == "source" else batch_of(seed, **how)
    assert digest_by(WITNESSES[witness], kernel, source, **how) == RANDOM["y"][str(seed)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("witness", WITNESSES)
@pytest.mark.usefixtures("_recorded_nvrtc")
def test_a_random_kernel_gives_the_same_bits_as_on_a_gpu(seed, witness):
    assert_same_bits(seed, witness)


@pytest.mark.full
@pytest.mark.parametrize("arch", [75, 80])
@pytest.mark.parametrize("seed", range(60))
def test_a_random_kernel_gives_the_same_bits_as_machine_code_for_older_gpus(seed, arch):
    if random_kernel(seed).needs > arch:
        pytest.skip("needs a newer one")
    assert_same_bits(seed, "machine code", arch=arch)


def test_a_few_hundred_kernels_have_every_operation_and_feature():
    used = set().union(*(random_kernel(seed).used for seed in range(ALL)))
    assert {f"{one.group}.{one.name}" for one in OPERATIONS} <= used
    assert {f"control.{name}" for name in CONTROL} <= used
    assert {f"shared.{name}" for name in (*SLOTS, *SUMS)} <= used
    assert {f"warp.{name}" for name in (*VOTES, *REDUCTIONS)} <= used
    assert {f"warp.{name}_{width}" for name in ("shfl", "up", "down", "xor") for width in (8, 16, 32)} <= used  # fmt: skip


@pytest.mark.parametrize("first", some(range(0, ALL, EVERYDAY), every=25))
@pytest.mark.parametrize("arch", ARCHS)
def test_they_compile_for_every_arch_that_has_their_instructions(first, arch):
    batch = map(random_kernel, range(first, first + EVERYDAY))
    found = kernels_of(compile_cubin(Program(batch_of(first, arch)), arch))
    assert {one.entry for one in batch if one.needs <= arch} == set(found)


# ---- ten thousand more, asked once on a GPU: random_on_gpu.py


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

# Each kernel of which a counter is another one, and why: all others are equal.
TURNS = {
    "instructions", "shared_load_requests", "shared_load_wavefronts", "shared_load_conflicts", "shared_atomic_wavefronts",
    "shared_atomic_conflicts",
}  # fmt: skip
KNOWN = {
    # loops until no other warp has been at the word meanwhile: how often depends on when warps come to it
    "shared_atomic_64_bits": TURNS,
    "shared_atomic_floats": TURNS,
    # lanes that only count themselves: a pass more for every second warp, for which there is no rule here
    "shared_atomic_one_address": {"shared_atomic_wavefronts", "shared_atomic_conflicts"},
    # a function that calls itself: convergence barriers that are kept aside and come back
    "recursion": {"instructions"},
    # one instruction more, of a thousand
    "cases_that_fall_through": {"instructions"},
}

ALONE = {"function_by_a_pointer"}
"""What it may call is any function of its source, whose registers it keeps."""


NOT_IN_PTX = {"recursion", "function_by_a_pointer"}
"""Functions that call themselves, or by their address, are not put in the place of their calls."""

REQUESTS = {"global_load_requests", "global_load_sectors"}
SHARED = {f"shared_{kind}_{unit}" for kind in ("load", "store") for unit in ("requests", "wavefronts", "conflicts")}  # fmt: skip
LOCAL = {f"local_{kind}_{unit}" for kind in ("load", "store") for unit in ("requests", "sectors")}
ATOMICS = {one for one in COUNTERS if "atomic" in one or "reduction" in one}
ASSEMBLED = {
    # loops unrolled again, with a branch into their middle
    "sum_of_trips_by_lane": REQUESTS, "trips_from_memory": REQUESTS,
    # lanes that leave early do so at once, or at the end of what they share with the others
    "end_in_the_middle": REQUESTS, "cases_that_fall_through": REQUESTS, "jumps": REQUESTS,
    # equal loads made one
    "masks_known_at_run_time": REQUESTS,
    # neighbours in shared memory merged
    "shared_neighbours": SHARED, "shared_neighbours_stored": SHARED, "block_sum": SHARED, "product_of_matrices": SHARED,
    "structures_of_32_bytes": SHARED,
    # arrays of a thread in registers, and registers in local memory
    "local_float4_by_lane": LOCAL, "registers_indexed": LOCAL, "spills": LOCAL,
    # atomics made of a loop, and how often that turns
    "shared_atomic_one_address": SHARED, "shared_atomic_64_bits": SHARED, "shared_atomic_floats": SHARED,
}  # fmt: skip
"""Counters that the assembler changes, by kernel; of atomics PTX does not tell whether their results are used."""


@pytest.mark.parametrize("witness", ["machine code", "ptx"])
@pytest.mark.parametrize("name", some(HARD, every=7))
@pytest.mark.usefixtures("_recorded_nvrtc")
def test_a_hard_kernel_gives_what_it_gives_on_a_gpu_and_counts_the_same(name, witness):
    hard, recorded = HARD[name], RECORD["kernels"][name]
    text = hashlib.sha256(hard.source.text.encode()).hexdigest()
    assert recorded["source"] == text, "record it again: tests/engine/compiled/hard_on_gpu.py"
    x, y = (one.copy() for one in inputs(hard))  # at the start of an array of their own
    names = [one for one in beside(name, HARD, every=7) if one not in ALONE]
    source = hard.source if name in ALONE else together(HARD[one].source for one in names)
    words = (source, name, hard.grid, hard.block, [x, y, hard.rows, hard.cols])
    is_ptx = witness == "ptx"
    if is_ptx and name in NOT_IN_PTX:
        with pytest.raises(NotAvailable, match=rf"The PTX of {name}\.cu:\d+ has .*, which is not run here"):  # fmt: skip
            run_ptx(*words)
        return
    found = add_up([WITNESSES[witness](*words)])
    differ = {one for one in COUNTERS if found[one] != recorded["counters"].get(one, 0)}
    assembled = {"instructions"} | ATOMICS | ASSEMBLED.get(name, set())
    assert differ <= (assembled if is_ptx else KNOWN.get(name, set()))
    if hard.approx:
        np.testing.assert_allclose(y, np.array(recorded["y"], np.float32), rtol=2e-5, atol=1e-6)
    else:
        assert hashlib.sha256(y.tobytes()).hexdigest() == recorded["y_sha256"]


def test_two_recordings_are_the_same_but_for_such_a_loop():
    changed = {
        name
        for name, recorded in RECORD["kernels"].items()
        if not set(COUNTERS).isdisjoint(recorded["counted_again"])
    }
    assert changed <= {"shared_atomic_64_bits", "shared_atomic_floats"}


def test_those_that_are_recorded_and_that_differ_are_among_them():
    assert RECORD["kernels"].keys() == HARD.keys() >= {*KNOWN, *ASSEMBLED, *NOT_IN_PTX}


# ---- hard kernels keep to their arrays and have no race

EMULATED = [name for name, hard in HARD.items() if hard.emulated]
STORE = 4
"""The line of a kernel of SHARED that stores. Lanes that meet there bring the same element of x."""


@pytest.mark.parametrize("name", some(EMULATED, every=17))
def test_none_has_a_hazard_and_each_writes_something(name):
    hard = HARD[name]
    x, y = inputs(hard)
    given, before = x.copy(), y.copy()
    arguments = [x, y, hard.rows, hard.cols]
    hazards = xray_launch(hard.source, hard.grid, hard.block, arguments, path="written").hazards
    if name.startswith("shared_") and hard.threads == 32:  # lanes store one value at one address
        hazards = [one for one in hazards if (one.kind, one.line) != ("race", STORE)]
    assert not hazards
    assert (x == given).all()
    assert (y.view(np.uint32) != before.view(np.uint32)).any()
    if hard.approx:
        assert np.isfinite(y).all()  # they are recorded as numbers
