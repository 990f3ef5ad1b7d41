"""The kernels of hard_kernels.cu: one source each, how each is launched, and what it is given."""

import re
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from softmax_lib.engine.grids import axes_of
from softmax_lib.engine.source import Source

FILE = Path(__file__).with_name("hard_kernels.cu")
_DEFAULTS = "grid 2 block 128 rows 4 cols 512 x 4096 y 4096"
_FACT = re.compile(r"\b(grid|block|rows|cols|x|y) ([\dx]+)")
_HEAD = re.compile(
    r"^(KERNEL|RESTRICTED|BOUNDED)\((\w+)(?:, ([\d, ]+))?\) \{(?:  // (i|i, lane))?$", re.MULTILINE
)
_FIRST_LINES = {
    None: "",
    "i": "\n    int i = blockIdx.x * blockDim.x + threadIdx.x;",
    "i, lane": "\n    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;",
}
_SHARED = re.compile(r"^SHARED\((\w+), (.*), ([^,]*)\)$", re.MULTILINE)
_ALIGNMENT = 256
_TYPES = {4: "float", 8: "float2", 16: "float4"}
_MOST_WORDS = 33 * 32 * 4
"""Of the widest stride: elements of x that a kernel of SHARED reads, at most."""


@dataclass(frozen=True)
class Hard:
    """A kernel and its launch. `x_len` and `y_len` are elements.

    With `zeros` y begins as zeros, else as bits that are all one; `approx`: what it computes has the
    GPU's own last bits; `emulated`: the emulator knows all that it uses.
    """

    name: str
    source: Source
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    rows: int
    cols: int
    x_len: int
    y_len: int
    zeros: bool
    approx: bool
    emulated: bool

    @property
    def threads(self) -> int:
        return prod(self.block)


def inputs(hard: Hard) -> tuple[np.ndarray, np.ndarray]:
    """x and y before the launch: float32, aligned to 256 bytes, the same on every machine.

    x is made of whole numbers from -252 to 252 over 1, 2, 4 or 8, in an order without a pattern.
    """
    number = np.arange(hard.x_len, dtype=np.int64)
    mixed = (number * 7919 + (number >> 5) * 271) % 505 - 252
    x, y = _aligned(hard.x_len), _aligned(hard.y_len)
    x[:] = mixed / 2.0 ** (number * 5 // 3 % 4)
    y.view(np.uint32)[:] = 0 if hard.zeros else 0xFFFFFFFF
    return x, y


def _aligned(length: int) -> np.ndarray:
    room = np.empty(length * 4 + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    return room[start : start + length * 4].view(np.float32)


def _signature(kind: str, name: str, bounds: str | None) -> str:
    how = " __restrict__" if kind == "RESTRICTED" else ""
    limits = f" __launch_bounds__({bounds})" if bounds else ""
    return (
        f'extern "C" __global__ void{limits} '
        f"{name}(const float*{how} x, float*{how} y, int rows, int cols) {{"
    )


def _hard(name: str, text: str, facts: str) -> Hard:
    words = dict(_FACT.findall(_DEFAULTS)) | dict(_FACT.findall(facts))
    grid, block = (axes_of([*map(int, words[of].split("x"))], of) for of in ("grid", "block"))
    sizes = [int(words[key]) for key in ("rows", "cols", "x", "y")]
    flags = ("zeros" in facts, "approx" in facts, "no emulator" not in facts)
    return Hard(name, Source(f"{name}.cu", text), grid, block, *sizes, *flags)


def _read_one(chunk: str) -> Hard:
    """A kernel with the lines before it; facts and what is hard stay in its text."""
    head = _HEAD.search(chunk)
    facts = " ".join(line for line in chunk.splitlines() if line.startswith("//:"))
    *signature, first = head.groups()
    start = _signature(*signature) + _FIRST_LINES[first]
    text = chunk[: head.start()] + start + chunk[head.end() :]
    return _hard(head[2], text.rstrip() + "\n", facts)


def _shared(name: str, index: str, who: str, width: int) -> Hard:
    """One warp stores, and loads, `width` bytes a lane of shared memory, once each."""
    words, kind = width // 4, _TYPES[width]
    name = f"shared_{name}_{width}"
    text = f"""\
{_signature("KERNEL", name, None)}
    __shared__ {kind} s[{_MOST_WORDS // 4}];
    int lane = threadIdx.x, index = {index};
    if ({who}) s[index] = (({f"const {kind}*"})x)[index];
    __syncthreads();
    if ({who}) (({kind}*)y)[lane] = s[index];
}}
"""
    return _hard(name, text, f"grid 1 block 32 x {_MOST_WORDS} y {32 * words}")


def _read() -> dict[str, list[Hard]]:
    """By what is hard about them, as the file's headings say."""
    text = FILE.read_text(encoding="utf-8")
    found = {}
    for part in text.split("\n// ---- ")[1:]:
        kind = part.partition("\n")[0]
        found[kind] = [_read_one(chunk) for chunk in part.split("\n\n") if _HEAD.search(chunk)]
        for name, index, who in _SHARED.findall(part):
            found[kind] += [_shared(name, index, who, width) for width in _TYPES]
    heads = re.findall(r"^([A-Z]{4,})\(", text, re.MULTILINE)
    count = len(heads) + (len(_TYPES) - 1) * heads.count("SHARED")
    assert sum(map(len, found.values())) == count  # none was overlooked
    return found


_FOUND = _read()
KINDS = {kind: [hard.name for hard in those] for kind, those in _FOUND.items()}
"""Names by what is hard about them."""
HARD = {hard.name: hard for those in _FOUND.values() for hard in those}
"""By name, in the file's order."""
assert len(HARD) == sum(map(len, _FOUND.values()))
