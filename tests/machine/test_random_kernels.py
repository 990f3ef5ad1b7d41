"""Random kernels are what they are for: they have everything, compile everywhere, and give one result."""

from itertools import product

import pytest
from machine.random_kernels import EVERYDAY, Random, batch_of, inputs, random_kernel
from machine.random_meetings import REDUCTIONS, SLOTS, SUMS, VOTES
from machine.random_on_gpu import compile_all, digest_of_sources, read_all
from machine.random_operations import OPERATIONS

from softmax_lib.engine.compiled.cubin import kernels_of
from softmax_lib.engine.source import Program
from softmax_lib.engine.written import launch
from softmax_lib.gpu.compile import compile_cubin

ALL = 200
"""How many kernels, from 0 on: the emulator builds each with a C++ compiler."""
ARCHS = (75, 80, 90)
CONTROL = {"if", "for", "for_by_lane", "while", "switch", "return", "for_together"}

some = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(EVERYDAY), id="everyday"),
        pytest.param(range(EVERYDAY, ALL), id="others", marks=pytest.mark.full),
    ],
)


def run(random: Random):
    x, y = inputs(random)
    launch(random.source, random.grid, random.block, random.arguments(x, y))
    return y


def test_a_seed_is_one_kernel_with_one_input():
    assert random_kernel(5) == random_kernel(5)
    assert random_kernel(5).source != random_kernel(6).source
    first, second = (inputs(random_kernel(5))[0] for _ in range(2))
    assert (first == second).all()


def test_a_few_hundred_kernels_have_every_operation_and_feature():
    used = set().union(*(random_kernel(seed).used for seed in range(ALL)))
    assert {f"{one.group}.{one.name}" for one in OPERATIONS} <= used
    assert {f"control.{name}" for name in CONTROL} <= used
    assert {f"shared.{name}" for name in (*SLOTS, *SUMS)} <= used
    assert {f"warp.{name}" for name in (*VOTES, *REDUCTIONS)} <= used
    assert {f"warp.{name}_{width}" for name in ("shfl", "up", "down", "xor") for width in (8, 16, 32)} <= used  # fmt: skip


@some
def test_the_emulator_gives_the_same_words_twice(seeds):
    for seed in seeds:
        random = random_kernel(seed)
        first = run(random)
        assert first[: random.y_len].any(), seed
        assert (first == run(random)).all(), seed


@some
def test_they_compile_for_every_arch_that_has_their_instructions(seeds):
    for first, arch in product(seeds[::EVERYDAY], ARCHS):
        cubin = compile_cubin(Program(batch_of(first, arch)), arch)
        batch = map(random_kernel, range(first, first + EVERYDAY))
        assert {one.entry for one in batch if one.needs <= arch} == set(kernels_of(cubin))


def test_what_is_compiled_for_a_gpu_is_read_there(tmp_path):
    compile_all(tmp_path, 2)
    facts, cubins = read_all(tmp_path)
    kernels = [random_kernel(seed) for seed in range(2)]
    assert facts["sources"] == digest_of_sources(kernels)
    assert cubins == [compile_cubin(Program(random.source), 90) for random in kernels]
