"""CUDA's functions of bits, and of words as two or four numbers, against formulas in plain Python."""

import itertools

import numpy as np
import pytest
from device_functions import DTYPES, Function, call_each, functions
from integer_tables import (
    FUSED,
    LANES_OF_ONE,
    LANES_OF_TWO,
    WORDS,
    find_nth_set,
    shift_left,
)

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


def check(signature, formulas, columns):
    calls = functions(signature, " ".join(formulas))
    found = call_each(calls, *columns)
    arguments = list(zip(*(each.tolist() for each in columns), strict=True))
    for call in calls:
        expected = [formulas[call.name](*each) for each in arguments]
        wrong = [
            (a, y, e)
            for a, y, e in zip(arguments, found[str(call)].tolist(), expected, strict=True)
            if y != e
        ]
        assert not wrong, f"{call}: {wrong[:3]}"


def check_all(table, count=500):
    for signature, formulas in table.items():
        kinds = functions(signature, "any")[0].arguments
        check(signature, formulas, [column(kind, count, seed) for seed, kind in enumerate(kinds)])


def test_functions_of_whole_words():
    check_all(WORDS)


def test_functions_of_words_as_two_or_four_numbers():
    check_all({"unsigned(unsigned)": LANES_OF_ONE, "unsigned(unsigned, unsigned)": LANES_OF_TWO})


def test_minima_and_maxima_of_sums_and_of_three():
    check_all(FUSED)


def test_every_shift_of_a_pair_of_words():
    shifts = np.arange(70, dtype=np.uint32)
    low, high = np.full(70, 0x89ABCDEF, np.uint32), np.full(70, 0x01234567, np.uint32)
    names = [name for name in WORDS["unsigned(unsigned, unsigned, unsigned)"] if "shift" in name]
    assert len(names) == 4
    formulas = {name: WORDS["unsigned(unsigned, unsigned, unsigned)"][name] for name in names}
    check("unsigned(unsigned, unsigned, unsigned)", formulas, [low, high, shifts])
    assert shift_left(0x89ABCDEF, 0x01234567, 4, most=False) == 0x12345678  # of the formula itself


def test_the_nth_set_bit():
    masks = [0, 1, 0x80000000, 0xFFFFFFFF, 0xF0F0F0F0, 0x12345678]
    all_ = np.array(list(itertools.product(masks, range(32), range(-33, 34))), np.int64)
    columns = [
        all_[:, 0].astype(np.uint32),
        all_[:, 1].astype(np.uint32),
        all_[:, 2].astype(np.int32),
    ]
    check("unsigned(unsigned, unsigned, int)", {"__fns": find_nth_set}, columns)


@pytest.mark.parametrize(("kind", "best"), [("s32", "int"), ("u32", "unsigned")])
def test_choices_say_which_it_was(kind, best):
    x, y = column(best, 400, 1), column(best, 400, 2)
    for word, first, chosen in (
        ("max", x >= y, np.maximum(x, y)),
        ("min", x <= y, np.minimum(x, y)),
    ):
        body = (
            f"[&] {{ bool is_first; {best} z = __vib{word}_{kind}(a, b, &is_first); return z; }}()"
        )
        which = f"[&] {{ bool is_first; __vib{word}_{kind}(a, b, &is_first); return is_first; }}()"
        calls = [
            Function(word, best, (best, best), body),
            Function(f"{word} is", "bool", (best, best), which),
        ]
        value, is_first = call_each(calls, x, y).values()
        assert (value == chosen).all()
        assert (is_first == first).all()


@pytest.mark.parametrize(("kind", "half"), [("s16x2", np.int16), ("u16x2", np.uint16)])
def test_choices_of_pairs_say_which_they_were(kind, half):
    x, y = column("unsigned", 400, 1), column("unsigned", 400, 2)
    for word, is_better, best in (
        ("max", np.greater_equal, np.maximum),
        ("min", np.less_equal, np.minimum),
    ):
        call = f"__vib{word}_{kind}(a, b, &high, &low)"
        calls = [
            Function(name, "unsigned", ("unsigned", "unsigned"),
                     f"[&] {{ bool high, low; unsigned z = {call}; return {value}; }}()")
            for name, value in (("chosen", "z"), ("which", "(z & 0) + high * 2 + low"))
        ]  # fmt: skip
        chosen, which = call_each(calls, x, y).values()
        of_x, of_y = x.view(half).reshape(-1, 2), y.view(half).reshape(-1, 2)
        assert (chosen.view(half).reshape(-1, 2) == best(of_x, of_y)).all()
        first = is_better(of_x, of_y)
        assert (which == first[:, 1] * 2 + first[:, 0]).all()


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
