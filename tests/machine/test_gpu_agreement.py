"""What the interpreter counts and computes is what an H200 counted and computed: hard_on_gpu.json, random_on_gpu.json."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from full_tables import beside, some
from machine.hard_launches import HARD, inputs
from machine.machine_runs import run, together
from machine.random_kernels import batch_of, random_kernel
from machine.random_kernels import inputs as random_inputs
from machine.random_on_gpu import digest

from softmax_lib.engine.compiled.counters import COUNTERS, add_up
from softmax_lib.gpu.compile import nvrtc

pytestmark = pytest.mark.usefixtures("the_recorded_nvrtc")

FOLDER = Path(__file__).parent
RECORD = json.loads((FOLDER / "hard_on_gpu.json").read_text(encoding="utf-8"))
RANDOM = json.loads((FOLDER / "random_on_gpu.json").read_text(encoding="utf-8"))

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


@pytest.fixture(scope="module")
def the_recorded_nvrtc():
    """Another compiler makes other machine code, of which nothing is recorded."""
    version = ".".join(map(str, nvrtc().getVersion()))
    if version != RECORD["nvrtc_of_the_machine_code"]:
        pytest.skip(f"recorded with NVRTC {RECORD['nvrtc_of_the_machine_code']}, this is {version}")


@pytest.mark.parametrize("name", some(HARD, every=6))
def test_a_hard_kernel_gives_what_it_gives_on_a_gpu_and_counts_the_same(name):
    hard, recorded = HARD[name], RECORD["kernels"][name]
    text = hashlib.sha256(hard.source.text.encode()).hexdigest()
    assert recorded["source"] == text, "record it again: tests/machine/hard_on_gpu.py"
    x, y = (one.copy() for one in inputs(hard))  # at the start of an array of their own
    arguments = (x, y, hard.rows, hard.cols)
    names = [one for one in beside(name, HARD, every=6) if one not in ALONE]
    source = hard.source if name in ALONE else together(HARD[one].source for one in names)
    counted = run(source, name, hard.grid, hard.block, arguments, shared_bytes=hard.shared_bytes)
    found = add_up([counted])
    differ = {one for one in COUNTERS if found[one] != recorded["counters"].get(one, 0)}
    assert differ <= KNOWN.get(name, set())
    if hard.approx:
        expected = np.array(recorded["y"], np.float32)
        np.testing.assert_allclose(y, expected, rtol=2e-5, atol=1e-6)
    else:
        assert hashlib.sha256(y.tobytes()).hexdigest() == recorded["y_sha256"]


def test_two_recordings_are_the_same_but_for_such_a_loop():
    changed = {
        name
        for name, recorded in RECORD["kernels"].items()
        if not set(COUNTERS).isdisjoint(recorded["counted_again"])
    }
    assert changed <= {"shared_atomic_64_bits", "shared_atomic_floats"}


def test_what_differs_is_only_a_few():
    assert len(RECORD["kernels"]) == len(HARD)
    assert len(KNOWN) <= len(HARD) // 40
    assert all(name in HARD for name in KNOWN)


def assert_same_bits(kernel, arch):
    """Machine code for `arch` computes what the GPU computed."""
    x, y = (np.array(one) for one in random_inputs(kernel))
    arguments = [x, y, *(int(one) for one in kernel.arguments(x, y)[2:])]
    run(batch_of(kernel.seed, arch), kernel.entry, kernel.grid, kernel.block, arguments, arch=arch)
    assert digest(y.tobytes()) == RANDOM["y"][str(kernel.seed)]


SEEDS = [*range(8), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(8, 200))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_kernel_gives_the_same_bits_as_on_a_gpu(seed):
    assert_same_bits(random_kernel(seed), 90)


@pytest.mark.full
@pytest.mark.parametrize("arch", [75, 80])
@pytest.mark.parametrize("seed", range(60))
def test_a_random_kernel_gives_the_same_bits_as_machine_code_for_older_gpus(seed, arch):
    kernel = random_kernel(seed)
    if kernel.needs > arch:
        pytest.skip(f"needs sm_{kernel.needs}")
    assert_same_bits(kernel, arch)
