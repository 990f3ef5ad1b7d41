"""CUDA's functions of bits, and of words as two or four numbers, each against its formula in plain Python."""

import itertools
import math
from functools import cache, partial

import numpy as np
import pytest
from engine.device_functions import (
    WHOLE,
    Function,
    call_each,
    check_all,
    check_arrays,
    functions,
    part_calls,
)
from engine.launched import DTYPES, launch

from softmax_lib import emulator
from softmax_lib.engine.errors import KernelFault


def wrap(x, bits=32):
    """x as an unsigned number of so many bits."""
    return x & ((1 << bits) - 1)


def sign(x, bits=32):
    """The low bits of x as a signed number."""
    x = wrap(x, bits)
    return x - (1 << bits) if x >> (bits - 1) else x


def clamp(x, low, high):
    return max(low, min(high, x))


# ---- bits and products


def byte_perm(x, y, selector):
    data = (y << 32 | x).to_bytes(8, "little")
    return int.from_bytes(bytes(data[selector >> 4 * i & 7] for i in range(4)), "little")


def find_nth_set(mask, base, offset):
    base = wrap(base, 5)
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [place for place in places if mask >> place & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF


def shift_left(low, high, shift, *, most):
    return wrap((high << 32 | low) << (min(shift, 32) if most else shift % 32) >> 32)


def shift_right(low, high, shift, *, most):
    return wrap((high << 32 | low) >> (min(shift, 32) if most else shift % 32))


def digits(x, bits, signed):
    parts = [wrap(x >> place, bits) for place in range(0, 32, bits)]
    return [sign(part, bits) for part in parts] if signed else parts


def dot(a, b, c, *, bits, signed, first=0):
    pairs = zip(digits(a, bits, signed), digits(b, 8, signed)[first:], strict=False)
    return (sign if signed else wrap)(sum(x * y for x, y in pairs) + c)


def of_bits(bits):
    """Formulas of one word: how many bits are set, the zeros in front, the first that is set, and both reversed."""
    return (
        lambda x: x.bit_count(),
        lambda x: bits - wrap(x, bits).bit_length(),
        lambda x: (wrap(x, bits) & -wrap(x, bits)).bit_length(),
        lambda x: int(f"{x:0{bits}b}"[::-1], 2),
        lambda x: int.from_bytes(x.to_bytes(bits // 8, "little"), "big"),
    )


def of_one_word(bits, signed, unsigned, ending):
    count, zeros, first, reverse, swap = of_bits(bits)
    return {
        f"int({unsigned})": {f"__popc{ending}": count},
        f"int({signed})": {f"__clz{ending}": zeros, f"__ffs{ending}": first},
        f"{unsigned}({unsigned})": {f"__brev{ending}": reverse, f"__nv_bswap{bits}": swap},
    }


def of_two_words(u, fit):
    """Signed ones, or unsigned, whose functions begin with a u."""
    return {
        f"__{u}hadd": lambda x, y: (x + y) >> 1,
        f"__{u}rhadd": lambda x, y: (x + y + 1) >> 1,
        f"__{u}mul24": lambda x, y: fit(fit(x, 24) * fit(y, 24)),
        f"__{u}mulhi": lambda x, y: x * y >> 32,
        f"{u}max": max,
        f"{u}min": min,
    }


def of_mixed_words(bits):
    """One is signed, and taken for an unsigned one."""
    return {
        name: lambda x, y, best=best: best(wrap(x, bits), wrap(y, bits))
        for name, best in (("max", max), ("min", min))
    }


WORDS = {
    **of_one_word(32, "int", "unsigned", ""),
    **of_one_word(64, "long long", "unsigned long long", "ll"),
    "unsigned short(unsigned short)": {"__nv_bswap16": lambda x: x >> 8 | wrap(x, 8) << 8},
    "unsigned(unsigned, unsigned, unsigned)": {
        "__byte_perm": byte_perm,
        "__usad": lambda x, y, z: wrap(abs(x - y) + z),
        "__funnelshift_l": partial(shift_left, most=False),
        "__funnelshift_lc": partial(shift_left, most=True),
        "__funnelshift_r": partial(shift_right, most=False),
        "__funnelshift_rc": partial(shift_right, most=True),
        "__dp4a": partial(dot, bits=8, signed=False),
        "__dp2a_lo": partial(dot, bits=16, signed=False),
        "__dp2a_hi": partial(dot, bits=16, signed=False, first=2),
    },
    "int(int, int, int)": {
        "__dp4a": partial(dot, bits=8, signed=True),
        "__dp2a_lo": partial(dot, bits=16, signed=True),
        "__dp2a_hi": partial(dot, bits=16, signed=True, first=2),
    },
    "unsigned(int, int, unsigned)": {"__sad": lambda x, y, z: wrap(abs(x - y) + z)},
    "int(int, int)": of_two_words("", sign),
    "unsigned(unsigned, unsigned)": of_two_words("u", wrap),
    "unsigned(int, unsigned)": of_mixed_words(32),
    "unsigned(unsigned, int)": of_mixed_words(32),
    "long long(long long, long long)": {
        "__mul64hi": lambda x, y: x * y >> 64,
        "llmax": max,
        "llmin": min,
    },
    "unsigned long long(unsigned long long, unsigned long long)": {
        "__umul64hi": lambda x, y: x * y >> 64,
        "ullmax": max,
        "ullmin": min,
    },
    "unsigned long long(long long, unsigned long long)": of_mixed_words(64),
}
"""Of whole words. `__fns` is apart, as it wants a base and an offset in their ranges."""


# ---- words as two or four numbers


def in_lanes(formula, bits, signed):
    """The function of words that does `formula` to each number in them."""

    def whole(*words):
        lanes = zip(*(digits(word, bits, signed) for word in words), strict=True)
        return sum(wrap(int(formula(*lane)), bits) << bits * i for i, lane in enumerate(lanes))

    return whole


def of_lanes(name, signed, formula):
    """{name2: ..., name4: ...}; `formula` also takes the least and the most of its numbers."""
    made = {}
    for count, bits in ((2, 16), (4, 8)):
        least = -(1 << (bits - 1)) if signed else 0
        ends = (least, least + (1 << bits) - 1)
        made[f"{name}{count}"] = in_lanes(
            lambda *lane, ends=ends: formula(*lane, *ends), bits, signed
        )
    return made


def either(name, formula):
    return of_lanes(f"{name}s", True, formula) | of_lanes(f"{name}u", False, formula)


def sum_of(formula, bits):
    return lambda a, b: sum(digits(formula(a, b), bits, False))


COMPARISONS = {
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
}  # fmt: skip


def comparisons():
    made = {}
    for word, true in COMPARISONS.items():
        kinds = partial(of_lanes, signed=True) if word in ("eq", "ne") else either
        made |= kinds(f"__vcmp{word}", formula=lambda x, y, *_, true=true: -int(true(x, y)))
        made |= kinds(f"__vset{word}", formula=lambda x, y, *_, true=true: int(true(x, y)))
    return made


LANES_OF_ONE = {
    **of_lanes("__vabs", True, lambda x, *_: abs(x)),
    **of_lanes("__vabsss", True, lambda x, low, high: clamp(abs(x), low, high)),
    **of_lanes("__vneg", True, lambda x, *_: -x),
    **of_lanes("__vnegss", True, lambda x, low, high: clamp(-x, low, high)),
}
LANES_OF_TWO = {
    **of_lanes("__vadd", True, lambda x, y, *_: x + y),
    **of_lanes("__vsub", True, lambda x, y, *_: x - y),
    **of_lanes("__vaddss", True, lambda x, y, low, high: clamp(x + y, low, high)),
    **of_lanes("__vsubss", True, lambda x, y, low, high: clamp(x - y, low, high)),
    **of_lanes("__vaddus", False, lambda x, y, low, high: clamp(x + y, low, high)),
    **of_lanes("__vsubus", False, lambda x, y, low, high: clamp(x - y, low, high)),
    **of_lanes("__vhaddu", False, lambda x, y, *_: (x + y) >> 1),
    **either("__vavg", lambda x, y, *_: int(math.copysign((abs(x + y) + 1) // 2, x + y))),
    **either("__vabsdiff", lambda x, y, *_: abs(x - y)),
    **either("__vmax", lambda x, y, *_: max(x, y)),
    **either("__vmin", lambda x, y, *_: min(x, y)),
    **comparisons(),
}
LANES_OF_TWO |= {
    f"__vsad{kind}{count}": sum_of(LANES_OF_TWO[f"__vabsdiff{kind}{count}"], bits)
    for kind in "su"
    for count, bits in ((2, 16), (4, 8))
}


# ---- minima and maxima of sums, and of three

BEST = {"max": max, "min": min}


def fused(bits, signed, relu):
    """viaddmax, vimax3, ... of numbers of so many bits: {name: formula}."""
    fit = sign if signed else wrap
    floor = (lambda x: max(x, 0)) if relu else (lambda x: x)
    made = {}
    for word, best in BEST.items():
        made[f"__viadd{word}"] = lambda x, y, z, best=best: floor(best(fit(x + y, bits), z))
        made[f"__vi{word}3"] = lambda x, y, z, best=best: floor(best(x, y, z))
    return made


def fused_two(best):
    return lambda x, y: max(best(x, y), 0)


FUSED = {
    "int(int, int, int)": {
        **{f"{name}_s32": each for name, each in fused(32, True, False).items()},
        **{f"{name}_s32_relu": each for name, each in fused(32, True, True).items()},
    },
    "int(int, int)": {f"__vi{word}_s32_relu": fused_two(best) for word, best in BEST.items()},
    "unsigned(unsigned, unsigned, unsigned)": {
        **{f"{name}_u32": each for name, each in fused(32, False, False).items()},
        **{f"{name}_u16x2": in_lanes(each, 16, False) for name, each in fused(16, False, False).items()},
        **{f"{name}_s16x2": in_lanes(each, 16, True) for name, each in fused(16, True, False).items()},
        **{f"{name}_s16x2_relu": in_lanes(each, 16, True) for name, each in fused(16, True, True).items()},
    },
    "unsigned(unsigned, unsigned)": {
        f"__vi{word}_s16x2_relu": in_lanes(fused_two(best), 16, True) for word, best in BEST.items()
    },
}  # fmt: skip


# ---- what they are tested on

EDGES = [0, 1, 2, 3, -1, -2, 24, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x800000,
         0x7FFFFFFF, 0x80000000, 0x80008000, 0x7FFF8000, 0x80807F7F, 0x00FF00FF, 0x01010101, 0xFEDCBA98,
         1 << 62, 1 << 63, (1 << 63) - 1]  # fmt: skip


def column(kind, count, seed):
    """Random numbers of every size and the edges, as many as `count`."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 64, count, np.uint64) >> rng.integers(0, 64, count, np.uint64)
    planted = rng.choice(np.array([edge & (1 << 64) - 1 for edge in EDGES], np.uint64), count // 2)
    bits[: count // 2] = planted
    rng.shuffle(bits)
    return bits.astype(DTYPES[kind], casting="unsafe")


def check(table, column):
    """Of functions of many signatures, each on the column of its argument's type and place."""
    formulas = {}
    for signature, names in table.items():
        formulas |= zip(functions(signature, " ".join(names)), names.values(), strict=True)
    check_all(formulas, column)


TABLES = {
    "whole words": WORDS,
    "words as two or four numbers": {"unsigned(unsigned)": LANES_OF_ONE, "unsigned(unsigned, unsigned)": LANES_OF_TWO},
    "minima and maxima of sums and of three": FUSED,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_functions_of_integers(name):
    check(TABLES[name], cache(lambda kind, at: column(kind, 500, at)))


def shifted(kind, sign_of_shift):
    """a << b or a >> b, in the type that `kind` becomes in an expression: all of the amount counts."""
    limits = np.iinfo(DTYPES[kind])
    bits, fit = max(32, limits.bits), sign if limits.min or limits.bits < 32 else wrap
    if sign_of_shift == "<<":
        return lambda a, b: fit(a << min(wrap(b), 64), bits)
    return lambda a, b: fit(a >> min(wrap(b), 64), bits)


@pytest.mark.parametrize("on", ["", "machine", "ptx"])
def test_shifts_by_more_bits_than_there_are_leave_nothing_but_the_sign(on):
    amounts = [*range(66), 255, 256, 1 << 30, (1 << 31) - 1, -1, -31, -(1 << 31)]
    values = [0, 1, -1, 5, -128, 1 << 14, 1 << 31, (1 << 63) - 1, -(1 << 63)]
    a, b = (
        np.array(each, np.int64) for each in zip(*itertools.product(values, amounts), strict=True)
    )
    expected = {}
    for kind, sign_of_shift, assigns in itertools.product(WHOLE, ("<<", ">>"), (False, True)):
        result = kind if np.iinfo(DTYPES[kind]).bits >= 32 or assigns else "int"
        text = f"a {sign_of_shift}= b" if assigns else f"a {sign_of_shift} b"
        of, limits = shifted(kind, sign_of_shift), np.iinfo(DTYPES[kind])
        fit = partial(sign if limits.min else wrap, bits=limits.bits) if assigns else int
        expected[Function(text, result, (kind, "int"), text)] = lambda a, b, of=of, fit=fit: fit(
            of(a, b)
        )
    check_all(expected, lambda kind, at: (b if at else a).astype(DTYPES[kind]), on)


IN_CODE = """
#define BIT(n) (1u << (n))
template <int n> struct Of { static constexpr int value = n; };
template <class T> struct Held { T x; };
struct Sum { int x; __device__ Sum& operator<<(int n) { x += n; return *this; } };
__device__ Sum operator>>(Sum sum, int n) { sum.x -= n; return sum; }
enum { EIGHT = 1 << 3 };
extern "C" __global__ void k(int* o, int n) {
    Held<Held<int>> held{{n << 1}}; __shared__ int s[1 << 5]; struct { unsigned f : 5; } bits{3}; Sum sum{1};
    s[threadIdx.x] = 1 << 35;
    sum << n << 2;
    switch (n) { case 1 << 5: o[7] = 1; }
    int of[] = {(int)BIT(n), Of<(8 >> 1)>::value + EIGHT, held.x.x, (int)(bits.f << n), (sum >> 1).x, s[0], -n >> n};
    for (int i = 0; i < 7 && n > i >> n; i++) o[i] = of[i];
}"""


def test_shifts_are_those_of_a_gpu_wherever_they_stand_in_the_code():
    o = np.zeros(8, np.int32)
    launch(IN_CODE, 1, 1, [o, 32])
    assert o.tolist() == [0, 12, 64, 0, 34, 0, -1, 1]


def test_a_shift_that_may_close_a_template_is_a_fault_where_it_has_too_few_bits():
    source = "__global__ void k(int* o, int n) {\n o[0] = -1<n && 0<o[1]>>n; }"
    emulator.launch(source, 1, 1, [np.ones(2, np.int32), 31])
    with pytest.raises(KernelFault, match=r"kernel\.cu:2: a shift of 32 bits by 40, .* brackets"):
        emulator.launch(source, 1, 1, [np.ones(2, np.int32), 40])


def test_the_nth_set_bit():
    masks = [0, 1, 0x80000000, 0xFFFFFFFF, 0xF0F0F0F0, 0x12345678]
    all_ = np.array(list(itertools.product(masks, range(32), range(-33, 34))), np.int64).T
    columns = [each.astype(kind) for each, kind in zip(all_, ("u4", "u4", "i4"), strict=True)]
    table = {"unsigned(unsigned, unsigned, int)": {"__fns": find_nth_set}}
    check(table, lambda kind, at: columns[at])


def test_choices_say_which_they_were():
    """Also of pairs: each takes a and b, and tells where it is that of a."""
    x = {kind: column(kind, 400, 1) for kind in ("int", "unsigned")}
    y = {kind: column(kind, 400, 2) for kind in x}
    numbers = {"s32": np.int32, "u32": np.uint32, "s16x2": np.int16, "u16x2": np.uint16}
    calls = {}
    for (word, (is_better, best)), name in itertools.product(CHOICES.items(), numbers):
        kind, is_pair = ("int" if name == "s32" else "unsigned"), name.endswith("x2")
        told = {"high": "bool", "low": "bool"} if is_pair else {"first": "bool"}
        statement = f"z = __vib{word}_{name}(a, b, {', '.join(f'&{each}' for each in told)})"
        of_x, of_y = (given[kind].view(numbers[name]).reshape(400, -1) for given in (x, y))
        wanted = [best(of_x, of_y), *is_better(of_x, of_y).T[::-1]]
        calls |= zip(part_calls([kind] * 2, statement, z=kind, **told), wanted, strict=True)
    check_arrays(calls, lambda kind, at: (x, y)[at][kind])


CHOICES = {"max": (np.greater_equal, np.maximum), "min": (np.less_equal, np.minimum)}


def test_vector_types_take_part_in_dot_products():
    a, b, c = (column(kind, 300, seed) for seed, kind in enumerate(("unsigned", "unsigned", "int")))
    types = ("unsigned", "unsigned", "int")
    pairs = [("char4", "char4", "__dp4a", "int"), ("uchar4", "uchar4", "__dp4a", "unsigned"),
             ("short2", "char4", "__dp2a_lo", "int"), ("ushort2", "uchar4", "__dp2a_lo", "unsigned"),
             ("short2", "char4", "__dp2a_hi", "int"), ("ushort2", "uchar4", "__dp2a_hi", "unsigned")]  # fmt: skip
    calls = []
    for of_a, of_b, name, word in pairs:
        vectors = (
            f"{name}(*reinterpret_cast<{of_a}*>(&a), *reinterpret_cast<{of_b}*>(&b), ({word})c)"
        )
        calls += [Function(f"{name} {of_a}", word, types, vectors),
                  Function(f"{name} {word}", word, types, f"{name}(({word})a, ({word})b, ({word})c)")]  # fmt: skip
    found = list(call_each(calls, a, b, c).values())
    for of_vectors, of_words in zip(found[::2], found[1::2], strict=True):
        assert (of_vectors == of_words).all()
