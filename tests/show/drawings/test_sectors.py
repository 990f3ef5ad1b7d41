"""Pictures of requests: every lane and every bank is there, and the words say what is drawn."""

import html

import pytest
from emulated import kernel_of

from softmax_lib import drawings, kernels
from softmax_lib.engine.errors import BadInput, UnknownKernel
from softmax_lib.show.drawings.lane_addresses import COLUMN as ITS_COLUMN
from softmax_lib.show.drawings.lane_addresses import ROW, elements
from softmax_lib.show.drawings.wavefronts import bank_frame
from softmax_lib.worklog.registry import resolve
from softmax_lib.worklog.requests import global_requests, shared_requests

pytest.importorskip("ipywidgets")

COLUMN = """\
    __shared__ float tile[32 * WIDTH];
    for (int i = 0; i < 32; i++) tile[i * WIDTH + threadIdx.x] = x[i];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x * WIDTH];
"""


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
    source = kernel_of(COLUMN.replace("WIDTH", str(width)))
    (request,) = shared_requests(resolve(source), 32, 32, 1)
    shown = bank_frame(request)
    word = "wavefront" if wavefronts == 1 else "wavefronts"
    assert f"{wavefronts} {word} for 32 lanes" in shown.text
    assert ("only for bank conflicts" in shown.text) == (wavefronts > 1)
    assert ("1 wavefront is there only" in shown.text) == (wavefronts == 2)
    assert drawings.banks(source, 32, 32, 1).fallback["text/plain"] == shown.text


def test_a_timeline_says_how_many_warps_work():
    assert drawings.timeline("shuffle", 256, 256).text == (
        "shuffle: 8 warps, 2 barriers: From barrier to barrier 8, 8, 8 warps do something; "
        "the others only wait."
    )


@pytest.mark.parametrize(
    ("reads", "swap"),
    [
        (ROW, {}),
        (ITS_COLUMN, {"x + (long long)row * cols": "x + row", "x_row[col]": "x_row[col * cols]"}),
    ],
)
def test_lanes_over_a_small_matrix_read_what_a_kernel_does(reads, swap):
    text = kernels["naive"].source.text
    for old, new in swap.items():
        text = text.replace(old, new)
    requests = global_requests(resolve(text), 32, 32, 32)
    for turn, request in enumerate(requests, 1):
        places = [4 * (32 * row + col) for row, col in elements(reads, turn)]
        assert places == list(request.addresses.values())


def test_sectors_of_a_small_matrix_are_counted():
    shown = drawings.rows_or_columns()
    told = {choice: html.unescape(leaf.value) for choice, leaf in shown.leaves.items()}
    assert "Turn 1: 32 sectors on 32 lines" in told[ROW, 1]
    assert "Sectors so far: L1 256, memory 32." in told[ROW, 8]
    assert "Sectors so far: L1 288, memory 64." in told[ROW, 9]
    assert "Turn 8: 4 sectors on 1 line" in told[ITS_COLUMN, 8]
    assert "Sectors so far: L1 32, memory 32." in told[ITS_COLUMN, 8]


@pytest.mark.parametrize(
    ("draw", "error", "words"),
    [
        (lambda: drawings.banks("naiv", 64), UnknownKernel, "did you mean naive"),
        (lambda: drawings.banks("naive", 64), BadInput, "naive has 0 accesses to shared memory"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_gets_one_sentence(draw, error, words):
    with pytest.raises(error, match=words) as caught:
        draw()
    assert "\n" not in str(caught.value)
