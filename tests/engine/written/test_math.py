"""The mathematical functions of the CUDA guide's tables, within the errors that the tables promise."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from engine.device_functions import (
    Function,
    call,
    call_each,
    check_arrays,
    check_values,
    functions,
    part_calls,
    parts,
)
from engine.launched import DTYPES, launch
from mpmath import mp, mpf

mp.prec = 160

SUFFIX = {"float": "f", "double": ""}
"""What the names of C's functions of each type end in."""
each_kind = pytest.mark.parametrize("kind", SUFFIX)


@dataclass(frozen=True)
class Promise:
    """A function of float and double: its exact meaning, arguments that it takes, and the most ulps
    between its results and the exact ones, rounded."""

    name: str
    meaning: Callable
    low: float
    high: float
    ulps: int
    ulps_of_double: int


def inverse_erfc(z):
    """mpmath's inverse of erf has no digits left where z is small."""
    if z > mpf("0.1"):
        return mp.erfinv(1 - z)
    y = mp.sqrt(-mp.log(z))
    return mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(z), y)


def scaled_erfc(x):
    if x < 1000:
        return mp.exp(x * x) * mp.erfc(x)
    return (1 - 1 / (2 * x**2) + 3 / (4 * x**4) - 15 / (8 * x**6)) / (x * mp.sqrt(mp.pi))


def cube_root(x):
    return mp.sign(x) * mp.cbrt(abs(x))


BIG = 1.7e308
TINY = 5e-324
PROMISES = [
    Promise("sqrt", mp.sqrt, TINY, BIG, 0, 0),
    Promise("rsqrt", lambda x: 1 / mp.sqrt(x), TINY, BIG, 2, 1),
    Promise("cbrt", cube_root, -BIG, BIG, 1, 1),
    Promise("rcbrt", lambda x: 1 / cube_root(x), -BIG, BIG, 1, 1),
    Promise("exp", mp.exp, -750, 709, 2, 1),
    Promise("exp2", lambda x: mp.power(2, x), -1080, 1023, 2, 1),
    Promise("exp10", lambda x: mp.power(10, x), -325, 308, 2, 1),
    Promise("expm1", mp.expm1, -50, 709, 1, 1),
    Promise("log", mp.log, TINY, BIG, 1, 1),
    Promise("log2", lambda x: mp.log(x, 2), TINY, BIG, 1, 1),
    Promise("log10", mp.log10, TINY, BIG, 2, 1),
    Promise("log1p", mp.log1p, -1 + 1e-16, BIG, 1, 1),
    Promise("sin", mp.sin, -BIG, BIG, 2, 2),
    Promise("cos", mp.cos, -BIG, BIG, 2, 2),
    Promise("tan", mp.tan, -BIG, BIG, 4, 2),
    Promise("sinpi", mp.sinpi, -1e9, 1e9, 1, 2),
    Promise("cospi", mp.cospi, -1e9, 1e9, 1, 2),
    Promise("asin", mp.asin, -1, 1, 2, 2),
    Promise("acos", mp.acos, -1, 1, 2, 2),
    Promise("atan", mp.atan, -BIG, BIG, 2, 2),
    Promise("sinh", mp.sinh, -710, 710, 3, 2),
    Promise("cosh", mp.cosh, -710, 710, 2, 1),
    Promise("tanh", mp.tanh, -25, 25, 2, 1),
    Promise("asinh", mp.asinh, -BIG, BIG, 3, 3),
    Promise("acosh", mp.acosh, 1, BIG, 4, 3),
    Promise("atanh", mp.atanh, -1 + 1e-16, 1 - 1e-16, 3, 2),
    Promise("erf", mp.erf, -6, 6, 2, 2),
    Promise("erfc", mp.erfc, -6, 27.3, 4, 5),
    Promise("erfinv", mp.erfinv, -1 + 1e-15, 1 - 1e-15, 2, 5),
    Promise("erfcinv", inverse_erfc, TINY, 2 - 1e-15, 4, 6),
    Promise("erfcx", scaled_erfc, -26.6, 1e300, 4, 4),
    Promise("normcdf", mp.ncdf, -38.4, 9, 5, 5),
    Promise("normcdfinv", lambda p: -mp.sqrt(2) * inverse_erfc(2 * p), TINY, 1 - 1e-15, 5, 8),
    Promise("lgamma", lambda x: mp.log(abs(mp.gamma(x))) if x < 1e5 else mp.loggamma(x), -2.2, 1e300, 6, 4),
    Promise("tgamma", mp.gamma, -150, 171, 5, 10),
    Promise("j0", lambda x: mp.besselj(0, x), -8, 8, 9, 7),
    Promise("j1", lambda x: mp.besselj(1, x), -8, 8, 9, 7),
    Promise("y0", lambda x: mp.bessely(0, x), 1e-300, 8, 9, 7),
    Promise("y1", lambda x: mp.bessely(1, x), 1e-300, 8, 9, 7),
    Promise("cyl_bessel_i0", lambda x: mp.besseli(0, x), -713, 713, 6, 6),
    Promise("cyl_bessel_i1", lambda x: mp.besseli(1, x), -713, 713, 6, 6),
]  # fmt: skip
"""Bounds of the CUDA C++ programming guide, 13.0; lgamma's only outside of its negative zeros."""

ZEROS = [2.404825557695773, 5.520078110286311, 3.8317059702075125, 7.015586669815619, 0.8935769662791675,
         3.957678419314858, 7.086051060301773, 2.197141326031017, 5.429681040794135]  # fmt: skip
"""Doubles next to the zeros of J0, J1, Y0 and Y1."""


def ordinals(x):
    """Floats as integers: neighbours differ by 1."""
    bits = x.view(f"i{x.dtype.itemsize}").astype(object)
    lowest = 1 << (8 * x.dtype.itemsize - 1)
    return np.array([int(b) if b >= 0 else -(int(b) + lowest) for b in bits], object)


def arguments(promise, kind, count=24, seed=0):
    """Arguments of every size, close to 0, 1, the ends, and half integers; none where the result is infinite."""
    dtype = np.dtype(DTYPES[kind])
    limits, rng = np.finfo(dtype), np.random.default_rng(seed)
    low, high = max(promise.low, -float(limits.max)), min(promise.high, float(limits.max))
    sizes = np.exp2(
        rng.uniform(np.log2(float(limits.smallest_subnormal)), np.log2(max(-low, high)), 2 * count)
    )
    near = np.exp2(-rng.uniform(1, limits.nmant, count))
    planted = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0, 100.0, float(limits.tiny), float(limits.eps)]
    some = np.concatenate([
        rng.uniform(max(low, -40), min(high, 40), count), sizes * rng.choice([-1, 1], 2 * count), near, 1 - near,
        1 + near, low + near * abs(low), high - near * abs(high), planted, np.negative(planted), ZEROS,
    ])  # fmt: skip
    x = np.unique(some.astype(dtype))
    x = x[(x >= low) & (x <= high) & (x != 0)]
    return x[~((x < 0) & (x == np.rint(x)))] if "gamma" in promise.name else x


def rounded(values, dtype):
    """Exact numbers as floats, infinite where they are too large."""
    with np.errstate(over="ignore"):
        return np.array([float(value) for value in values]).astype(dtype)


def assert_within(found, exact, ulps, *columns):
    """Exact numbers, and what was found, are at most so many floats apart."""
    exact = rounded(exact, found.dtype)
    apart = np.abs(ordinals(found + 0.0) - ordinals(exact + 0.0))
    worst = int(np.argmax(apart))
    assert apart[worst] <= ulps, ([float(c[worst]) for c in columns], found[worst], exact[worst])


ALL_OF_ONE = {
    kind: functions(f"{kind}({kind})", " ".join(f"{promise.name}{f}" for promise in PROMISES))
    for kind, f in SUFFIX.items()
}
"""One kernel for all of them, however many are tested."""


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.name)
def test_functions_of_one_argument(promise):
    for kind, ulps in (("float", promise.ulps), ("double", promise.ulps_of_double)):
        x = arguments(promise, kind)
        assert len(x) > 60
        found = call_each(ALL_OF_ONE[kind], x)[f"{promise.name}{SUFFIX[kind]}({kind})"]
        assert_within(found, (promise.meaning(mpf(float(each))) for each in x), ulps, x)


# ---- two arguments and more

OF_SEVERAL = {
    2: [
        ("pow", mp.power, 4, 2),
        ("hypot", mp.hypot, 3, 2),
        ("rhypot", lambda x, y: 1 / mp.hypot(x, y), 2, 1),
        ("atan2", mp.atan2, 3, 2),
        ("fmod", lambda x, y: x - y * mp.floor(abs(x / y)) * mp.sign(x / y), 0, 0),
        ("remainder", lambda x, y: x - y * mp.nint(x / y), 0, 0),
        ("fdim", lambda x, y: max(x - y, 0), 0, 0),
        ("copysign", lambda x, y: abs(x) * mp.sign(y), 0, 0),
    ],
    3: [
        ("norm3d", lambda *x: mp.norm(x), 3, 2),
        ("rnorm3d", lambda *x: 1 / mp.norm(x), 2, 1),
        ("fma", lambda x, y, z: x * y + z, 0, 0),
    ],
    4: [("norm4d", lambda *x: mp.norm(x), 3, 2), ("rnorm4d", lambda *x: 1 / mp.norm(x), 2, 1)],
}
"""By the number of arguments: a name, what it means, and the most ulps in float and in double."""
SPREAD = {"float": (-120, 120), "double": (-1000, 1000)}
"""Exponents of arguments: their squares overflow and underflow."""


def many_arguments(kind, count, name):
    """Columns of numbers that are alike in size, and of numbers that are not."""
    rng, dtype = np.random.default_rng(count), DTYPES[kind]
    if name == "pow":
        x = np.exp2(rng.uniform(-6, 6, 150))
        y = rng.uniform(-20, 20, 150)
        x[::3], y[1::3] = 1 + rng.uniform(-1e-3, 1e-3, 50), rng.integers(-9, 9, 50)
        x[1::3] *= rng.choice([-1, 1], 50)
        return [x.astype(dtype), y.astype(dtype)]
    if name in ("fmod", "remainder"):
        sizes = np.exp2(rng.uniform(-9, [[90], [9]], (2, 150)))
        return list((sizes * rng.choice([-1, 1], (2, 150))).astype(dtype))
    size = np.exp2(rng.uniform(*SPREAD[kind], 150) / (3 if name == "fma" else 1))
    scale = np.exp2(rng.uniform(-30, 0, (count, 150)) * rng.choice([0, 1], 150))
    return list((size * scale * rng.uniform(-2, 2, (count, 150))).astype(dtype))


@each_kind
@pytest.mark.parametrize(
    ("count", "name", "meaning", "of_float", "of_double"),
    [(count, *row) for count, rows in OF_SEVERAL.items() for row in rows],
)
def test_functions_of_several_arguments(kind, count, name, meaning, of_float, of_double):
    f = SUFFIX[kind]
    columns = many_arguments(kind, count, name)
    names = " ".join(f"{row[0]}{f}" for row in OF_SEVERAL[count])
    found = call(f"{kind}({', '.join([kind] * count)})", names, *columns)[f"{name}{f}"]
    with mp.workprec(2200):  # the quotient of the largest by the smallest, exactly
        rows = zip(*(column.tolist() for column in columns), strict=True)
        exact = [meaning(*map(mpf, row)) for row in rows]
        assert_within(found, exact, {"float": of_float, "double": of_double}[kind], *columns)


@each_kind
def test_bessel_functions_of_any_order(kind):
    """The guide bounds their absolute errors; yn's below its order, where it is large, by ulps."""
    f, bound = SUFFIX[kind], {"float": 2.2e-6, "double": 5e-12}[kind]
    eps = float(np.finfo(DTYPES[kind]).eps)
    orders, places = np.meshgrid([0, 1, 2, 5, 20, 128], [0.5, 7.0, 15.0, 40.5, 150.0, 900.0])
    n, x = orders.ravel().astype(np.int32), places.ravel().astype(DTYPES[kind])
    jn, yn = call(f"{kind}(int, {kind})", f"jn{f} yn{f}", n, x).values()
    for order, at, j, y in zip(*(each.tolist() for each in (n, x, jn, yn)), strict=True):
        assert abs(j - float(mp.besselj(order, mpf(at)))) <= bound, (order, at)
        exact = rounded([mp.bessely(order, mpf(at))], x.dtype)[0]
        # nothing is promised of doubles
        relative = {"float": (2 + 2.5 * order) * eps, "double": 1e-11}[kind]
        assert y == exact or abs(y - exact) <= max(bound, abs(exact) * relative), (order, at)


@each_kind
def test_lengths_of_vectors_in_memory(kind):
    f = SUFFIX[kind]
    rows = np.random.default_rng(1).uniform(-3, 3, (50, 5)).astype(DTYPES[kind])
    source = f"""extern "C" __global__ void lengths(const {kind}* p, {kind}* y, {kind}* r, int n) {{
        int i = threadIdx.x;
        y[i] = norm{f}(n, p + i * n);
        r[i] = rnorm{f}(n, p + i * n);
    }}"""
    y, r = np.zeros((2, 50), rows.dtype)
    launch(source, 1, 50, [rows, y, r, 5])
    exact = np.linalg.norm(rows.astype(np.float64), axis=1)
    assert y == pytest.approx(exact, rel=4 * float(np.finfo(rows.dtype).eps))
    assert r == pytest.approx(1 / exact, rel=4 * float(np.finfo(rows.dtype).eps))


# ---- exact ones


@each_kind
def test_functions_that_are_exact(kind):
    f, rng = SUFFIX[kind], np.random.default_rng(2)
    some = np.concatenate([rng.uniform(-9, 9, 200), np.exp2(rng.uniform(-140, 120, 200)),
                           [0.5, 1.5, 2.5, -0.5, -2.5, 0.0, 7.0, 1e-45, 3e38, 2.0**23 + 1, 2.0**52 + 1]])  # fmt: skip
    x = some.astype(DTYPES[kind])
    fraction, exponent = np.frexp(x)
    expected = {
        f"trunc{f}": np.trunc(x), f"round{f}": np.trunc(x) + np.sign(x) * (np.abs(x - np.trunc(x)) >= 0.5),
        f"rint{f}": np.rint(x), f"nearbyint{f}": np.rint(x), f"ceil{f}": np.ceil(x), f"floor{f}": np.floor(x),
        f"fabs{f}": np.abs(x), f"logb{f}": np.where(x == 0, -np.inf, exponent - 1),
    }  # fmt: skip
    calls = dict(
        zip(functions(f"{kind}({kind})", " ".join(expected)), expected.values(), strict=True)
    )
    for name, other, both in (("modf", kind, np.modf(x)), ("frexp", "int", (fraction, exponent))):
        found = part_calls([kind], f"z = {name}{f}(a, &w)", z=kind, w=other)
        calls |= zip(found, both, strict=True)
    n = rng.integers(-1200, 1200, x.size).astype(np.int32) // (1 if kind == "double" else 7)
    scaled = functions(f"{kind}({kind}, int)", f"ldexp{f} scalbn{f}")
    with np.errstate(over="ignore", under="ignore"):
        calls |= dict.fromkeys((*scaled, *functions(f"{kind}({kind}, long)", f"scalbln{f}")), np.ldexp(x, n))  # fmt: skip
    columns = {kind: x, "int": n, "long": n.astype(np.int64)}
    check_arrays(calls, lambda kind, at: columns[kind])


@each_kind
def test_sine_and_cosine_together_are_the_same_as_apart(kind):
    f = SUFFIX[kind]
    x = np.random.default_rng(3).uniform(-99, 99, 300).astype(DTYPES[kind])
    both = [
        one
        for pi in ("", "pi")
        for one in part_calls([kind], f"sincos{pi}{f}(a, &s, &c)", s=kind, c=kind)
    ]
    apart = functions(f"{kind}({kind})", f"sin{f} cos{f} sinpi{f} cospi{f}")
    found = [*call_each([*both, *apart], x).values()]
    np.testing.assert_allclose(found[:4], found[4:], rtol=2 * float(np.finfo(x.dtype).eps))


@each_kind
def test_quotients_beside_remainders(kind):
    rng = np.random.default_rng(5)
    x, y = (rng.uniform(low, high, 300).astype(DTYPES[kind]) for low, high in ((-99, 99), (0.5, 9)))
    rest, quotient = parts(kind, f"z = remquo{SUFFIX[kind]}(a, b, &q)", x, y, z=kind, q="int")
    pairs = [(mpf(a), mpf(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    whole = np.array([round(a / b) for a, b in pairs])
    exact = [float(a - b * int(q)) for (a, b), q in zip(pairs, whole, strict=True)]
    assert rest == pytest.approx(exact, abs=0)
    assert (np.abs(quotient) % 8 == np.abs(whole) % 8).all()
    assert ((quotient < 0) == (whole < 0))[quotient != 0].all()


@each_kind
def test_integers_out_of_floats_end_where_their_type_does(kind):
    f, inf, nan = SUFFIX[kind], np.inf, np.nan
    some = [0.5, 1.5, 2.5, -0.5, -1.5, 1e6 + 0.5, 2.0**40, 1e30, -1e30, inf, -inf, nan]
    least, most = -(1 << 63), (1 << 63) - 1
    even = [0, 2, 2, 0, -2, 1000000, 1 << 40, most, least, most, least, least]
    away = [1, 2, 3, -1, -2, 1000001, 1 << 40, most, least, most, least, least]
    calls = functions(f"long({kind})", f"lrint{f} lround{f}")
    calls += functions(f"long long({kind})", f"llrint{f} llround{f}")
    calls += functions(f"int({kind})", f"ilogb{f}")
    found = [*call_each(calls, np.array([*some, 1, 0.75, 2.0**100, 0], DTYPES[kind])).values()]
    assert [each[: len(some)].tolist() for each in found[:-1]] == [even, away] * 2
    infinite, none = (1 << 31) - 1, -(1 << 31)
    assert found[-1][-7:].tolist() == [infinite, infinite, none, 0, -1, 100, none]


# ---- special values, and which function a name stands for

NAN, INF = math.nan, math.inf
VALUES = {
    "fmaxf(NAN, 2.0f)": 2.0, "fmaxf(2.0f, NAN)": 2.0, "fmaxf(NAN, NAN)": NAN, "fminf(1.0f, NAN)": 1.0,
    "fmax((double)NAN, 1.0)": 1.0, "fminf(-INFINITY, 3.0f)": -INF, "max(1.0f, 2.0)": 2.0, "min(1.0f, -2.0)": -2.0, "max(-1, 1u)": 2.0**32 - 1,
    "rsqrtf(0.0f)": INF, "rsqrtf(-0.0f)": -INF, "rsqrtf(INFINITY)": 0.0, "rsqrtf(-1.0f)": NAN, "rsqrt(0.0)": INF,
    "rsqrt((double)INFINITY)": 0.0, "rcbrtf(0.0f)": INF, "rcbrt(-8.0)": -0.5, "cbrtf(-27.0f)": -3.0,
    "sinpif(1.0f)": 0.0, "sinpif(-1.0f)": -0.0, "sinpi(0.5)": 1.0, "sinpi(-1.5)": 1.0, "cospif(0.5f)": 0.0,
    "cospi(1.5)": 0.0, "cospi(1e300)": 1.0, "cospif(INFINITY)": NAN, "sinpi((double)INFINITY)": NAN,
    "erfinvf(1.0f)": INF, "erfinvf(-1.0f)": -INF, "erfinv(1.5)": NAN, "erfinvf(-0.0f)": -0.0, "erfcinvf(0.0f)": INF,
    "erfcinv(2.0)": -INF, "erfcinv(1.0)": 0.0, "erfcinv(-0.1)": NAN, "normcdfinvf(0.5f)": 0.0,
    "normcdfinvf(0.0f)": -INF, "normcdfinv(1.0)": INF, "normcdff(0.0f)": 0.5, "normcdf(-INFINITY)": 0.0,
    "normcdff(INFINITY)": 1.0, "erfcxf(INFINITY)": 0.0, "erfcx(-INFINITY)": INF, "erfcx(NAN)": NAN, "erfcx(-40.0)": INF,
    "j1(0.0)": 0.0, "y0f(0.0f)": -INF, "y1(0.0)": -INF, "y0(-1.0)": NAN, "j0((double)INFINITY)": 0.0,
    "cyl_bessel_i0f(0.0f)": 1.0, "cyl_bessel_i1(0.0)": 0.0, "cyl_bessel_i0(-INFINITY)": INF, "cyl_bessel_i1f(-INFINITY)": -INF,
    "tgamma(5.0)": 24.0, "lgamma(1.0)": 0.0, "tgamma(-INFINITY)": NAN, "lgammaf(-INFINITY)": INF,
    "rhypotf(INFINITY, NAN)": 0.0, "hypotf(NAN, -INFINITY)": INF, "norm3df(NAN, INFINITY, 1.0f)": INF,
    "rnorm4d(0.0, 0.0, 0.0, 0.0)": INF, "norm4d(1e200, 1e200, 1e200, 1e200)": 2e200, "rnorm3df(0x1p-100f, 0, 0)": 2.0**100,
    "exp10f(2.0f)": 100.0, "exp10(-INFINITY)": 0.0, "exp10((double)NAN)": NAN, "expm1f(-INFINITY)": -1.0,
    "fdividef(1.0f, 4.0f)": 0.25, "fdivide(1.0, 4.0)": 0.25,
    "__saturatef(NAN)": 0.0, "__saturatef(1.5f)": 1.0, "__saturatef(-1.0f)": 0.0, "__saturatef(0.25f)": 0.25,
    "__fdividef(1.0f, 4.0f)": 0.25, "__fdividef(3.0f, 2e38f)": 0.0, "__fdividef(1e-40f, 1e-45f)": 71362.0, "__fdividef(INFINITY, 2e38f)": NAN,
    "__expf(-INFINITY)": 0.0, "__expf(0.0f)": 1.0, "__exp10f(-INFINITY)": 0.0, "__logf(0.0f)": -INF, "__powf(2.0f, 3.0f)": 8.0,
    "isnan(NAN)": 1.0, "isinf(-INFINITY)": 1.0, "isfinite(INFINITY)": 0.0, "isfinite(1.0)": 1.0, "signbit(-0.0f)": 1.0,
    "nextafterf(1.0f, 2.0f) == 1.0f + 0x1p-23f": 1.0, "nanf(\"\")": NAN, "nan(\"\")": NAN,
    "1e-45f * 1.0f > 0.0f": 1.0, "__fmul_rn(1e-30f, 1e-10f) > 0.0f": 1.0,
    "lrint(1e30f) > 1000000000": 1.0, "lround(-2.5f)": -3.0, "ilogb(0.0f) < -1000000": 1.0, "abs(-2)": 2.0, "abs(-2.5f)": 2.5, "abs(-2LL)": 2.0, "labs(-3L)": 3.0, "llabs(-3LL)": 3.0,
}  # fmt: skip


def test_special_values():
    include = (
        "#include <math_constants.h>\n#define NAN CUDART_NAN_F\n#define INFINITY CUDART_INF_F\n"
    )
    check_values(VALUES, "double", include)


@each_kind
def test_minus_zero_is_less_than_zero(kind):
    f, nan = SUFFIX[kind], np.nan
    x = np.array([0.0, -0.0, 0.0, -0.0, -3.0, nan], DTYPES[kind])
    y = np.array([-0.0, 0.0, 0.0, -0.0, -3.0, -0.0], DTYPES[kind])
    found = [*call(f"{kind}({kind}, {kind})", f"fmax{f} fmin{f} max min", x, y).values()]
    for high, low in (found[:2], found[2:]):
        assert high.tolist() == low.tolist() == [0, 0, 0, 0, -3, 0]
        assert np.signbit(high).tolist() == [False, False, False, True, True, True]
        assert np.signbit(low).tolist() == [True, True, False, True, True, True]


EXACT = "fabs ceil floor trunc round rint nearbyint logb".split()


def test_a_name_without_an_ending_takes_either_type():
    """exp(float) is a float, and the same as expf."""
    x = np.random.default_rng(6).uniform(0.1, 0.9, 100).astype(np.float32)
    names = [*(promise.name for promise in PROMISES), *EXACT]
    calls = [Function(name, "float", ("float",), f"expect_float({name}(a))") for name in names]
    calls += functions("float(float)", " ".join(f"{name}f" for name in names))
    include = "__device__ float expect_float(float x) { return x; }\n__device__ float expect_float(double) = delete;\n"
    results = list(call_each(calls, x, include=include).values())
    for name, found, same in zip(names, results, results[len(names) :], strict=False):
        np.testing.assert_array_equal(found, same, err_msg=name)


# ---- fast approximations


def ulp(y):
    """Of exact results, in single precision; and half of one more, as these errors are against rounded results."""
    return np.spacing(np.abs(y).astype(np.float32)).astype(np.float64) * 1.5


def logarithm(near_one, ulps):
    """The error that a logarithm may have: absolute near 1, and else relative."""
    return lambda x, y: np.where((x >= 0.5) & (x <= 2), near_one, ulps * ulp(y))


FAST = {
    "__expf": (np.exp, -80, 80, lambda x, y: (2 + np.floor(np.abs(1.173 * x))) * ulp(y)),
    "__exp10f": (lambda x: 10.0**x, -36, 36, lambda x, y: (2 + np.floor(np.abs(2.97 * x))) * ulp(y)),
    "__logf": (np.log, 1e-38, 1e38, logarithm(2**-21.41, 3)),
    "__log2f": (np.log2, 1e-38, 1e38, logarithm(2**-22, 2)),
    "__log10f": (np.log10, 1e-38, 1e38, logarithm(2**-24, 3)),
    "__sinf": (np.sin, -math.pi, math.pi, lambda x, y: 2**-21.3),
    "__cosf": (np.cos, -math.pi, math.pi, lambda x, y: 2**-21.3),
    "__tanf": (np.tan, -1.5, 1.5, lambda x, y: 2**-20 * (1 + y * y)),
    "__tanhf": (np.tanh, -9, 9, lambda x, y: 2**-10.9 * np.abs(y)),
}  # fmt: skip
"""What each means, between which arguments, and the largest error of its results y of x. The guide says
2^-21.41 of the sine and the cosine; an H200 has been seen at 2^-21.36."""


@pytest.mark.parametrize("name", FAST)
def test_fast_functions_are_as_close_as_a_gpus(name):
    meaning, low, high, bound = FAST[name]
    rng = np.random.default_rng(7)
    uniform = rng.uniform(max(low, -80), min(high, 80), 2000)
    sizes = np.exp(rng.uniform(np.log(low), np.log(high), 2000)) if low > 0 else uniform
    near = rng.uniform(0.5, 2, 500) if low > 0 else [0.0]
    x = np.concatenate([uniform, sizes, near]).astype(np.float32)
    found = call("float(float)", " ".join(FAST), x)[name]
    exact = meaning(x.astype(np.float64))
    error = np.abs(found - exact) - bound(x.astype(np.float64), exact)
    worst = int(np.argmax(error))
    assert error[worst] <= 0, (x[worst], found[worst], exact[worst])


def test_fast_sine_and_cosine_together():
    x = np.linspace(-3.1, 3.1, 500, dtype=np.float32)
    both = parts("float", "__sincosf(a, &s, &c)", x, s="float", c="float")
    wide = x.astype(np.float64)
    assert np.abs(both - np.stack([np.sin(wide), np.cos(wide)])).max() <= 2**-21.3


def test_fast_quotients_and_powers():
    rng = np.random.default_rng(8)
    x, y = np.exp2(rng.uniform(-60, 60, (2, 1000))).astype(np.float32)
    (found,) = call("float(float, float)", "__fdividef", x, y).values()
    exact = x.astype(np.float64) / y
    assert (np.abs(found - exact) <= 2.5 * ulp(exact)).all()
    base, power = (rng.uniform(*ends, 1000).astype(np.float32) for ends in ((0.5, 4), (-9, 9)))
    (found,) = call("float(float, float)", "__powf", base, power).values()
    exact = np.power(base.astype(np.float64), power)
    assert (np.abs(found / exact - 1) <= 2.0**-21 + np.abs(power) * 2.0**-21).all()
