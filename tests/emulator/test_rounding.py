"""CUDA's arithmetic and conversions in stated rounding modes, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from device_functions import DTYPES, Function, call_each, functions
from exact_rounding import FORMATS, MODES, root

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


ARITHMETIC = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "sqrt": root,
}


def zero_is_negative(name, mode, a, b=0.0, c=None):
    """The sign of a result that is zero: of products and quotients the factors', of sums the mode's."""
    negative = [math.copysign(1, x) < 0 for x in (a, b)]
    if name in ("mul", "div", "sqrt", "rcp"):
        return negative[0] if name == "sqrt" else negative[0] != negative[1]
    first, second = negative[0], negative[1] != (name == "sub")
    if name == "fma":
        first, second = negative[0] != negative[1], math.copysign(1, c) < 0
    return first if first == second and (name != "fma" or c == 0 == a * b) else mode == "rd"


def expect(kind, name, mode, *values):
    exact = [exactly(x) for x in values]
    result = exact[0] * exact[1] + exact[2] if name == "fma" else ARITHMETIC[name](*exact)
    return FORMATS[kind].round(result, mode, zero_is_negative(name, mode, *values))


def same(found, expected):
    """Equal, and of the same sign where zero."""
    return found == expected and math.copysign(1, found) == math.copysign(1, expected)


def check_arithmetic(kind, names, columns):
    letter, taken = kind[0], ", ".join([kind] * len(columns))
    fma = {"float": "__fmaf", "double": "__fma"}[kind]
    calls = functions(
        f"{kind}({taken})",
        " ".join(
            f"{fma if name == 'fma' else f'__{letter}{name}'}_{mode}"
            for name in names
            for mode in MODES
        ),
    )
    results = call_each(calls, *columns)
    arguments = list(zip(*(column.tolist() for column in columns), strict=True))
    for call, (name, mode) in zip(calls, ((n, m) for n in names for m in MODES), strict=True):
        found = results[str(call)].tolist()
        expected = [expect(kind, name, mode, *each) for each in arguments]
        wrong = [
            (a, y, e) for a, y, e in zip(arguments, found, expected, strict=True) if not same(y, e)
        ]
        assert not wrong, f"{call}: {wrong[:3]}"


@pytest.mark.parametrize("kind", ["float", "double"])
def test_sums_and_products_are_rounded_as_they_say(kind):
    check_arithmetic(kind, ["add", "sub", "mul"], [floats(kind, 300, seed) for seed in (1, 2)])


@pytest.mark.parametrize("kind", ["float", "double"])
def test_quotients_are_rounded_as_they_say(kind):
    a, b = floats(kind, 300, 3), floats(kind, 300, 4)
    b[b == 0] = 3
    check_arithmetic(kind, ["div"], [a, b])
    check_arithmetic(kind, ["rcp"], [b])


@pytest.mark.parametrize("kind", ["float", "double"])
def test_roots_are_rounded_as_they_say(kind):
    check_arithmetic(kind, ["sqrt"], [np.abs(floats(kind, 200, 5))])


@pytest.mark.parametrize("kind", ["float", "double"])
def test_fused_products_are_rounded_once(kind):
    a, b, c = (floats(kind, 400, seed) for seed in (6, 7, 8))
    with np.errstate(all="ignore"):
        c[::4] = -(a * b)[::4]  # the rounding error of the product is left
        c[1::4] = (a * b * np.finfo(a.dtype).eps)[1::4]  # about half of the last place
    c[~np.isfinite(c)] = 1
    check_arithmetic(kind, ["fma"], [a, b, c])


@pytest.mark.parametrize("kind", ["float", "double"])
def test_infinities_and_what_is_no_number_pass_through_every_mode(kind):
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -1.0], DTYPES[kind])
    a, b = (x.ravel() for x in np.meshgrid(special, special))
    calls = functions(
        f"{kind}({kind}, {kind})",
        " ".join(f"__{kind[0]}add_{m} __{kind[0]}mul_{m} __{kind[0]}div_{m}" for m in MODES),
    )
    results = call_each(calls, a, b)
    with np.errstate(all="ignore"):
        expected = {"add": a + b, "mul": a * b, "div": a / b}
    for call in calls:
        np.testing.assert_array_equal(
            results[str(call)], expected[call.name[3:6]], err_msg=str(call)
        )


def test_a_reciprocal_root_is_rounded_once():
    x = np.abs(floats("float", 2000, 9))
    x[x == 0] = 2
    found = call_each(functions("float(float)", "__frsqrt_rn"), x)["__frsqrt_rn(float)"]
    expected = [FORMATS["float"].round(1 / root(exactly(each)), "rn") for each in x]
    assert found.tolist() == expected


# ---- conversions

INTEGRAL = {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}


def to_integer(x, mode, kind, source):
    """As cvt does it: to the nearest end when out of range; no number is zero, or 1 in the highest
    place where source or result have 64 bits."""
    limits = np.iinfo(DTYPES[kind])
    if math.isnan(x):
        if limits.bits < 64 and source != "double":
            return 0
        return limits.min if limits.min else 1 << (limits.bits - 1)
    if math.isinf(x):
        return limits.max if x > 0 else limits.min
    return max(limits.min, min(limits.max, INTEGRAL[mode](x)))


@pytest.mark.parametrize("source", ["float", "double"])
def test_floats_become_integers_as_they_say(source):
    special = np.array(
        [np.nan, np.inf, -np.inf, 2**31 - 0.5, 2**31 - 1, -(2**31) - 0.5, -0.5, 0.5, 1.5, 2.5],
        DTYPES[source],
    )
    x = np.concatenate([floats(source, 400, 10), special])
    calls = {
        Function(f"__{source}2{word}_{mode}", kind, (source,)): (kind, mode)
        for word, kind in INTEGERS.items()
        for mode in MODES
    }
    results = call_each(list(calls), x)
    for call, (kind, mode) in calls.items():
        expected = [to_integer(float(each), mode, kind, source) for each in x]
        wrong = [
            (a, y, e)
            for a, y, e in zip(x, results[str(call)].tolist(), expected, strict=True)
            if y != e
        ]
        assert not wrong, f"{call}: {wrong[:3]}"


@pytest.mark.parametrize("word", INTEGERS)
def test_integers_become_floats_as_they_say(word):
    kind = INTEGERS[word]
    rng, bits = np.random.default_rng(11), np.iinfo(DTYPES[kind]).bits
    x = (
        rng.integers(0, 1 << 63, 500, np.uint64) * 2 >> rng.integers(64 - bits, 64, 500, np.uint64)
    ).astype(DTYPES[kind])
    ties = [
        (1 << 24) + 1,
        (1 << 24) + 3,
        (1 << 31) - 1,
        *([(1 << 53) + 1, (1 << 53) + 3, (1 << 63) - 1, (1 << 62) + (1 << 38) + 1] * (bits == 64)),
    ]
    x = np.concatenate([x, np.array([*ties, 0], x.dtype)])
    calls = [Function(f"__{word}2float_{mode}", "float", (kind,)) for mode in MODES]
    if bits == 64:
        calls += [Function(f"__{word}2double_{mode}", "double", (kind,)) for mode in MODES]
    else:
        calls += [Function(f"__{word}2double_rn", "double", (kind,))]
    results = call_each(calls, x)
    for call in calls:
        expected = [FORMATS[call.result].round(Fraction(int(each)), call.name[-2:]) for each in x]
        assert results[str(call)].tolist() == expected, call


def test_doubles_become_floats_as_they_say():
    x = np.concatenate(
        [floats("double", 300, 12), floats("float", 300, 13).astype(np.float64) * (1 + 2.0**-25)]
    )
    calls = [Function(f"__double2float_{mode}", "float", ("double",)) for mode in MODES]
    results = call_each(calls, x)
    for call in calls:
        expected = [
            FORMATS["float"].round(exactly(each), call.name[-2:], math.copysign(1, each) < 0)
            for each in x
        ]
        assert results[str(call)].tolist() == expected, call


def test_the_same_bits_read_anew():
    bits = np.random.default_rng(14).integers(0, 1 << 32, 300, np.uint64).astype(np.uint32)
    bits[:4] = 0x7F800001, 0x7FC00000, 0x80000000, 0xFFFFFFFF
    x, n = bits.view(np.float32), bits.view(np.int32)
    of_float = call_each(
        [
            *functions("int(float)", "__float_as_int"),
            *functions("unsigned(float)", "__float_as_uint"),
        ],
        x,
    )
    assert (of_float["__float_as_int(float)"] == n).all()
    assert (of_float["__float_as_uint(float)"] == bits).all()
    back = [call_each(functions("float(int)", "__int_as_float"), n),
            call_each(functions("float(unsigned)", "__uint_as_float"), bits)]  # fmt: skip
    for results in back:
        assert (next(iter(results.values())).view(np.uint32) == bits).all()


def test_the_halves_of_doubles():
    bits = np.random.default_rng(15).integers(0, 1 << 63, 300, np.uint64) * 2 + 1
    x, n = bits.view(np.float64), bits.view(np.int64)
    high, low = (bits >> 32).astype(np.uint32).view(np.int32), bits.astype(np.uint32).view(np.int32)
    calls = [*functions("int(double)", "__double2hiint __double2loint"),
             *functions("long long(double)", "__double_as_longlong")]  # fmt: skip
    found = list(call_each(calls, x).values())
    assert (found[0] == high).all()
    assert (found[1] == low).all()
    assert (found[2] == n).all()
    joined = call_each(functions("double(int, int)", "__hiloint2double"), high, low)
    again = call_each(functions("double(long long)", "__longlong_as_double"), n)
    for results in (joined, again):
        assert (next(iter(results.values())).view(np.uint64) == bits).all()
