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
    ("write", "number", "words"),
    [  # times have three digits and a unit, bytes four, and long numbers three
        (time_in_words, 0.51, "0.51 µs"), (time_in_words, 1.175, "1.18 µs"), (time_in_words, 65.06, "65.1 µs"),
        (time_in_words, 821.2, "821 µs"), (time_in_words, 10422.3, "10.4 ms"), (time_in_words, 0.9996, "1.00 µs"),
        (time_in_words, 9.996, "10.0 µs"), (time_in_words, 999.4, "999 µs"), (time_in_words, 999.96, "1.00 ms"),
        (bytes_in_words, 0, "0 B"), (bytes_in_words, 999, "999 B"), (bytes_in_words, 4096, "4.096 kB"),
        (bytes_in_words, 402_653_184, "402.7 MB"), (bytes_in_words, 10**9, "1 GB"),
        (short_number, 9_999, "9,999"), (short_number, 24_576, "24.6 K"), (short_number, 100_663_296, "101 M"),
        (short_number, 2 * 10**9, "2 G"),
    ],
)  # fmt: skip
def test_numbers_have_few_digits_and_a_unit(write, number, words):
    assert write(number) == words


def test_one_thing_is_not_several():
    assert [count(n, "line") for n in (0, 1, 4)] == ["0 lines", "1 line", "4 lines"]


def test_a_compilers_colours_are_left_out():
    assert without_colours("\x1b[1;31merror\x1b[0m: no") == "error: no"
