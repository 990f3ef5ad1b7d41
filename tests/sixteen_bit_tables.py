"""The functions of cuda_fp16.h and cuda_bf16.h, each with its meaning in numpy's double precision.

Numbers are their bits, as uint16. A meaning takes exact doubles and gives what is then rounded once,
or a truth.
"""

from dataclasses import dataclass

import numpy as np
from device_functions import Function

NAN = 0x7FFF
"""What every calculation that has no number gives."""


@dataclass(frozen=True)
class Kind:
    """One of the two types: the word in its functions' names, its C++ name, and its shape."""

    word: str
    number: str
    fraction_bits: int
    least_exponent: int
    greatest: float
    include: str

    @property
    def pair(self) -> str:
        return f"{self.number}2"

    @property
    def infinity(self) -> int:
        return 0x7FFF >> self.fraction_bits << self.fraction_bits

    def values(self, bits: np.ndarray) -> np.ndarray:
        """Bits as doubles, which they fit in."""
        if self.word == "half":
            return bits.view(np.float16).astype(np.float64)
        with np.errstate(invalid="ignore"):  # of NaNs that signal
            return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """Doubles as the bits of the nearest number, ties to even."""
        x = np.where(np.isnan(x), np.nan, np.asarray(x, np.float64))
        _, exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))
        unit = np.ldexp(1.0, np.maximum(exponent - 1 - self.fraction_bits, self.least_exponent))
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.where(np.isfinite(x), np.rint(x / unit) * unit, x)
        rounded = np.where(np.abs(rounded) > self.greatest, np.copysign(np.inf, x), rounded)
        if self.word == "half":
            bits = rounded.astype(np.float16).view(np.uint16)
        else:
            bits = (rounded.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return np.where(np.isnan(x), np.uint16(NAN), bits)


HALF = Kind("half", "__half", 10, -24, 65504.0, "#include <cuda_fp16.h>")
BFLOAT = Kind(
    "bfloat16", "__nv_bfloat16", 7, -133, float.fromhex("0x1.fep127"), "#include <cuda_bf16.h>"
)


def larger(a, b):
    """A NaN loses, and 0 is more than -0."""
    of_numbers = np.where((a > b) | ((a == b) & ~np.signbit(a)), a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, of_numbers))


def smaller(a, b):
    return -larger(-a, -b)


def if_both(a, b, best):
    return np.where(np.isnan(a) | np.isnan(b), np.nan, best)


def saturated(x):
    """From 0 to 1; no number becomes 0."""
    return np.where(np.isnan(x), 0.0, np.clip(x, 0.0, 1.0)) + 0.0


ARITHMETIC = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
OF_TWO = {
    **{f"__h{name}": meaning for name, meaning in ARITHMETIC.items()},
    **{f"__h{name}_rn": meaning for name, meaning in ARITHMETIC.items()},
    **{f"__h{name}_sat": lambda a, b, f=f: saturated(f(a, b)) for name, f in ARITHMETIC.items()},
    "__hdiv": lambda a, b: a / b,
    "__hmax": larger,
    "__hmin": smaller,
    "__hmax_nan": lambda a, b: if_both(a, b, larger(a, b)),
    "__hmin_nan": lambda a, b: if_both(a, b, smaller(a, b)),
}
OF_ONE = {
    "__hneg": lambda a: -a, "__habs": np.abs,
    "hceil": np.ceil, "hfloor": np.floor, "hrint": np.rint, "htrunc": np.trunc,
    "hsqrt": np.sqrt, "hrsqrt": lambda a: 1 / np.sqrt(a), "hrcp": lambda a: 1 / a,
    "hexp": np.exp, "hexp2": np.exp2, "hexp10": lambda a: np.power(10.0, a),
    "hlog": np.log, "hlog2": np.log2, "hlog10": np.log10,
    "hsin": np.sin, "hcos": np.cos, "htanh": np.tanh,
}  # fmt: skip
ORDERED = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: (a < b) | (a > b), "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
}  # fmt: skip
COMPARISONS = {
    **ORDERED,
    **{
        f"{name}u": lambda a, b, f=f: np.isnan(a) | np.isnan(b) | f(a, b)
        for name, f in ORDERED.items()
    },
}
OPERATORS = {"+": "__hadd", "-": "__hsub", "*": "__hmul", "/": "__hdiv"}
RELATIONS = {"==": "eq", "!=": "neu", ">": "gt", "<": "lt", ">=": "ge", "<=": "le"}
CHANGES = {
    "a++": "a",
    "a--": "a",
    "++a": "__hadd(a, one)",
    "--a": "__hsub(a, one)",
    "+a": "a",
    "-a": "__hneg(a)",
}


def pair_name(name: str) -> str:
    """__hadd2_sat of __hadd_sat, h2exp of hexp, and the one exception."""
    if name == "__hdiv":
        return "__h2div"
    if not name.startswith("__"):
        return f"h2{name[1:]}"
    stem, _, ending = name[2:].partition("_")
    return f"__{stem}2{'_' * bool(ending)}{ending}"


def _calls(kind: str, names: dict[str, str], operators: bool) -> dict[Function, str]:
    """Functions by these names, and operators of two, each with the name of its meaning."""
    taken = (kind,) * (2 if operators else 1)
    calls = {Function(call, kind, taken): name for call, name in names.items()}
    for sign, name in OPERATORS.items() if operators else ():
        calls[Function(f"a {sign} b", kind, taken, f"a {sign} b")] = name
    return calls


def numbers_of(kind: Kind, arity: int) -> dict[Function, str]:
    """Every function of so many numbers and with a number as its result, and the name of its meaning."""
    calls = _calls(kind.number, {name: name for name in (OF_ONE, OF_TWO)[arity - 1]}, arity == 2)
    for sign, name in OPERATORS.items() if arity == 2 else ():
        changed = f"[&] {{ {kind.number} c = a; c {sign}= b; return c; }}()"
        calls[Function(f"a {sign}= b", kind.number, (kind.number,) * 2, changed)] = name
    return calls


def pairs_of(kind: Kind, arity: int) -> dict[Function, str]:
    """The same of pairs."""
    names = {pair_name(name): name for name in (OF_ONE, OF_TWO)[arity - 1]}
    return _calls(kind.pair, names, arity == 2)
