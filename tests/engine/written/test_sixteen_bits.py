"""Half precision and bfloat16, the headers cuda_fp16.h and cuda_bf16.h, against numpy's doubles rounded once."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from engine.device_functions import Function, call_each, check_arrays, check_values, functions
from engine.exact_rounding import FORMATS, MODES
from engine.launched import DTYPES, FUNCTIONS_ON
from full_tables import each_value

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


def pair_name(name: str) -> str:
    """__hadd2_sat of __hadd_sat, h2exp of hexp, and the one exception."""
    if name == "__hdiv":
        return "__h2div"
    if not name.startswith("__"):
        return f"h2{name[1:]}"
    stem, _, ending = name[2:].partition("_")
    return f"__{stem}2{'_' * bool(ending)}{ending}"


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


def columns(kind, count, rows=1 << 13):
    """`count` columns of numbers: all bits, or edges more often than by chance."""
    rng = np.random.default_rng(count)
    bits, at_edges = rng.integers(0, 1 << 16, (count, rows)), rng.choice(edges(kind), (count, rows))
    return list(np.where(rng.random((count, rows)) < 0.4, at_edges, bits).astype(np.uint16))


def meaning(kind, name, *bits):
    with np.errstate(all="ignore"):
        return kind.nearest((OF_ONE | OF_TWO)[name](*map(kind.values, bits)))


def check(kind, expected, *of_bits):
    """Each call gives this of these bits."""
    given = [bits.view(DTYPES[kind.number]) for bits in of_bits]
    check_arrays(expected, lambda of, at: given[at], kind.include)


# ---- of one number: all functions in one kernel, on every number

WORDS = {"short": "short", "ushort": "unsigned short", "int": "int", "uint": "unsigned", "ll": "long long",
         "ull": "unsigned long long"}  # fmt: skip
ROUNDING = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}


def to_integers(kind):
    """Names, results and texts of the functions that give an integer, each with its mode."""
    small = {"char": "signed char", "uchar": "unsigned char"}
    yield from ((f"__{kind.word}2{w}_{mode}", integer, "", mode) for w, integer in WORDS.items() for mode in MODES)  # fmt: skip
    yield from ((f"__{kind.word}2{w}_rz", integer, "", "rz") for w, integer in small.items())
    yield from ((f"as {integer}", integer, f"({integer})a", "rz") for integer in WORDS.values())


def whole(x, mode, dtype):
    """Rounded, and to the nearest end where out of range; of no number 0, or the highest place of 64 bits."""
    limits, rounded = np.iinfo(dtype), ROUNDING[mode](np.where(np.isnan(x), 0, x))
    least, most = np.array([limits.min, limits.max], dtype)
    found = np.where(rounded < 0, least, most)
    fits = (rounded >= limits.min) & (rounded < 2.0 ** (limits.bits - (limits.min < 0)))
    found[fits] = rounded[fits].astype(dtype)
    found[np.isnan(x)] = 0 if limits.bits < 64 else limits.min or 1 << 63
    return found


def of_one_number(kind):
    """By function, what it gives of every number."""
    x, one = kind.values(ALL), np.full_like(ALL, kind.nearest(1.0))
    above, below = (meaning(kind, name, ALL, one) for name in ("__hadd", "__hsub"))

    def of(name, result="", text=""):
        return Function(name, result or kind.number, (kind.number,), text)

    def left(change):
        return f"[&] {{ {kind.number} c = a; {change.replace('a', 'c')}; return c; }}()"

    given = {"a++": ALL, "a--": ALL, "++a": above, "--a": below, "+a": ALL, "-a": meaning(kind, "__hneg", ALL)}  # fmt: skip
    return {
        of(f"__{kind.word}2float", "float"): x,
        of("as float", "float", "a"): x,
        **{of(*call): whole(x, mode, DTYPES[call[1]]) for *call, mode in to_integers(kind)},
        **{of(name): meaning(kind, name, ALL) for name in OF_ONE},
        of("__hisnan", "bool"): np.isnan(x),
        of("__hisinf", "int"): np.isposinf(x) * 1 - np.isneginf(x),
        of("bool", "bool", "(bool)a"): ALL & 0x7FFF != 0,
        **{of(change, "", f"[&] {{ {kind.number} a_ = a; return {change.replace('a', 'a_')}; }}()"): y for change, y in given.items()},
        **{of(f"after {change}", "", left(change)): y for change, y in zip(("a++", "a--", "++a", "--a"), (above, below) * 2, strict=True)},
    }  # fmt: skip


@both_kinds
def test_functions_of_one_number(kind):
    check(kind, of_one_number(kind), ALL)


@both_kinds
def test_the_approximate_tangent_is_close(kind):
    near = Function("htanh_approx", kind.number, (kind.number,))
    (found,) = call_each([near], ALL.view(DTYPES[kind.number]), include=kind.include).values()
    found, exact = kind.values(found.view(np.uint16)), np.tanh(kind.values(ALL))
    bounds = [2.0**-7 * np.abs(exact) + 2.0**-133, 2.0**-10 * np.abs(exact) + 2.0**-24]
    for bound in bounds[: 1 if kind is BFLOAT else 2]:
        assert (np.abs(found - exact) <= bound)[~np.isnan(exact)].all()
    assert np.isnan(found[np.isnan(exact)]).all()


# ---- numbers out of others


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
        check_arrays(dict.fromkeys(calls, expected), lambda *_, x=x: x, kind.include)


def assert_rounded(kind, of, integer, x):
    """In each mode, as exact arithmetic says; gives back the results of the first."""
    calls = functions(f"{kind.number}({integer})", " ".join(f"__{of}2{kind.word}_{m}" for m in MODES))  # fmt: skip
    expected = {}
    for call, mode in zip(calls, MODES, strict=True):
        exact = [FORMATS[kind.word].round(Fraction(each), mode, np.signbit(each)) for each in x.tolist()]  # fmt: skip
        expected[call] = kind.nearest(np.array(exact))
    check_arrays(expected, lambda *_: x, kind.include)
    return expected[calls[0]]


@both_kinds
def test_floats_become_numbers_in_each_mode(kind):
    x = between(kind)
    some, edge = x[np.isfinite(x)][:: len(x) // 3000], [-0.0, 0.0, 1e-45, -1e-45, 3e38, -3e38]
    assert_rounded(kind, "float", "float", np.concatenate([some, edge]).astype(np.float32))


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
    check_arrays({made: nearest}, lambda *_: x, kind.include)


# ---- of up to three numbers, and of pairs of them


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


def of_several(kind, of, a, b, c):
    """By function of numbers or of pairs, what it makes of the bits of numbers."""
    exact = fused(kind, a, b, c)
    with np.errstate(invalid="ignore"):
        fusions = {"": exact, "_sat": saturated(exact), "_relu": np.where(exact < 0, 0, exact) + 0.0}  # fmt: skip
    named = pair_name if of == kind.pair else str
    expected = {
        **{Function(named(name), of, (of,)): meaning(kind, name, a) for name in OF_ONE},
        **{Function(named(name), of, (of,) * 2): meaning(kind, name, a, b) for name in OF_TWO},
        **{Function(named(f"__hfma{end}"), of, (of,) * 3): kind.nearest(y) for end, y in fusions.items()},
    }  # fmt: skip
    for sign, name in OPERATORS.items():
        changed = f"[&] {{ {of} c = a; c {sign}= b; return c; }}()"
        for text in (f"a {sign} b", *([changed] if of == kind.number else [])):
            expected[Function(text, of, (of,) * 2, text)] = meaning(kind, name, a, b)
    return expected


def compared(kind, of, a, b):
    """The same of functions and operators that compare; also of `__hisnan2`, as there is one of numbers alone."""
    x, y = kind.values(a), kind.values(b)
    truths, two = {name: f(x, y) for name, f in COMPARISONS.items()}, (of,) * 2
    if of == kind.number:
        both, expected = truths, {Function(f"__h{name}", "bool", two): is_so for name, is_so in truths.items()}  # fmt: skip
    else:
        halves = {name: is_so.reshape(-1, 2) for name, is_so in truths.items()}
        both = {name: each.all(axis=1) for name, each in halves.items()}
        expected = {
            Function("__hisnan2", of, (of,)): kind.nearest(np.isnan(x)),
            **{Function(f"__h{name}2", of, two): kind.nearest(is_so) for name, is_so in truths.items()},
            **{Function(f"__h{name}2_mask", "unsigned", two): each @ np.uint32([0xFFFF, 0xFFFF0000]) for name, each in halves.items()},
            **{Function(f"__hb{name}2", "bool", two): is_so for name, is_so in both.items()},
        }  # fmt: skip
    return expected | {Function(f"a {sign} b", "bool", two, f"a {sign} b"): both[name] for sign, name in RELATIONS.items()}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "are_pairs"), each_value(product([HALF, BFLOAT], [False, True])), ids=str
)
def test_functions_of_several_numbers_and_of_pairs(kind, are_pairs):
    a, b, c = columns(kind, 3)
    b[::5] = a[::5]
    with np.errstate(invalid="ignore"):  # what rounding it loses is left
        c[::3] = kind.nearest(-kind.values(a) * kind.values(b))[::3]
    of = kind.pair if are_pairs else kind.number
    given = [bits.reshape(-1, 2) if are_pairs else bits for bits in (a, b, c)]
    check(kind, of_several(kind, of, a, b, c) | compared(kind, of, a, b), *given)


@both_kinds
def test_pairs_as_complex_numbers(kind):
    rng = np.random.default_rng(4)
    a, b, c = (kind.nearest(rng.integers(-8, 9, (300, 2))) for _ in range(3))
    call = Function("__hcmadd", kind.pair, (kind.pair,) * 3)
    x, y, z = (kind.values(each)[:, 0] + 1j * kind.values(each)[:, 1] for each in (a, b, c))
    exact = x * y + z
    check(kind, {call: kind.nearest(np.stack([exact.real, exact.imag], 1))}, a, b, c)


@both_kinds
def test_pairs_are_put_together_and_taken_apart(kind):
    word, number, pair = kind.word, kind.number, kind.pair
    rng = np.random.default_rng(5)
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
    kinds = {1: number, 2: pair}
    calls = {Function(text, kinds[y.ndim], (pair, pair), text): y for text, y in mixed.items()}
    check(kind, calls, a, b)


def test_each_becomes_the_other():
    for source, target in ((HALF, BFLOAT), (BFLOAT, HALF)):
        call = Function("convert", target.number, (source.number,), f"{target.number}(a)")
        given = ALL.view(DTYPES[source.number])
        check_arrays(
            {call: target.nearest(source.values(ALL))}, lambda *_, x=given: x, BFLOAT.include
        )


@both_kinds
def test_constants(kind):
    """nvcc has them; NVRTC has its own headers of these names, without."""
    if FUNCTIONS_ON == "cuda":
        pytest.skip("NVRTC's headers are without")
    ending = {"half": "FP16", "bfloat16": "BF16"}[kind.word]
    names = {"INF": kind.infinity, "NAN": NAN, "MIN_DENORM": 1, "MAX_NORMAL": kind.infinity - 1,
             "NEG_ZERO": 0x8000, "ZERO": 0, "ONE": int(kind.nearest(1.0))}  # fmt: skip
    values = {f"CUDART_{name}_{ending}": np.uint16(bits) for name, bits in names.items()}
    check_values(values, kind.number, kind.include)
