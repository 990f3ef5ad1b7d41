"""How the kernels of cluster_kernels.cu are launched."""

import random
from pathlib import Path

import numpy as np

from softmax_lib.engine.source import Source
from softmax_lib.engine.spec import LaunchSpec

SOURCE = Source.read(Path(__file__).with_name("cluster_kernels.cu"))

LAUNCHES = {
    "load_from_other": ("load_from_other", 8, 128, {"cluster": 4}),
    "store_to_other": ("store_to_other", 8, 128, {"cluster": 2}),
    "add_to_first": ("add_to_first", 8, 96, {"cluster": 4}),
    "where, 1 x 3 x 2": ("where", (6, 6, 2), 32, {"cluster": (1, 3, 2)}),
    "where, 3 x 2 x 1": ("where", (6, 6, 2), 32, {"cluster": (3, 2, 1)}),
    "where, 5 x 1 x 1": ("where", (10, 6, 1), 32, {"cluster": (5, 1, 1)}),
    "where, 1 x 7 x 1": ("where", (7, 14, 1), 32, {"cluster": (1, 7, 1)}),
    "where, alone": ("where", 5, 32, {}),
    "some_end": ("some_end", 6, 100, {"cluster": 3}),
    "two_phases": ("two_phases", 4, 128, {}),
    "send_words": ("send_words", 16, 32, {"cluster": 8}),
    "all_meet": ("all_meet", 12, 64, {"cooperative": True}),
}
"""By name a kernel, its grid and block, and more words of a launch."""

POLLS = ("two_phases", "all_meet")
"""Those that ask again and again whether others have come: how often depends on time."""


def arrays():
    """x, in an order without a pattern, and y: float32."""
    number = np.arange(4096, dtype=np.int64)
    x = ((number * 7919 + (number >> 5) * 271) % 505 - 252).astype(np.float32)
    return x, np.full(8192, -1, np.float32)


def spec_of(name, x, y):
    kernel, grid, block, how = LAUNCHES[name]
    return LaunchSpec.of(SOURCE, grid, block, [x, y], kernel=kernel, **how)


_BYTES = {"cg16": 17, "ca16": 16, "ca8": 8, "ca4": 4}


def copies():
    """Requests that copy to shared memory: (name, lanes, bytes from the start there, and here)."""
    chance = random.Random(1)

    def some_lanes():
        return chance.getrandbits(32) or 1

    found = [("cg16", (1 << n) - 1, a, b) for n in range(1, 33) for b in range(0, 128, 16) for a in (0, 16)]  # fmt: skip
    for _ in range(200):
        found.append(("cg16", some_lanes(), 16 * chance.choice((0, 1, 2, 3)), chance.randrange(8) * 16))  # fmt: skip
    for name, each in (("ca16", 16), ("ca8", 8), ("ca4", 4)):
        found += [(name, 0xFFFFFFFF, a, b) for b in range(0, 64, each) for a in range(0, 48, each)]
        for _ in range(40):
            lanes, there, here = some_lanes(), chance.randrange(8), chance.randrange(128 // each)
            found.append((name, lanes, there * each, here * each))
    return found


def copy_spec(x, y, name, lanes, start, to):
    return LaunchSpec.of(SOURCE, 1, 32, [x, y, lanes, start, to], kernel=f"copies<{_BYTES[name]}>")
