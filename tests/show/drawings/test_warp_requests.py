"""Pictures of requests: every lane and every bank is there, the words say what is drawn, rows are cut as float4 cuts them."""

import html

import pytest
from emulated import COLUMN_OF_A_TILE, kernel_of

from softmax_lib import drawings, kernels
from softmax_lib.show.drawings.warp_requests import (
    COLUMN,
    ROW,
    Parts,
    bank_frame,
    elements,
    parts_of,
)
from softmax_lib.worklog.registry import resolve
from softmax_lib.worklog.requests import global_requests, shared_requests

pytest.importorskip("ipywidgets")


@pytest.mark.parametrize(
    ("apart", "turn", "title", "words"),
    [
        (1, 2, "4 sectors on 1 line", "128 looked up, 128 fetched"),
        (4, 1, "16 sectors on 4 lines", "512 looked up, 512 fetched"),
        (32, 1, "32 sectors on 32 lines", "1,024 looked up, 1,024 fetched"),
        (32, 2, "32 sectors on 32 lines", "1,024 looked up, 0 fetched"),
    ],
)
def test_floats_from_lane_to_lane_and_turns_say_what_is_looked_up_and_what_is_fetched(
    apart, turn, title, words
):
    shown = drawings.coalescing().leaves[apart, turn].value
    assert f"Turn {turn}: {title}" in shown
    assert f"128 bytes asked for, {words}." in shown


@pytest.mark.parametrize(("width", "wavefronts"), [(32, 32), (33, 1), (34, 2)])
def test_a_row_of_banks_is_drawn_for_each_wavefront(width, wavefronts):
    source = kernel_of(COLUMN_OF_A_TILE.replace("WIDTH", str(width)))
    (request,) = shared_requests(resolve(source), 32, 32, 1)
    shown = bank_frame(request)
    word = "wavefront" if wavefronts == 1 else "wavefronts"
    assert f"{wavefronts} {word} for 32 lanes" in shown.text
    assert ("only for bank conflicts" in shown.text) == (wavefronts > 1)
    assert ("1 wavefront is there only" in shown.text) == (wavefronts == 2)
    assert drawings.banks(source, 32, 32, 1).fallback["text/plain"] == shown.text


SWAPPED = {"x + (long long)row * cols": "x + row", "x_row[col]": "x_row[col * cols]"}


@pytest.mark.parametrize(("reads", "swap"), [(ROW, {}), (COLUMN, SWAPPED)])
def test_lanes_over_a_small_matrix_read_what_a_kernel_does(reads, swap):
    text = kernels["naive"].source.text
    for old, new in swap.items():
        text = text.replace(old, new)
    for turn, request in enumerate(global_requests(resolve(text), 32, 32, 32), 1):
        places = [4 * (32 * row + col) for row, col in elements(reads, turn)]
        assert places == list(request.addresses.values())


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ((ROW, 1), "Turn 1: 32 sectors on 32 lines"),
        ((ROW, 8), "Sectors so far: L1 256, memory 32."),
        ((ROW, 9), "Sectors so far: L1 288, memory 64."),
        ((COLUMN, 8), "Turn 8: 4 sectors on 1 line"),
        ((COLUMN, 8), "Sectors so far: L1 32, memory 32."),
    ],
)
def test_sectors_of_a_small_matrix_are_counted(choice, words):
    assert words in html.unescape(drawings.rows_or_columns().leaves[choice].value)


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


def test_a_picture_of_rows_has_every_float_and_says_how_a_row_divides():
    shown = drawings.row_starts()
    assert shown.html.count("<rect") == 44
    assert "row 1: 2 vectors with 1 float before and 2 floats after" in shown.text
    assert "row 0: 3 vectors" in drawings.row_starts(12, 1).text
