"""Pictures of what a warp asks of shared memory: the wavefronts of a request over the 32 banks."""

from __future__ import annotations

from softmax_lib.engine.source import Source
from softmax_lib.engine.words import count, plural
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.show.drawings.sectors import Box
from softmax_lib.widgets.stepping import Shown, stepper
from softmax_lib.widgets.views import View
from softmax_lib.worklog.registry import resolve
from softmax_lib.worklog.requests import BANKS, WORD_BYTES, Request, Wavefront, shared_requests

MOST_REQUESTS = 8
"""Frames of a stepper: by then a reader has seen how the warp moves on."""

_TOP, _HIGH, _LEGEND = 14, 12, 42


def banks(
    kernel_or_source: str | Source, cols: int, block_size: int | None = None, access: int = 0
) -> Shown:
    """Step through a warp's first requests of shared memory at one line: which banks serve which lanes.

    `access` says which line of those that touch shared memory, counted from 0. One row of `cols`
    elements runs in the emulator. Raises what `run` and `trace` raise, and `BadInput` for an access
    that is not there.
    """
    found = shared_requests(resolve(kernel_or_source), cols, block_size, access)
    return stepper([bank_frame(request) for request in found[:MOST_REQUESTS]], label="request")


def bank_frame(request: Request) -> View:
    """One request: a row of 32 banks for each wavefront, with the banks that serve somebody filled."""
    waves, lanes = request.wavefronts, len(request.addresses)
    title = f"Request {request.number}: {count(len(waves), 'wavefront')} for {count(lanes, 'lane')}"
    return frame(_draw(waves, title), title, _in_words(request, waves))


def _in_words(request: Request, waves: list[Wavefront]) -> str:
    words = f"Line {request.source_line}, {request.array}: "
    words += f"the first wavefront uses {len(waves[0])} of {BANKS} banks"
    shared = max(len(lanes) for wave in waves for lanes in wave.values())
    if shared > 1:
        words += f", and one word goes to {shared} lanes at once"
    least = -(-len(request.addresses) * request.size // (BANKS * WORD_BYTES))
    if len(waves) > least:
        more = len(waves) - least
        words += f"; {count(more, 'wavefront')} {plural(more, 'is', 'are')} there only for bank conflicts"
    return words + "."


def _draw(waves: list[Wavefront], title: str) -> Drawing:
    pitch = WIDTH / BANKS
    drawing = Drawing(_TOP + len(waves) * _HIGH + _LEGEND, f"{title}, bank by bank")
    for bank in (0, 8, 16, 24, 31):
        drawing.text((bank + 0.5) * pitch, _TOP - 4, str(bank), size=10)
    idle: list[Box] = []
    busy: list[Box] = []
    for down, wave in enumerate(waves):
        for bank in range(BANKS):
            box = (bank * pitch + 0.5, _TOP + down * _HIGH, pitch - 1, _HIGH - 2)
            (busy if bank in wave else idle).append(box)
    drawing.boxes(idle, "plain")
    drawing.boxes(busy, "orange", solid=True)
    line = drawing.height - 8
    drawing.boxes([(1, line - 10, 14, 10)], "orange", solid=True)
    drawing.text(22, line, "serves a word", anchor="start", size=12)
    drawing.boxes([(130, line - 10, 14, 10)], "plain")
    drawing.text(151, line, "idle; a row is a wavefront", anchor="start", size=12)
    return drawing
