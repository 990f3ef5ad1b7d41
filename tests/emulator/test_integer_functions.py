"""CUDA's functions of bits, and of words as two or four numbers, against formulas in plain Python."""

import itertools

import numpy as np
import pytest
from device_functions import DTYPES, Function, assert_same, call, call_each, functions, parts
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
    arguments = list(zip(*(each.tolist() for each in columns), strict=True))
    for name, found in call(signature, " ".join(formulas), *columns).items():
        assert_same(name, arguments, found, [formulas[name](*each) for each in arguments])


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
    signature = "unsigned(unsigned, unsigned, unsigned)"
    formulas = {name: each for name, each in WORDS[signature].items() if "shift" in name}
    assert len(formulas) == 4
    check(signature, formulas, [low, high, shifts])
    assert shift_left(0x89ABCDEF, 0x01234567, 4, most=False) == 0x12345678  # of the formula itself


def test_the_nth_set_bit():
    masks = [0, 1, 0x80000000, 0xFFFFFFFF, 0xF0F0F0F0, 0x12345678]
    all_ = np.array(list(itertools.product(masks, range(32), range(-33, 34))), np.int64).T
    columns = [each.astype(kind) for each, kind in zip(all_, ("u4", "u4", "i4"), strict=True)]
    check("unsigned(unsigned, unsigned, int)", {"__fns": find_nth_set}, columns)


BEST = [("max", np.greater_equal, np.maximum), ("min", np.less_equal, np.minimum)]


@pytest.mark.parametrize(("word", "is_better", "best"), BEST)
@pytest.mark.parametrize(("name", "kind"), [("s32", "int"), ("u32", "unsigned")])
def test_choices_say_which_it_was(name, kind, word, is_better, best):
    x, y = column(kind, 400, 1), column(kind, 400, 2)
    value, is_first = parts(
        kind, f"z = __vib{word}_{name}(a, b, &first)", x, y, z=kind, first="bool"
    )
    assert (value == best(x, y)).all()
    assert (is_first == is_better(x, y)).all()


@pytest.mark.parametrize(("word", "is_better", "best"), BEST)
@pytest.mark.parametrize(("name", "half"), [("s16x2", np.int16), ("u16x2", np.uint16)])
def test_choices_of_pairs_say_which_they_were(name, half, word, is_better, best):
    x, y = column("unsigned", 400, 1), column("unsigned", 400, 2)
    statement = f"z = __vib{word}_{name}(a, b, &high, &low)"
    z, high, low = parts("unsigned", statement, x, y, z="unsigned", high="bool", low="bool")
    of_z, of_x, of_y = (each.view(half).reshape(-1, 2) for each in (z, x, y))
    assert (of_z == best(of_x, of_y)).all()
    assert (np.stack([low, high], 1) == is_better(of_x, of_y)).all()


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
