"""Half precision and bfloat16, the headers cuda_fp16.h and cuda_bf16.h, against numpy's doubles rounded once."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from engine.device_functions import DTYPES, Function, call_each, functions
from engine.exact_rounding import FORMATS, MODES
from engine.launch_on import FUNCTIONS_ON
from full_tables import each_value
from hypothesis import given
from hypothesis import strategies as st

# ---- the functions of cuda_fp16.h and cuda_bf16.h, each with its meaning in numpy's double precision
#
# Numbers are their bits, as uint16. A meaning takes exact doubles and gives what is then rounded once, or a truth.

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


# ---- numbers that they are tested on

both_kinds = pytest.mark.parametrize("kind", [HALF, BFLOAT], ids=lambda kind: kind.word)
ALL = np.arange(1 << 16, dtype=np.uint16)
"""The bits of every number."""


def edges(kind):
    """Zeros, subnormals, ones, ends, infinities, and what is no number, of both signs."""
    one = kind.nearest(1.0)
    some = [0, 1, 2, 3, (1 << kind.fraction_bits) - 1, 1 << kind.fraction_bits, one - 1, one, one + 1,
            kind.nearest(0.5), kind.nearest(2.0), kind.nearest(3.0), kind.infinity - 1, kind.infinity, NAN]  # fmt: skip
    return [int(bits) | sign for bits in some for sign in (0, 0x8000)]


def columns(kind, count):
    """A strategy: rows of `count` numbers, all bits, or edges more often than by chance."""
    number = st.integers(0, 0xFFFF) | st.sampled_from(edges(kind))
    rows = st.lists(st.tuples(*[number] * count), min_size=100, max_size=400)
    return rows.map(lambda some: list(np.array(some, np.uint16).T))


def random_columns(kind, count, seed):
    """The same, by numpy's generator: 800 rows, of which both halves of pairs are made."""
    rng = np.random.default_rng(seed)
    some = [np.concatenate([rng.integers(0, 1 << 16, 600), rng.choice(edges(kind), 200)]) for _ in range(count)]  # fmt: skip
    return [rng.permutation(each).astype(np.uint16) for each in some]


def run(kind, calls, *of_bits):
    """Results of each call, as bits where they are numbers."""
    given_ = [bits.view(DTYPES[kind.number]) for bits in of_bits]
    results = call_each(list(calls), *given_, include=kind.include)
    found = {call: results[str(call)] for call in calls}
    own = (kind.number, kind.pair)
    return {c: y.view(np.uint16) if c.result in own else y for c, y in found.items()}


def meaning(kind, name, *bits):
    with np.errstate(all="ignore"):
        return kind.nearest((OF_ONE | OF_TWO)[name](*map(kind.values, bits)))


def assert_same(call, found, expected, *bits):
    """Equal bits; so there is one NaN."""
    wrong = np.flatnonzero(found != expected)[:3]
    shown = [[hex(each[i]) for each in (*bits, found, expected)] for i in wrong]
    assert not shown, f"{call}: {shown}"


@both_kinds
def test_every_number_is_a_float(kind):
    to_float = Function(f"__{kind.word}2float", "float", (kind.number,))
    implicit = Function("float", "float", (kind.number,), "a")
    for call, found in run(kind, [to_float, implicit], ALL).items():
        np.testing.assert_array_equal(found, kind.values(ALL), err_msg=str(call))
        assert (np.signbit(found) == (ALL >> 15 == 1))[~np.isnan(found)].all()


def between(kind):
    """Floats on every number, on every middle of two, and close to either."""
    on = kind.values(ALL)
    on = np.unique(on[np.isfinite(on)])
    middles = (on[:-1] + on[1:]) / 2
    beyond = [kind.greatest + (on[-1] - on[-2]) / 2, 2 * kind.greatest, np.inf, np.nan]
    some = np.concatenate([on, middles, beyond, [-x for x in beyond], [-0.0]])
    with np.errstate(over="ignore"):
        exact = some.astype(np.float32)
        ends = np.float32([np.inf, -np.inf])
        return np.concatenate([exact, *(np.nextafter(exact, end) for end in ends)])


@both_kinds
def test_floats_and_doubles_become_the_nearest_number(kind):
    floats = between(kind)
    wide = floats.astype(np.float64)
    doubles = np.concatenate([wide, wide * (1 + 2.0**-40), wide * (1 - 2.0**-40)])
    quiet = kind.infinity | 1 << kind.fraction_bits - 1
    for of, x in (("float", floats), ("double", doubles)):
        names = f"__{of}2{kind.word}" + f" __{of}2{kind.word}_rn" * (of == "float")
        calls = functions(f"{kind.number}({of})", names)
        calls.append(Function("construct", kind.number, (of,), f"{kind.number}(a)"))
        expected = kind.nearest(x)
        if of == "double":  # that are no numbers keep their sign
            no_number = np.where(np.signbit(x), 0x8000 | quiet, quiet).astype(np.uint16)
            expected = np.where(np.isnan(x), no_number, expected)
        for call, found in call_each(calls, x, include=kind.include).items():
            assert_same(call, found.view(np.uint16), expected)


def assert_rounded(kind, of, integer, x):
    """In each mode, as exact arithmetic says; gives back the results of the first."""
    calls = functions(f"{kind.number}({integer})", " ".join(f"__{of}2{kind.word}_{m}" for m in MODES))  # fmt: skip
    results = call_each(calls, x, include=kind.include)
    found = [each.view(np.uint16) for each in results.values()]
    for mode, bits in zip(MODES, found, strict=True):
        exact = [FORMATS[kind.word].round(Fraction(each), mode, np.signbit(each)) for each in x.tolist()]  # fmt: skip
        assert_same(mode, bits, kind.nearest(np.array(exact)))
    return found[0]


@both_kinds
def test_floats_become_numbers_in_each_mode(kind):
    x = between(kind)
    some, edge = x[np.isfinite(x)][:: len(x) // 3000], [-0.0, 0.0, 1e-45, -1e-45, 3e38, -3e38]
    assert_rounded(kind, "float", "float", np.concatenate([some, edge]).astype(np.float32))


WORDS = {"short": "short", "ushort": "unsigned short", "int": "int", "uint": "unsigned", "ll": "long long",
         "ull": "unsigned long long"}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "word"),
    each_value(product([HALF, BFLOAT], WORDS)),
    ids=lambda one: getattr(one, "word", one),
)
def test_integers_become_numbers_in_each_mode(kind, word):
    integer = WORDS[word]
    limits, rng = np.iinfo(DTYPES[integer]), np.random.default_rng(1)
    places = rng.integers(64 - limits.bits, 64, 1000, np.uint64)
    sizes = rng.integers(0, 1 << 63, 1000, np.uint64) * 2 >> places
    edge = [0, 1, 255, 256, 257, 2049, 2051, limits.max, limits.max - 1, *([65519, 65520, 65504] * (limits.bits > 16)),
            *([(1 << 62) + (1 << 54), (1 << 62) + (1 << 54) + 1] * (limits.bits == 64))]  # fmt: skip
    x = np.concatenate([sizes.astype(DTYPES[integer]), np.array(edge, DTYPES[integer])])
    x = np.concatenate([x, -x]) if limits.min else x
    nearest = assert_rounded(kind, word, integer, x)
    made = Function("construct", kind.number, (integer,), f"{kind.number}(a)")
    (found,) = call_each([made], x, include=kind.include).values()
    assert (found.view(np.uint16) == nearest).all()


@both_kinds
def test_every_number_becomes_an_integer_in_each_mode(kind):
    rounding = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}
    number = (kind.number,)
    calls = {
        **{Function(f"__{kind.word}2{w}_{m}", integer, number): m for w, integer in WORDS.items() for m in MODES},
        **{Function(f"__{kind.word}2{w}_rz", integer, number): "rz" for w, integer in (("char", "signed char"), ("uchar", "unsigned char"))},
        **{Function(f"as {integer}", integer, number, f"({integer})a"): "rz" for integer in WORDS.values()},
    }  # fmt: skip
    x = kind.values(ALL)
    is_number = ~np.isnan(x)
    for call, found in run(kind, calls, ALL).items():
        limits, mode = np.iinfo(found.dtype), calls[call]
        no_number = 0 if limits.bits < 64 else limits.min or 1 << 63
        assert (found[~is_number] == no_number).all(), call
        expected = [int(max(limits.min, min(limits.max, one))) for one in rounding[mode](x[is_number]).tolist()]  # fmt: skip
        np.testing.assert_array_equal(found[is_number], np.array(expected, found.dtype), str(call))


@both_kinds
def test_functions_of_one_number(kind):
    calls = numbers_of(kind, 1)
    for call, found in run(kind, calls, ALL).items():
        assert_same(call, found, meaning(kind, calls[call], ALL), ALL)


@both_kinds
def test_the_tangent_that_is_approximate(kind):
    call = Function("htanh_approx", kind.number, (kind.number,))
    found, exact = kind.values(run(kind, [call], ALL)[call]), np.tanh(kind.values(ALL))
    is_number = ~np.isnan(exact)
    bounds = [2.0**-7 * np.abs(exact) + 2.0**-133, 2.0**-10 * np.abs(exact) + 2.0**-24]
    for bound in bounds[: 1 if kind is BFLOAT else 2]:
        assert (np.abs(found - exact) <= bound)[is_number].all()
    assert np.isnan(found[~is_number]).all()


@both_kinds
def test_functions_of_two_numbers(kind):
    calls = numbers_of(kind, 2)

    @given(columns(kind, 2))
    def check(of_two):
        for call, found in run(kind, calls, *of_two).items():
            assert_same(call, found, meaning(kind, calls[call], *of_two), *of_two)

    check()


def fused(kind, a, b, c):
    """a * b + c rounded once, one by one: no float of numpy's is wide enough for every bfloat16."""
    x, y, z = (kind.values(each) for each in (a, b, c))
    with np.errstate(all="ignore"):
        result = x * y + z
    for i in np.flatnonzero(np.isfinite(result)):
        exact = Fraction(x[i]) * Fraction(y[i]) + Fraction(z[i])
        if exact:
            result[i] = FORMATS[kind.word].round(exact, "rn")
    return result


@both_kinds
def test_fused_products(kind):
    taken = (kind.number,) * 3
    calls = [Function(name, kind.number, taken) for name in ("__hfma", "__hfma_sat", "__hfma_relu")]

    @given(columns(kind, 3))
    def check(of_three):
        a, b, c = of_three
        with np.errstate(invalid="ignore"):  # what rounding it loses is left
            c[::3] = kind.nearest(-kind.values(a) * kind.values(b))[::3]
            exact = fused(kind, a, b, c)
            saturated = np.where(np.isnan(exact), 0, np.clip(exact, 0, 1)) + 0.0
            expected = [exact, saturated, np.where(exact < 0, 0, exact) + 0.0]
        for (call, found), wanted in zip(run(kind, calls, a, b, c).items(), expected, strict=True):
            assert_same(call, found, kind.nearest(wanted), a, b, c)

    check()


@both_kinds
def test_comparisons(kind):
    two, pairs = (kind.number,) * 2, (kind.pair,) * 2
    of_two = {Function(f"__h{name}", "bool", two): name for name in COMPARISONS}
    of_pairs = {
        **{Function(f"__h{name}2", kind.pair, pairs): name for name in COMPARISONS},
        **{Function(f"__h{name}2_mask", "unsigned", pairs): name for name in COMPARISONS},
        **{Function(f"__hb{name}2", "bool", pairs): name for name in COMPARISONS},
    }
    for calls, taken in ((of_two, two), (of_pairs, pairs)):
        for sign, name in RELATIONS.items():
            calls[Function(f"a {sign} b", "bool", taken, f"a {sign} b")] = name

    @given(columns(kind, 2))
    def check(some):
        a, b = (each[: len(each) // 2 * 2] for each in some)
        b[::5] = a[::5]
        true = {name: f(kind.values(a), kind.values(b)) for name, f in COMPARISONS.items()}
        for call, found in run(kind, of_two, a, b).items():
            assert (found == true[of_two[call]]).all(), call
        for call, found in run(kind, of_pairs, a.reshape(-1, 2), b.reshape(-1, 2)).items():
            low, high = true[of_pairs[call]].reshape(-1, 2).T
            if call.result == "bool":
                assert (found == (low & high)).all(), call
            elif call.result == "unsigned":
                assert (found == low * 0xFFFF + high * np.uint32(0xFFFF0000)).all(), call
            else:
                assert (kind.values(found) == np.stack([low, high], 1)).all(), call

    check()


@both_kinds
def test_functions_of_pairs_do_the_same_to_both(kind):
    for arity in (1, 2):
        calls, some = pairs_of(kind, arity), random_columns(kind, arity, arity)
        for call, found in run(kind, calls, *(each.reshape(-1, 2) for each in some)).items():
            assert_same(call, found.ravel(), meaning(kind, calls[call], *some), *some)


@both_kinds
def test_fused_products_of_pairs_do_the_same_to_both(kind):
    numbers = random_columns(kind, 3, 3)
    endings = ("", "_sat", "_relu")
    of_one = [Function(f"__hfma{ending}", kind.number, (kind.number,) * 3) for ending in endings]
    of_two = [Function(f"__hfma2{ending}", kind.pair, (kind.pair,) * 3) for ending in endings]
    results = run(kind, of_one, *numbers)
    of_pairs = run(kind, of_two, *(each.reshape(-1, 2) for each in numbers))
    for one, two in zip(of_one, of_two, strict=True):
        assert (of_pairs[two].ravel() == results[one]).all(), two


@both_kinds
def test_pairs_as_complex_numbers(kind):
    rng = np.random.default_rng(4)
    a, b, c = (kind.nearest(rng.integers(-8, 9, (300, 2))) for _ in range(3))
    call = Function("__hcmadd", kind.pair, (kind.pair,) * 3)
    found = kind.values(run(kind, [call], a, b, c)[call])
    x, y, z = (kind.values(each)[:, 0] + 1j * kind.values(each)[:, 1] for each in (a, b, c))
    assert (found[:, 0] + 1j * found[:, 1] == x * y + z).all()


@both_kinds
def test_what_is_no_number_and_what_is_infinite(kind):
    number, x = (kind.number,), kind.values(ALL)
    calls = [
        Function("__hisnan", "bool", number),
        Function("__hisinf", "int", number),
        Function("bool", "bool", number, "(bool)a"),
    ]
    is_nan, is_infinite, is_true = run(kind, calls, ALL).values()
    assert (is_nan == np.isnan(x)).all()
    assert (is_infinite == np.isposinf(x) * 1 - np.isneginf(x)).all()
    assert (is_true == (ALL & 0x7FFF != 0)).all()
    (found,) = run(kind, [Function("__hisnan2", kind.pair, (kind.pair,))], ALL.reshape(-1, 2)).values()  # fmt: skip
    assert (kind.values(found).ravel() == np.isnan(x)).all()


@both_kinds
def test_signs_and_steps(kind):
    def changed(change, gives):
        expression = f"[&] {{ {kind.number} c = a; {kind.number} d = {change.replace('a', 'c')}; return {gives}; }}()"
        return Function(f"{change}, {gives}", kind.number, (kind.number,), expression)

    def by_name(name):
        expression = f"[&] {{ {kind.number} one = __float2{kind.word}(1.0f); return {name}; }}()"
        return Function(f"as {name}", kind.number, (kind.number,), expression)

    same_as = {changed(change, "d"): by_name(name) for change, name in CHANGES.items()}
    results = run(kind, [*same_as, *dict.fromkeys(same_as.values())], ALL)
    for call, name in same_as.items():
        assert (results[call] == results[name]).all(), call
    after = {changed("a++", "c"): "__hadd", changed("a--", "c"): "__hsub"}
    ones = np.full_like(ALL, kind.nearest(1.0))
    for call, found in run(kind, after, ALL).items():
        assert_same(call, found, meaning(kind, after[call], ALL, ones), ALL)


@both_kinds
def test_pairs_are_put_together_and_taken_apart(kind):
    word, number, pair = kind.word, kind.number, kind.pair
    rng, calls = np.random.default_rng(5), {}
    a, b = (rng.integers(0, kind.infinity, (300, 2)).astype(np.uint16) for _ in range(2))
    mixed = {
        f"__low2{word}(a)": a[:, 0], f"__high2{word}(a)": a[:, 1],
        f"__low2{word}2(a)": a[:, [0, 0]], f"__high2{word}2(a)": a[:, [1, 1]],
        f"__lows2{word}2(a, b)": np.stack([a[:, 0], b[:, 0]], 1),
        f"__highs2{word}2(a, b)": np.stack([a[:, 1], b[:, 1]], 1),
        "__lowhigh2highlow(a)": a[:, ::-1],
        f"__halves2{word}2(a.x, b.y)": np.stack([a[:, 0], b[:, 1]], 1),
        f"make_{word}2(a.x, b.y)": np.stack([a[:, 0], b[:, 1]], 1),
        f"__{word}2{word}2(a.y)": a[:, [1, 1]],
        f"__floats2{word}2_rn(__low2float(a), __high2float(b))": np.stack([a[:, 0], b[:, 1]], 1),
        f"__float2{word}2_rn(__high2float(b))": b[:, [1, 1]],
        f"__float22{word}2_rn(__{word}22float2(b))": b,
        f"{pair}(a.x, b.x)": np.stack([a[:, 0], b[:, 0]], 1),
        f"{pair}({pair}_raw(a))": a,
        f"__short_as_{word}(__{word}_as_short(a.y))": a[:, 1],
        f"__ushort_as_{word}(__{word}_as_ushort(a.y))": a[:, 1],
        f"{number}({number}_raw(a.y))": a[:, 1],
    }  # fmt: skip
    for text, bits in mixed.items():
        call = Function(text, pair if bits.ndim == 2 else number, (pair, pair), text)
        calls[call] = bits
    for call, found in run(kind, calls, a, b).items():
        assert (found == calls[call]).all(), call


def test_each_becomes_the_other():
    for source, target in ((HALF, BFLOAT), (BFLOAT, HALF)):
        call = Function("convert", target.number, (source.number,), f"{target.number}(a)")
        (found,) = call_each([call], ALL.view(DTYPES[source.number]), include=BFLOAT.include).values()  # fmt: skip
        assert_same(call, found.view(np.uint16), target.nearest(source.values(ALL)), ALL)


@both_kinds
def test_constants(kind):
    """nvcc has them; NVRTC has its own headers of these names, without."""
    if FUNCTIONS_ON == "cuda":
        pytest.skip("NVRTC's headers are without")
    ending = {"half": "FP16", "bfloat16": "BF16"}[kind.word]
    names = {"INF": kind.infinity, "NAN": NAN, "MIN_DENORM": 1, "MAX_NORMAL": kind.infinity - 1,
             "NEG_ZERO": 0x8000, "ZERO": 0, "ONE": int(kind.nearest(1.0))}  # fmt: skip
    calls = [Function(name, kind.number, ("int",), f"CUDART_{name}_{ending}") for name in names]
    found = call_each(calls, np.zeros(1, np.int32), include=kind.include).values()
    assert [int(each.view(np.uint16)[0]) for each in found] == list(names.values())
