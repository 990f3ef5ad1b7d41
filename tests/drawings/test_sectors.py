"""What a warp touches, from the trace, is what the ledger of traffic and the worklog say."""

import pytest

from softmax_lib import kernels
from softmax_lib.errors import BadInput, BlockSizeNotAllowed, UnknownKernel
from softmax_lib.xrays import prediction as traffic
from softmax_lib.xrays.requests import warp_requests

pytest.importorskip("ipywidgets")
pictures = pytest.importorskip("softmax_lib.drawings.sectors")


@pytest.mark.parametrize(
    ("name", "cols", "block_size", "sectors", "lines", "asked"),
    [
        ("naive", 4096, 32, 32, 32, 128),
        ("shared", 4096, 256, 4, 1, 128),
        ("float4", 4096, 256, 16, 4, 512),
        ("chunked", 4096, 1024, 16, 4, 128),  # chunks of 4 floats: two lanes share a sector
        ("chunked", 32768, 1024, 32, 32, 128),  # chunks of a whole line
        ("shared", 1001, 32, 4, 1, 128),
    ],
)
def test_first_request_touches_what_the_chapters_say(name, cols, block_size, sectors, lines, asked):
    first, *_ = warp_requests(kernels[name], 64, cols, block_size)
    assert (len(first.sectors), len(first.lines), first.asked_bytes) == (sectors, lines, asked)
    assert first.moved_bytes == 32 * sectors
    said = pictures.in_words(first)
    assert f"{sectors} sectors" in said
    assert f"{first.moved_bytes} bytes move" in said


@pytest.mark.parametrize("name", ["naive", "shared", "float4", "chunked"])
def test_requests_of_all_loops_add_up_to_the_predicted_traffic(name):
    rows, cols, block_size = (
        32,
        2048,
        32,
    )  # one warp holds all rows of naive, and one row of the others
    kernel = kernels[name]
    loops = [
        warp_requests(kernel, rows, cols, block_size, load) for load in range(len(kernel.loads))
    ]
    moved = sum(request.moved_bytes for loop in loops for request in loop)
    whole = rows if kernel.steps[0].grid == "block a row" else 1
    assert whole * moved == traffic.predict(kernel, rows, cols, block_size).load_sector_bytes


def test_a_block_strides_over_the_row_and_a_thread_steps_along_it():
    shared = warp_requests(kernels["shared"], 64, 4096, 256)
    naive = warp_requests(kernels["naive"], 64, 4096, 32)
    assert [r.addresses[0] for r in shared[:3]] == [0, 1024, 2048]
    assert [r.addresses[1] for r in naive[:3]] == [4 * 4096, 4 * 4097, 4 * 4098]
    assert (len(shared), len(naive)) == (4096 // 256, 4096)


def test_ragged_rows_leave_lanes_out():
    last = warp_requests(kernels["shared"], 64, 1001, 32)[-1]
    assert len(last.addresses) == 1001 % 32
    assert "for 9 lanes" in pictures.title(last)


def test_frames_hold_the_first_requests_and_say_them_in_words():
    stepper = pictures.warp_addresses("naive", 64, 4096, 32)
    assert stepper.fallback["text/plain"].startswith("Request 1 of 4096: 32 sectors for 32 lanes")
    frame = pictures.request_frame(warp_requests(kernels["naive"], 64, 4096, 32)[1])
    assert [f">lane {lane}<" in frame.html for lane in range(32)] == [True] * 32
    assert len(frame.html) < 8000


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("naiv", 64, 64, 32), UnknownKernel, "did you mean naive"),
        (("shared", 64, 64, 96), BlockSizeNotAllowed, "not built for 96"),
        (("shared", 64, 64, 32, 2), BadInput, "has 2 loads from global memory, numbered from 0"),
        (("shared", 64, 64, 32, -1), BadInput, "numbered from 0"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        pictures.warp_addresses(*arguments)
    assert "\n" not in str(caught.value)
