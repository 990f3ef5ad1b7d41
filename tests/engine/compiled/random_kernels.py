"""Small random kernels whose results are exact: whoever runs one right writes the same words.

`random_kernel(seed)` is the same kernel on every machine and Python. What one may be made of is in
random_operations.py, random_bodies.py and random_meetings.py.
"""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from math import prod
from random import Random as Generator

import numpy as np
from engine.compiled.machine_runs import together
from engine.compiled.random_bodies import Body
from engine.compiled.random_meetings import MEETINGS, count_in_global
from engine.compiled.random_operations import (
    BFLOAT_HELPERS,
    HALF_HELPERS,
    HELPERS,
    KINDS,
    OPERATIONS,
    TABLES,
    Operation,
)

from softmax_lib.engine.source import Source

BLOCKS = (32, 64, 96, 128, 33, 50, 1, (16, 4), (8, 4, 3))
TAIL = 20
"""Words behind the results of all threads, for atomics."""
ASKED = 3
"""Operations that each kernel has at least once, in turn: a few hundred kernels have all."""

SUMS = """\
static __device__ unsigned sum(uint2 a) { return a.x + a.y * 3u; }
static __device__ unsigned sum(uint4 a) { return a.x + a.y * 3u + a.z * 5u + a.w * 7u; }
"""
TABLES_OF_CONSTANTS = """\
__constant__ unsigned table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 0xffffffff, 0x80000000, 77, 8, 1000000007, 31, 32, 0};
__constant__ float floats[8] = {1.5f, -0.25f, 3e-39f, 7.0f, -1e30f, 0.1f, 0.0f, 1e-5f};
__constant__ unsigned char bytes[11] = {200, 1, 255, 0, 17, 128, 127, 9, 64, 3, 99};
__constant__ double doubles[4] = {0.1, -3.0, 1e-300, 123456789.125};
"""


@dataclass(frozen=True)
class Random:
    """A kernel, how it is launched, and what is in it: operations and features by name.

    Its arguments are x and y, `x_len` and `y_len` words, and the numbers n = `x_len` and m, where in y the
    words for atomics begin. `needs` is the lowest arch that has all of its instructions.
    """

    seed: int
    source: Source
    grid: int
    block: int | tuple[int, ...]
    x_len: int
    y_len: int
    used: frozenset[str]

    @property
    def entry(self) -> str:
        return f"random_{self.seed}"

    @property
    def needs(self) -> int:
        newer = ("warp.reduce_", "bfloat16.__hfma")
        return 80 if any(name.startswith(newer) for name in self.used) else 75

    def arguments(self, x: np.ndarray, y: np.ndarray) -> list:
        """What the kernel is launched with."""
        return [x, y, self.x_len, self.y_len - TAIL]


def inputs(random: Random) -> tuple[np.ndarray, np.ndarray]:
    """x: words, many of them small, at an end, or of one bit; y: zeros."""
    generator = Generator(2 * random.seed + 1)
    ends = (0, 1, 2, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x7F800000, 0x3F800000, 0x8000, 0xFFFF)
    x = [
        (generator.randrange(1 << 32), generator.randrange(1 << 32), generator.randrange(300),
         generator.choice(ends), 1 << generator.randrange(32))[generator.randrange(5)]
        for _ in range(random.x_len)
    ]  # fmt: skip
    return np.array(x, np.uint32), np.zeros(random.y_len, np.uint32)


def random_kernel(seed: int) -> Random:
    """The kernel of this number."""
    generator = Generator(seed)
    grid, block = generator.randrange(1, 4), generator.choice(BLOCKS)
    threads = prod(block) if isinstance(block, tuple) else block
    used: Counter = Counter()
    operations, asked = choose_operations(generator, seed)
    kinds = [
        kind
        for kind in KINDS
        if kind in "iu" or any(kind in operation.letters for operation in operations)
    ]
    helpers, operations = write_helpers(generator, kinds, operations, used)
    variables = {kind: [f"{kind}{j}" for j in range(KINDS[kind].count)] for kind in kinds}
    body = Body(generator, variables, operations, used)
    write_start(body, threads)
    write_middle(body, threads, asked)
    results = write_end(body)
    head = f'extern "C" __global__ void random_{seed}(const unsigned* __restrict__ x, unsigned* __restrict__ y, int n, int m) {{'
    own = [line.replace("RESULTS", f"{results}u") for line in body.lines]
    lines = [*preamble(kinds), *helpers, head, *own, "}", ""]
    return Random(
        seed,
        Source(f"random_{seed}.cu", "\n".join(lines)),
        grid,
        block,
        x_len=4 * generator.randrange(24, 80),
        y_len=grid * threads * results + TAIL,
        used=frozenset(used),
    )


EVERYDAY = 8
"""How many kernels `make test` takes, from 0 on."""


def batch_of(seed: int, arch: int = 90) -> Source:
    """One source of the kernel of this number and of its neighbours, so many as are compiled at once."""
    first = seed - seed % EVERYDAY
    kernels = map(random_kernel, range(first, first + EVERYDAY))
    return together(one.source for one in kernels if one.needs <= arch)


def choose_operations(
    generator: Generator, seed: int
) -> tuple[list[Operation], tuple[Operation, ...]]:
    """Those that a kernel draws from, and those that it has in any case."""
    asked = tuple(OPERATIONS[(ASKED * seed + j) % len(OPERATIONS)] for j in range(ASKED))
    groups = {generator.choice(list(TABLES)) for _ in range(generator.randrange(2, 5))}
    groups |= {one.group for one in asked} | {"places"}
    if generator.randrange(100) < 60:
        groups |= {"int32", "uint32"}
    return [one for one in OPERATIONS if one.group in groups], asked


def preamble(kinds: list[str]) -> list[str]:
    """Headers, tables and functions that the kinds need."""
    has_half, has_bfloat = "h" in kinds or "g" in kinds, "b" in kinds
    return [
        *(["#include <cuda_fp16.h>"] if has_half else []),
        *(["#include <cuda_bf16.h>"] if has_bfloat else []),
        *TABLES_OF_CONSTANTS.splitlines(),
        *HELPERS.splitlines(),
        *SUMS.splitlines(),
        *(HALF_HELPERS.splitlines() if has_half else []),
        *(BFLOAT_HELPERS.splitlines() if has_bfloat else []),
    ]


def write_helpers(
    generator: Generator, kinds: list[str], operations: list[Operation], used: Counter
) -> tuple[list[str], list[Operation]]:
    """Functions that are really called, and the operations with those calls among them."""
    lines: list[str] = []
    for number in range(generator.choice((0, 0, 1, 1, 2))):
        taken = ["i", "u", *(kind for kind in kinds if kind in "lqfdh")]
        variables = {kind: [f"a_{kind}"] for kind in taken}
        inner = [one for one in operations if one.letters <= set(taken)]
        body = Body(generator, variables, inner, used, is_kernel=False)
        if not body.by_result.get("p"):
            continue
        result = generator.choice(taken)
        body.statements(generator.randrange(2, 6))
        parameters = ", ".join(f"{KINDS[kind].name} a_{kind}" for kind in taken)
        lines += [
            f"__device__ __noinline__ {KINDS[result].name} helper{number}({parameters}) {{",
            *body.lines,
            f"    return a_{result};",
            "}",
        ]
        formula = f"helper{number}({', '.join(f'{{{kind}}}' for kind in taken)})"
        call = Operation("calls", f"helper{number}", result, formula)
        operations = [*operations, *[call] * 3]  # the more often called
    return lines, operations


def write_start(body: Body, threads: int) -> None:
    """Who a thread is, and its variables, each from the input."""
    live = "32u" if threads % 32 == 0 else f"min(32u, {threads}u - thread / 32u * 32u)"
    for line in (
        "unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
        "unsigned lane = thread % 32u;",
        f"unsigned live = {live};",
        "unsigned warp = live == 32u ? 0xffffffffu : (1u << live) - 1u;",
        f"unsigned first = blockIdx.x * {threads}u + thread;",
        "unsigned own = first * RESULTS;",
        "unsigned hash = 2166136261u + thread;",
    ):
        body.write(line)
    step = body.random.choice((1, 1, 3, 5, 17))
    for kind, names in body.variables.items():
        for name in names:
            at = f"(first * {step}u + {body.random.randrange(60)}u) % (unsigned)n"
            value = body.random.choice(KINDS[kind].inputs).replace("{w}", f"x[{at}]")
            body.write(f"{KINDS[kind].name} {name} = {value.replace('{at}', at)};")


def write_middle(body: Body, threads: int, asked: tuple[Operation, ...]) -> None:
    """Statements; between them what all threads do together; and then lanes may leave."""
    allowed = [name for name in MEETINGS if body.chance(35)]
    if "reductions" in allowed and body.chance(50):
        allowed.remove("reductions")
    has_global = body.chance(30)
    waiting = list(asked)
    for _ in range(body.random.randrange(6, 14)):
        if waiting and body.chance(40):
            body.assign(waiting.pop())
        elif allowed and body.chance(35):
            MEETINGS[body.random.choice(allowed)](body, threads)
        elif allowed and body.chance(8):
            body.used["control.for_together"] += 1
            meet = partial(MEETINGS[body.random.choice(allowed)], body, threads)
            body.block(f"for (int j = 0; j < {body.random.randrange(2, 5)}; j++) {{", meet)
        elif has_global and body.chance(25):
            count_in_global(body)
        else:
            body.statement()
    for operation in waiting:
        body.assign(operation)
    body.may_return = True
    body.statements(body.random.randrange(1, 6))


def write_end(body: Body) -> int:
    """Every variable goes into a word of the thread's own, by stores of many widths; how many words."""
    words = ["hash", *(f"bits({name})" for names in body.variables.values() for name in names)]
    words += ["0u"] * (-len(words) % 4)
    for start in range(0, len(words), 4):
        some, place = words[start : start + 4], f"y + own + {start}"
        style = body.random.choice(STORES)
        body.used[f"store.{style}"] += 1
        if style == "uint4":
            body.write(f"*reinterpret_cast<uint4*>({place}) = make_uint4({', '.join(some)});")
        elif style == "uint2":
            for j in (0, 2):
                pair = f"make_uint2({some[j]}, {some[j + 1]})"
                body.write(f"*reinterpret_cast<uint2*>({place} + {j}) = {pair};")
        else:
            for j, word in enumerate(some):
                write_word(body, style, f"{place} + {j}", word)
    return len(words)


STORES = ("uint4", "uint2", "unsigned", "unsigned short", "unsigned char")


def write_word(body: Body, style: str, place: str, word: str) -> None:
    """One word, in one store or in parts of it."""
    parts = {"unsigned short": 2, "unsigned char": 4}.get(style, 1)
    if parts == 1:
        body.write(f"*({place}) = {word};")
        return
    for j in range(parts):
        value = f"({style})({word} >> {32 // parts * j})"
        body.write(f"reinterpret_cast<{style}*>({place})[{j}] = {value};")
