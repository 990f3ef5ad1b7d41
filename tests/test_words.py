"""How numbers are written."""

import pytest

from softmax_lib.engine.words import (
    bytes_in_words,
    count,
    short_number,
    time_in_words,
    without_colours,
)

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("time_us", "words"),
    [
        (0.51, "0.51 µs"),
        (1.175, "1.18 µs"),
        (65.06, "65.1 µs"),
        (821.2, "821 µs"),
        (10422.3, "10.4 ms"),
        (0.9996, "1.00 µs"),
        (9.996, "10.0 µs"),
        (999.4, "999 µs"),
        (999.96, "1.00 ms"),
    ],
)
def test_times_have_three_digits_and_a_unit(time_us, words):
    assert time_in_words(time_us) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 B"), (999, "999 B"), (4096, "4.096 kB"), (402_653_184, "402.7 MB"), (10**9, "1 GB")],
)
def test_bytes_have_four_digits_and_a_unit(number, words):
    assert bytes_in_words(number) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(9_999, "9,999"), (24_576, "24.6 K"), (100_663_296, "101 M"), (2 * 10**9, "2 G")],
)
def test_long_numbers_have_three_digits(number, words):
    assert short_number(number) == words


def test_one_thing_is_not_several():
    assert [count(n, "line") for n in (0, 1, 4)] == ["0 lines", "1 line", "4 lines"]


def test_a_compilers_colours_are_left_out():
    assert without_colours("\x1b[1;31merror\x1b[0m: no") == "error: no"
