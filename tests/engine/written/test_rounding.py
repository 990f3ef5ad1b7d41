"""CUDA's arithmetic and conversions in stated rounding modes, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from engine.device_functions import DTYPES, assert_same, call
from engine.exact_rounding import FORMATS, MODES, calculate, root, to_integer

INTEGERS = {"int": "int", "uint": "unsigned", "ll": "long long", "ull": "unsigned long long"}


def floats(kind, count, seed):
    """Random floats of every size, and others that are close, tied, subnormal, or at the ends."""
    dtype = np.dtype(DTYPES[kind])
    rng, limits = np.random.default_rng(seed), np.finfo(dtype)
    bits = rng.integers(0, 1 << 8 * dtype.itemsize, count, np.uint64).astype(f"u{dtype.itemsize}")
    some = bits.view(dtype)
    some[: count // 3] = rng.uniform(-4, 4, count // 3).round(rng.integers(0, 9)).astype(dtype)
    planted = [0.0, 1.0, 1.5, 3.0, limits.max, limits.tiny, limits.smallest_subnormal, limits.eps, 1 + limits.eps,
               1 - limits.epsneg, limits.eps / 2, 2.0**31, 2.0**32, 2.0**63, 2.0**64]  # fmt: skip
    signed = np.array([sign * x for x in planted for sign in (1, -1)], dtype)
    some[count // 3 : count // 3 + count // 3] = rng.choice(signed, count // 3)
    rng.shuffle(some)
    return np.where(np.isfinite(some), some, dtype.type(0.5))


def exactly(x):
    return Fraction(float(x))


def check_arithmetic(kind, names, columns):
    fma = {"float": "__fmaf", "double": "__fma"}[kind]
    of = {
        f"{fma if name == 'fma' else f'__{kind[0]}{name}'}_{mode}": (name, mode)
        for name in names
        for mode in MODES
    }
    arguments = list(zip(*(column.tolist() for column in columns), strict=True))
    taken = ", ".join([kind] * len(columns))
    for name, found in call(f"{kind}({taken})", " ".join(of), *columns).items():
        assert_same(
            name, arguments, found, [calculate(kind, *of[name], *each) for each in arguments]
        )


each_kind = pytest.mark.parametrize("kind", ["float", "double"])


@each_kind
def test_sums_products_quotients_and_roots_are_rounded_as_they_say(kind):
    a, b = (floats(kind, 300, seed) for seed in (1, 2))
    check_arithmetic(kind, ["add", "sub", "mul"], [a, b])
    check_arithmetic(kind, ["sqrt"], [np.abs(a)])
    b[b == 0] = 3
    check_arithmetic(kind, ["div"], [a, b])
    check_arithmetic(kind, ["rcp"], [b])


@each_kind
def test_fused_products_are_rounded_once(kind):
    a, b, c = (floats(kind, 400, seed) for seed in (6, 7, 8))
    with np.errstate(all="ignore"):
        c[::4] = -(a * b)[::4]  # the rounding error of the product is left
        c[1::4] = (a * b * np.finfo(a.dtype).eps)[1::4]  # about half of the last place
    c[~np.isfinite(c)] = 1
    check_arithmetic(kind, ["fma"], [a, b, c])


@each_kind
def test_infinities_and_what_is_no_number_pass_through_every_mode(kind):
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -1.0], DTYPES[kind])
    a, b = (x.ravel() for x in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        expected = {"add": a + b, "mul": a * b, "div": a / b}
    names = " ".join(f"__{kind[0]}{name}_{mode}" for name in expected for mode in MODES)
    for name, found in call(f"{kind}({kind}, {kind})", names, a, b).items():
        np.testing.assert_array_equal(found, expected[name[3:6]], err_msg=name)


def test_a_reciprocal_root_is_rounded_once():
    x = np.abs(floats("float", 2000, 9))
    x[x == 0] = 2
    (found,) = call("float(float)", "__frsqrt_rn", x).values()
    assert_same("", x, found, [FORMATS["float"].round(1 / root(exactly(each)), "rn") for each in x])


# ---- conversions


def expected_integer(x, mode, kind, source):
    """As cvt does it: no number is zero, or 1 in the highest place where source or result have 64 bits."""
    limits = np.iinfo(DTYPES[kind])
    if not math.isnan(x):
        return to_integer(x, mode, limits)
    has_64_bits = limits.bits == 64 or source == "double"
    return (limits.min or 1 << (limits.bits - 1)) if has_64_bits else 0


@pytest.mark.parametrize("source", ["float", "double"])
def test_floats_become_integers_as_they_say(source):
    special = [np.nan, np.inf, -np.inf, 2**31 - 0.5, 2**31 - 1, -(2**31) - 0.5, -0.5, 0.5, 1.5, 2.5]
    x = np.concatenate([floats(source, 400, 10), np.array(special, DTYPES[source])])
    for word, kind in INTEGERS.items():
        names = {f"__{source}2{word}_{mode}": mode for mode in MODES}
        for name, found in call(f"{kind}({source})", " ".join(names), x).items():
            expected = [expected_integer(float(each), names[name], kind, source) for each in x]
            assert_same(name, x, found, expected)


@pytest.mark.parametrize("word", INTEGERS)
def test_integers_become_floats_as_they_say(word):
    kind = INTEGERS[word]
    rng, bits = np.random.default_rng(11), np.iinfo(DTYPES[kind]).bits
    x = rng.integers(0, 1 << 63, 500, np.uint64) * 2 >> rng.integers(64 - bits, 64, 500, np.uint64)
    ties = [(1 << 24) + 1, (1 << 24) + 3, (1 << 31) - 1, 0]
    if bits == 64:
        ties += [(1 << 53) + 1, (1 << 53) + 3, (1 << 63) - 1, (1 << 62) + (1 << 38) + 1]
    x = np.concatenate([x.astype(DTYPES[kind]), np.array(ties, DTYPES[kind])])
    for result, modes in (("float", MODES), ("double", MODES if bits == 64 else ("rn",))):
        names = " ".join(f"__{word}2{result}_{mode}" for mode in modes)
        for name, found in call(f"{result}({kind})", names, x).items():
            expected = [FORMATS[result].round(Fraction(int(each)), name[-2:]) for each in x]
            assert_same(name, x, found, expected)


def test_doubles_become_floats_as_they_say():
    between = floats("float", 300, 13).astype(np.float64) * (1 + 2.0**-25)
    x = np.concatenate([floats("double", 300, 12), between])
    names = " ".join(f"__double2float_{mode}" for mode in MODES)
    for name, found in call("float(double)", names, x).items():
        expected = [
            FORMATS["float"].round(exactly(each), name[-2:], math.copysign(1, each) < 0)
            for each in x
        ]
        assert_same(name, x, found, expected)


def test_the_same_bits_read_anew():
    bits = np.random.default_rng(14).integers(0, 1 << 32, 300, np.uint64).astype(np.uint32)
    bits[:4] = 0x7F800001, 0x7FC00000, 0x80000000, 0xFFFFFFFF
    x, n = bits.view(np.float32), bits.view(np.int32)
    for signature, name, given in (
        ("int(float)", "__float_as_int", x), ("unsigned(float)", "__float_as_uint", x),
        ("float(int)", "__int_as_float", n), ("float(unsigned)", "__uint_as_float", bits),
    ):  # fmt: skip
        assert (call(signature, name, given)[name].view(np.uint32) == bits).all(), name


def test_the_halves_of_doubles():
    bits = np.random.default_rng(15).integers(0, 1 << 63, 300, np.uint64) * 2 + 1
    x, n = bits.view(np.float64), bits.view(np.int64)
    high, low = (bits >> 32).astype(np.uint32).view(np.int32), bits.astype(np.uint32).view(np.int32)
    found = call("int(double)", "__double2hiint __double2loint", x)
    found |= call("long long(double)", "__double_as_longlong", x)
    for each, expected in zip(found.values(), (high, low, n), strict=True):
        assert (each == expected).all()
    joined = call("double(int, int)", "__hiloint2double", high, low)
    for each in (joined | call("double(long long)", "__longlong_as_double", n)).values():
        assert (each.view(np.uint64) == bits).all()
