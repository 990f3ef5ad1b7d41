"""Rows in memory, cut at every 16 bytes: as the kernel float4 cuts them."""

import pytest

from softmax_lib import drawings
from softmax_lib.engine.errors import BadInput
from softmax_lib.show.drawings.memory_rows import Parts, parts_of


def test_rows_of_eleven_start_anywhere():
    assert [parts_of(row, 11) for row in range(4)] == [
        Parts(0, 0, 2, 3), Parts(3, 1, 2, 2), Parts(2, 2, 2, 1), Parts(1, 3, 2, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("cols", range(1, 17))
def test_no_float_is_lost_and_each_vector_begins_at_16_bytes(cols):
    for row in range(8):
        parts = parts_of(row, cols)
        assert parts.head + 4 * parts.vectors + parts.tail == cols
        assert parts.vectors == 0 or (parts.start + parts.head) % 4 == 0


def test_the_picture_has_every_float_and_says_how_a_row_divides():
    shown = drawings.row_starts()
    assert shown.html.count("<rect") == 44
    assert "row 1: 2 vectors with 1 float before and 2 floats after" in shown.text
    assert "row 0: 3 vectors" in drawings.row_starts(12, 1).text


@pytest.mark.parametrize("size", [(17, 1), (11, 9), (0, 1), (1, 0)])
def test_a_picture_that_has_no_room_is_refused(size):
    with pytest.raises(BadInput, match="room for 8 rows of 16 floats"):
        drawings.row_starts(*size)
