"""Each form of a PTX instruction gives what the PTX ISA says, run as PTX and as the machine code that the assembler makes of it."""

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from engine.device_functions import DTYPES, Function, call_all, check_all
from engine.exact_rounding import FORMATS, calculate, to_integer

WHOLES = ("u16", "s16", "u32", "s32", "u64", "s64")
TYPES = {
    "u16": ("unsigned short", "h"), "s16": ("short", "h"), "b16": ("unsigned short", "h"),
    "u32": ("unsigned", "r"), "s32": ("int", "r"), "b32": ("unsigned", "r"),
    "u64": ("unsigned long long", "l"), "s64": ("long long", "l"), "b64": ("unsigned long long", "l"),
    "f32": ("float", "f"), "f64": ("double", "d"),
}  # fmt: skip
"""By their names in PTX: C++ types, and the letters by which inline PTX takes them."""
MODES = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}
"""Of rounding, by their names in PTX: those of CUDA."""


def form(name: str, made: str, *read: str, tail: str = "", given: str = "abc") -> Function:
    """An instruction without its operands, the types of what it makes and reads, and what it is given as these."""
    kind, letter = TYPES[made]
    operands = ", ".join(f"%{n}" for n in range(1, len(read) + 1))
    does = f"{name} %0, {operands}{tail};"
    if name.startswith("setp"):
        does = f"{{ .reg .pred p; {name} p, {operands}; selp.u32 %0, 1, 0, p; }}"
    inputs = ", ".join(
        f'"{TYPES[of][1]}"(({TYPES[of][0]})({one}))' for of, one in zip(read, given, strict=False)
    )
    text = f'[&] {{ {kind} z; asm volatile("{does}" : "={letter}"(z) : {inputs}); return z; }}()'
    return Function(name + tail, kind, tuple(TYPES[of][0] for of in read), text)


def bits_of(type_: str) -> int:
    """How wide a type is."""
    return int(type_[1:])


def fit(number: int, type_: str) -> int:
    """The low bits of a number, as the type has them."""
    width = bits_of(type_)
    number &= (1 << width) - 1
    return number - (1 << width) if type_[0] == "s" and number >> width - 1 else number


Forms = Iterator[tuple[Function, Callable]]
"""Each with what it makes of its operands."""


def whole(name: str, made: str, read: tuple[str, ...], f: Callable[..., int], **how: object):
    """A form of whole numbers."""
    return form(name, made, *read, **how), lambda *numbers: fit(f(*numbers), made)


# ---- whole numbers


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OF_TWO = {"add": operator.add, "sub": operator.sub, "mul.lo": operator.mul, "min": min, "max": max}
OF_THREE = {"mad.lo": lambda a, b, c: a * b + c, "sad": lambda a, b, c: abs(a - b) + c}
OF_BITS = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
DIVISIONS = {
    "div": lambda a, b: quotient(a, b or 1),
    "rem": lambda a, b: a - quotient(a, b or 1) * (b or 1),
}


def wholes() -> Forms:
    for t in WHOLES:
        w = bits_of(t)
        yield from (whole(f"{name}.{t}", t, (t, t), f) for name, f in OF_TWO.items())
        yield from (whole(f"{name}.{t}", t, (t, t), f, given=("a", "b ? b : 1")) for name, f in DIVISIONS.items())  # fmt: skip
        yield from (whole(f"{name}.{t}", t, (t, t, t), f) for name, f in OF_THREE.items())
        yield whole(f"mul.hi.{t}", t, (t, t), lambda a, b, w=w: a * b >> w)
        yield whole(f"shr.{t}", t, (t, "u32"), lambda a, by, w=w: a >> min(by, w))
    for t, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        yield whole(f"mul.wide.{t}", wide, (t, t), operator.mul)
    for t in ("s16", "s32", "s64"):
        yield whole(f"neg.{t}", t, (t,), operator.neg)
        yield whole(f"abs.{t}", t, (t,), abs)
    for t in ("b16", "b32", "b64"):
        w = bits_of(t)
        yield from (whole(f"{name}.{t}", t, (t, t), f) for name, f in OF_BITS.items())
        yield whole(f"not.{t}", t, (t,), operator.invert)
        yield whole(f"shl.{t}", t, (t, "u32"), lambda a, by, w=w: a << min(by, w))
    for t in ("b32", "b64"):
        w = bits_of(t)
        yield whole(f"popc.{t}", "u32", (t,), int.bit_count)
        yield whole(f"clz.{t}", "u32", (t,), lambda a, w=w: w - a.bit_length())
        yield whole(f"brev.{t}", t, (t,), lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2))
    for t in ("u32", "s32", "u64", "s64"):
        yield whole(f"bfind.{t}", "u32", (t,), highest)
        yield whole(f"bfind.shiftamt.{t}", "u32", (t,), partial(distance, width=bits_of(t)))
    for side, mode in itertools.product("lr", ("clamp", "wrap")):
        words = ("b32", "b32", "u32")
        yield whole(f"shf.{side}.{mode}.b32", "b32", words, partial(funnel, side=side, mode=mode))
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield whole(f"prmt.b32{mode}", "b32", ("b32",) * 3, partial(permuted, mode=mode[1:]))
    for table in (0x80, 0x96, 0xCA, 0x1B, 0xFE):
        yield whole("lop3.b32", "b32", ("b32",) * 3, partial(logic, table=table), tail=f", {table}")


def funnel(a: int, b: int, c: int, side: str, mode: str) -> int:
    by = c & 31 if mode == "wrap" else min(c, 32)
    both = b << 32 | a
    return both >> by if side == "r" else both << by >> 32


def highest(a: int) -> int:
    return (~a if a < 0 else a).bit_length() - 1


def distance(a: int, width: int) -> int:
    found = highest(a)
    return found if found < 0 else width - 1 - found


def permuted(a: int, b: int, c: int, mode: str) -> int:
    held = [(b << 32 | a) >> 8 * n & 255 for n in range(8)]
    n = c & 3
    rows = {
        "f4e": [n, n + 1, n + 2, n + 3],
        "b4e": [n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8],
        "rc8": [n] * 4,
        "ecl": [max(byte, n) for byte in range(4)],
        "ecr": [min(byte, n) for byte in range(4)],
        "rc16": [0, 1, 0, 1] if n % 2 == 0 else [2, 3, 2, 3],
    }
    made = 0
    for byte in range(4):
        which = rows[mode][byte] if mode else c >> 4 * byte & 15
        found = held[which & 7]
        if not mode and which & 8:
            found = 255 if found & 128 else 0
        made |= found << 8 * byte
    return made


def logic(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n for n in range(32))  # fmt: skip


def fields() -> Forms:
    for t in ("u32", "s32", "u64", "s64"):
        yield whole(f"bfe.{t}", t, (t, "u32", "u32"), partial(extracted, type_=t))


def extracted(a: int, at: int, length: int, type_: str) -> int:
    """As the ISA writes it in pseudo-code."""
    most, made = bits_of(type_) - 1, 0
    sign = 0 if type_[0] == "u" or length == 0 else a >> min(at + length - 1, most) & 1
    for n in range(most + 1):
        made |= (a >> at + n & 1 if n < length and at + n <= most else sign) << n
    return made


# ---- floats, comparisons, conversions

KINDS = {"f32": "float", "f64": "double"}
COUNTS = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "div": 2, "rcp": 1}
"""How many floats each operation takes."""
COMPARED = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def floats() -> Forms:
    for t, kind in KINDS.items():
        for name, how in itertools.product(COUNTS, MODES):
            of = partial(calculate, kind, name, MODES[how])
            yield form(f"{name}.{how}.{t}", t, *[t] * COUNTS[name]), of
        yield form(f"abs.{t}", t, t), abs
        yield form(f"neg.{t}", t, t), operator.neg
        yield form(f"copysign.{t}", t, t, t), lambda a, b: math.copysign(b, a)
        yield form(f"min.{t}", t, t, t), lambda a, b: extremes(a, b)[0]
        yield form(f"max.{t}", t, t, t), lambda a, b: extremes(a, b)[1]


def extremes(a: float, b: float) -> list[float]:
    """The smaller and the larger; -0 is less than 0."""
    return sorted((a, b), key=lambda one: (one, math.copysign(1, one)))


def comparisons() -> Forms:
    for t, f in itertools.product((*WHOLES, *KINDS), COMPARED):
        yield form(f"setp.{f.__name__}.{t}", "u32", t, t), f


def conversions() -> Forms:
    yield form("cvt.f64.f32", "f64", "f32"), float
    for made, read in itertools.permutations(WHOLES, 2):
        yield whole(f"cvt.{made}.{read}", made, (read,), int)
    for how, mode in MODES.items():
        for (made, kind), read in itertools.product(KINDS.items(), WHOLES):
            yield form(f"cvt.{how}.{made}.{read}", made, read), partial(rounded, kind=kind, mode=mode)  # fmt: skip
        for made, read in itertools.product(WHOLES[2:], KINDS):
            limits = np.iinfo(DTYPES[TYPES[made][0]])
            yield form(f"cvt.{how}i.{made}.{read}", made, read), partial(to_integer, mode=mode, limits=limits)  # fmt: skip
        yield form(f"cvt.{how}.f32.f64", "f32", "f64"), partial(rounded, kind="float", mode=mode)


def rounded(x: float, kind: str, mode: str) -> float:
    return FORMATS[kind].round(Fraction(x), mode, math.copysign(1, x) < 0) if math.isfinite(x) else x  # fmt: skip


# ---- what they are tested on

ENDS = np.array([0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF, 0xFEDCBA9876543210], np.uint64)  # fmt: skip
FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 0.1, -0.3, 1e-40, -1e-45, 1e-30, 3e38, -3e38, 16777216.0, 16777217.0, 1.25e9, -4e9, math.inf, -math.inf, 123.456, 2**-126])  # fmt: skip
LANES = np.arange(3 * len(ENDS))


def column(kind: str, at: int) -> np.ndarray:
    """Numbers of each kind, in other company each time."""
    values = FLOATS if kind in KINDS.values() else ENDS
    places = (LANES, 7 * LANES + LANES // len(values), 11 * LANES + 5)[at]
    return values[places % len(values)].astype(DTYPES[kind])


def places(kind: str, at: int) -> np.ndarray:
    """The same, but where a field begins and how long it is, which are 8 bits each."""
    return column(kind, 0) if at == 0 else (LANES * 5 % 256, LANES * 11 % 80)[at - 1].astype("u4")


FORMS = {
    "whole numbers": (wholes, column), "fields": (fields, places), "floats": (floats, column),
    "comparisons": (comparisons, column), "conversions": (conversions, column),
}  # fmt: skip
each_way = pytest.mark.parametrize("on", ["ptx", "machine"])


@each_way
@pytest.mark.parametrize("name", FORMS)
def test_they_give_what_is_documented(name, on):
    forms, given = FORMS[name]
    check_all(dict(forms()), given, on)


APPROXIMATE = {
    "ex2": (np.exp2, 2), "sqrt": (np.sqrt, 3), "rcp": (np.reciprocal, 1),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2),
}  # fmt: skip
"""Functions of the special unit, and how many floats the ISA lets them be off."""


@each_way
def test_approximations_are_as_close_as_documented(on):
    calls = {form(f"{name}.approx.f32", "f32", "f32"): row for name, row in APPROXIMATE.items()}
    x = column("float", 0)
    for of, found in call_all([*calls], column, on=on).items():
        meaning, most = calls[of]
        with np.errstate(all="ignore"):
            exact = meaning(x.astype(np.float64)).astype(np.float32)
        apart = found.view(np.int32).astype(np.int64) - exact.view(np.int32)
        assert ((np.abs(apart) <= most) | (np.isnan(found) & np.isnan(exact))).all(), of
