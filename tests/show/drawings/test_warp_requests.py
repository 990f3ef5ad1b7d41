"""Pictures of requests: every lane and every bank is there, the words say what is drawn, rows are cut as float4 cuts them."""

import pytest
from emulated import COLUMN_OF_A_TILE, kernel_of

from softmax_lib import drawings, kernels
from softmax_lib.show.drawings.warp_requests import (
    COLUMN,
    ROW,
    bank_frame,
    elements,
    parts_of,
)
from softmax_lib.worklog.registry import resolve
from softmax_lib.worklog.requests import global_requests, shared_requests

pytest.importorskip("ipywidgets")


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


@pytest.mark.parametrize("cols", range(1, 17))
def test_no_float_is_lost_and_each_vector_begins_at_16_bytes(cols):
    for row in range(8):
        parts = parts_of(row, cols)
        assert parts.head + 4 * parts.vectors + parts.tail == cols
        assert parts.vectors == 0 or (parts.start + parts.head) % 4 == 0
