"""CUDA's arithmetic and conversions in stated rounding modes, against exact fractions."""

import math
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from engine.device_functions import WHOLE, Function, check_all, check_arrays, functions
from engine.exact_rounding import FORMATS, MODES, calculate, root, to_integer
from engine.launched import DTYPES

INTEGERS = {"int": "int", "uint": "unsigned", "ll": "long long", "ull": "unsigned long long"}


def floats(kind, count, seed):
    """Random floats of every size, and others that are close, tied, subnormal, or at the ends."""
    dtype = np.dtype(DTYPES[kind])
    rng, limits = np.random.default_rng(seed), np.finfo(dtype)
    bits = rng.integers(0, 1 << 8 * dtype.itemsize, count, np.uint64).astype(f"u{dtype.itemsize}")
    some = bits.view(dtype)
    some[: count // 3] = rng.uniform(-4, 4, count // 3).round(rng.integers(0, 9)).astype(dtype)
    planted = [0.0, 1.0, 1.5, 3.0, limits.max, limits.tiny, limits.smallest_subnormal, limits.eps, 1 + limits.eps,
               1 - limits.epsneg, limits.eps / 2, 2.0**31, 2.0**32, 2.0**63, 2.0**64, np.inf, np.nan]  # fmt: skip
    signed = np.array([sign * x for x in planted for sign in (1, -1)], dtype)
    some[count // 3 : count // 3 + count // 3] = rng.choice(signed, count // 3)
    rng.shuffle(some)
    return some


# ---- arithmetic

KINDS = {"float": "f", "double": "d"}
ARITHMETIC = {"add": 2, "sub": 2, "mul": 2, "div": 2, "rcp": 1, "sqrt": 1, "fma": 3}
"""By name, how many numbers each takes."""


def arithmetic(kind):
    """Each operation in each mode, with what it makes of its arguments; no root of what is less than zero."""
    for (name, count), mode in product(ARITHMETIC.items(), MODES):
        called = (
            {"float": "__fmaf", "double": "__fma"}[kind] if name == "fma" else f"__{kind[0]}{name}"
        )
        arguments = "fabs(a)" if name == "sqrt" else ", ".join("abc"[:count])
        of = partial(calculate, kind, name, mode)
        text = f"{called}_{mode}({arguments})"
        yield Function(f"{called}_{mode}", kind, (kind,) * count, text), of_size(of) if name == "sqrt" else of  # fmt: skip


def of_size(of):
    return lambda x: of(abs(x))


def root_of_inverse(x):
    if x == 0 or not math.isfinite(x):
        return calculate("float", "rcp", "rn", x)
    return FORMATS["float"].round(1 / root(Fraction(x)), "rn")


def test_arithmetic_is_rounded_as_it_says():
    columns, expected = {}, {}  # columns by type and place
    for kind in KINDS:
        a, b, c = (floats(kind, 400, seed) for seed in (1, 2, 8))
        with np.errstate(all="ignore"):
            c[::4] = -(a * b)[::4]  # the rounding error of the product is left
            c[1::4] = (a * b * np.finfo(a.dtype).eps)[1::4]  # about half of the last place
        c[~np.isfinite(c)] = 1
        columns |= {(kind, at): each for at, each in enumerate((a, b, c))}
        expected |= arithmetic(kind)
    call = Function("__frsqrt_rn", "float", ("float",), "__frsqrt_rn(fabsf(a))")
    expected[call] = of_size(root_of_inverse)
    check_all(expected, lambda kind, at: columns[kind, at])


# ---- conversions


def expected_integer(x, mode, kind, source):
    """As cvt does it: no number is zero, or 1 in the highest place where source or result have 64 bits."""
    limits = np.iinfo(DTYPES[kind])
    if not math.isnan(x):
        return to_integer(x, mode, limits)
    has_64_bits = limits.bits == 64 or source == "double"
    return (limits.min or 1 << (limits.bits - 1)) if has_64_bits else 0


def real_column(kind):
    special = [np.nan, np.inf, -np.inf, 2**31 - 0.5, 2**31 - 1, -(2**31) - 0.5, -0.5, 0.5, 1.5, 2.5]
    dtype = np.dtype(DTYPES[kind]).type
    ends = [dtype(sign * 2.0**bits) for bits in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)]
    special += [np.nextafter(end, dtype(to)) for end in ends for to in (np.inf, -np.inf)] + ends
    between = floats("float", 210, 13).astype(np.float64) * (1 + 2.0**-25)
    some = [floats(kind, 300, 10), between.astype(DTYPES[kind]), np.array(special, DTYPES[kind])]
    return np.concatenate(some)


def integer_column(kind):
    rng, bits = np.random.default_rng(11), np.iinfo(DTYPES[kind]).bits
    x = rng.integers(0, 1 << 63, 560, np.uint64) * 2 >> rng.integers(64 - bits, 64, 560, np.uint64)
    ties = [(1 << 24) + 1, (1 << 24) + 3, (1 << 31) - 1, 0]
    more = [(1 << 53) + 1, (1 << 53) + 3, (1 << 63) - 1, (1 << 62) + (1 << 38) + 1]
    ties += more if bits == 64 else [1, 2, 3, 4]
    return np.concatenate([x.astype(DTYPES[kind]), np.array(ties, DTYPES[kind])])


def cast(x, *, kind, source):
    """As plain C++ has it: made in 32 bits, of which a shorter type takes the lowest, or in 64."""
    limits = np.iinfo(DTYPES[kind])
    made_in = kind if limits.bits >= 32 else "int" if limits.min else "unsigned"
    n = expected_integer(x, "rz", made_in, source) & ((1 << limits.bits) - 1)
    return n - (1 << limits.bits) if n > limits.max else n


def casts(expected):
    """Each plain cast, and the same where nothing but the type of its result asks for it."""
    for kind, source, written in product(WHOLE, KINDS, ("({})a", "a")):
        text = written.format(kind)
        call = Function(f"{kind} of {source} {text}", kind, (source,), text)
        expected[call] = partial(cast, kind=kind, source=source)


PLACES = ["", "machine", "ptx"]
"""The source here or on a GPU, and what is compiled of it."""


@pytest.mark.parametrize("on", PLACES)
def test_conversions_are_rounded_as_they_say(on):
    expected = {}
    casts(expected)
    for (word, kind), mode in product(INTEGERS.items(), MODES):
        for source in KINDS:
            of = partial(expected_integer, mode=mode, kind=kind, source=source)
            expected[Function(f"__{source}2{word}_{mode}", kind, (source,))] = of
        for result in KINDS if word in ("ll", "ull") or mode == "rn" else ["float"]:
            of = lambda n, mode=mode, kind=result: FORMATS[kind].round(Fraction(n), mode)  # noqa: E731
            expected[Function(f"__{word}2{result}_{mode}", result, (kind,))] = of
    columns = {kind: real_column(kind) for kind in KINDS}
    columns |= {kind: integer_column(kind) for kind in INTEGERS.values()}
    check_all(expected, lambda kind, at: columns[kind], on)
    narrow = {
        Function(f"__double2float_{mode}", "float", ("double",)):
            lambda x, mode=mode: FORMATS["float"].round(Fraction(x), mode, math.copysign(1, x) < 0)
        for mode in MODES
    }  # fmt: skip
    x = columns["double"]
    check_all(narrow, lambda kind, at: x[np.isfinite(x)], on)


def test_the_same_bits_read_anew():
    rng = np.random.default_rng(14)
    word = rng.integers(0, 1 << 32, 300, np.uint64).astype(np.uint32)
    word[:4] = 0x7F800001, 0x7FC00000, 0x80000000, 0xFFFFFFFF
    wide = rng.integers(0, 1 << 63, 300, np.uint64) * 2 + 1
    high, low = (wide >> 32).astype(np.uint32), wide.astype(np.uint32)
    columns = {
        ("float", 0): word.view(np.float32), ("unsigned", 0): word, ("int", 0): high.view(np.int32), ("int", 1): low.view(np.int32),
        ("double", 0): wide.view(np.float64), ("long long", 0): wide.view(np.int64),
    }  # fmt: skip
    same = {
        "int(float)": ("__float_as_int", word), "unsigned(float)": ("__float_as_uint", word),
        "float(int)": ("__int_as_float", high), "float(unsigned)": ("__uint_as_float", word),
        "int(double)": ("__double2hiint", high), "int (double)": ("__double2loint", low),
        "long long(double)": ("__double_as_longlong", wide), "double(long long)": ("__longlong_as_double", wide),
        "double(int, int)": ("__hiloint2double", wide),
    }  # fmt: skip
    calls = {}
    for signature, (name, bits) in same.items():
        calls[functions(signature.replace(" (", "("), name)[0]] = bits
    check_arrays(calls, lambda kind, at: columns[kind, at])
