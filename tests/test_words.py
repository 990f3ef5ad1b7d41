"""How numbers are written."""

import pytest

from softmax_lib.words import count, time_in_words, without_colours

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


def test_one_thing_is_not_several():
    assert [count(n, "line") for n in (0, 1, 4)] == ["0 lines", "1 line", "4 lines"]


def test_a_compilers_colours_are_left_out():
    assert without_colours("\x1b[1;31merror\x1b[0m: no") == "error: no"
