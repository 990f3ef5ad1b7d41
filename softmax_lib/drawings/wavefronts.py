"""Pictures of what a warp asks of shared memory: the words of one request over the 32 banks."""

from __future__ import annotations

import numpy as np
import torch

from softmax_lib import emulator
from softmax_lib.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.drawings.sectors import MOST_REQUESTS, Box
from softmax_lib.emulator.events import LOAD, STORE
from softmax_lib.errors import BadInput
from softmax_lib.registry import resolve
from softmax_lib.source import WARP, Source
from softmax_lib.widgets.stepping import Shown, stepper
from softmax_lib.widgets.views import View
from softmax_lib.xrays.requests import Request, in_step

BANKS, WORD_BYTES = 32, 4
_TOP, _HIGH, _LEGEND = 14, 12, 42


def warp_banks(
    kernel_or_source: str | Source, cols: int, block_size: int | None = None, access: int = 0
) -> Shown:
    """Step through a warp's first requests of shared memory at one line: which banks serve which lanes.

    `access` says which line of those that touch shared memory, counted from 0. One row of `cols`
    elements runs in the emulator. Raises what `run` and `trace` raise, and `BadInput` for an access
    that is not there.
    """
    requests = shared_requests(kernel_or_source, cols, block_size, access)
    return stepper([bank_frame(r) for r in requests[:MOST_REQUESTS]], label="request")


def shared_requests(
    kernel_or_source: str | Source, cols: int, block_size: int | None = None, access: int = 0
) -> list[Request]:
    """The first warp's requests of shared memory at the line number `access`, loads before stores."""
    kernel = resolve(kernel_or_source)
    size = kernel.settle_block_size(block_size, cols)
    trace = emulator.trace(kernel, torch.zeros(1, cols), size, grid=1)
    events = trace.events
    shared = [i for i, array in enumerate(trace.arrays) if array.is_shared]
    chosen = np.isin(events["operation"], (LOAD, STORE)) & np.isin(events["array"], shared)
    events = events[chosen & (events["thread"] < WARP)]
    kinds = np.unique(events[["line", "operation"]])
    if not 0 <= access < len(kinds):
        raise BadInput(f"{kernel.name} has {len(kinds)} accesses to shared memory, from 0 on.")
    return in_step(trace, events[events[["line", "operation"]] == kinds[access]])


def passes(request: Request) -> list[dict[int, list[int]]]:
    """What each wavefront serves: the lanes at each bank. 8 bytes a lane go by halves, 16 by quarters."""
    words = max(1, request.size // WORD_BYTES)
    lanes = sorted(request.addresses)
    group = WARP // words
    found = []
    for start in range(0, len(lanes), group):
        found += _passes_of_group(request, lanes[start : start + group], words)
    return found


def _passes_of_group(request: Request, lanes: list[int], words: int) -> list[dict[int, list[int]]]:
    of_bank: dict[int, dict[int, list[int]]] = {}
    for lane in lanes:
        first = request.addresses[lane] // WORD_BYTES
        for word in range(first, first + words):
            of_bank.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
    most = max(len(found) for found in of_bank.values())
    return [
        {bank: list(found.values())[i] for bank, found in of_bank.items() if i < len(found)}
        for i in range(most)
    ]


def bank_frame(request: Request) -> View:
    """One request: a row of 32 banks for each wavefront, with the banks that serve somebody filled."""
    served = passes(request)
    count = "1 wavefront" if len(served) == 1 else f"{len(served)} wavefronts"
    lanes = "1 lane" if len(request.addresses) == 1 else f"{len(request.addresses)} lanes"
    title = f"Request {request.number} of {request.count}: {count} for {lanes}"
    return frame(_draw(served, title), title, _in_words(request, served))


def _in_words(request: Request, served: list[dict[int, list[int]]]) -> str:
    words = f"Line {request.source_line}, {request.array}: "
    busy = len(served[0])
    words += f"the first wavefront uses {busy} of {BANKS} banks"
    shared = max(len(lanes) for wave in served for lanes in wave.values())
    if shared > 1:
        words += f", and one word goes to {shared} lanes at once"
    least = -(-len(request.addresses) * request.size // (BANKS * WORD_BYTES))
    if len(served) > least:
        words += f"; {len(served) - least} wavefronts are there only for bank conflicts"
    return words + "."


def _draw(served: list[dict[int, list[int]]], title: str) -> Drawing:
    pitch = WIDTH / BANKS
    drawing = Drawing(_TOP + len(served) * _HIGH + _LEGEND, f"{title}, bank by bank")
    for bank in (0, 8, 16, 24, 31):
        drawing.text((bank + 0.5) * pitch, _TOP - 4, str(bank), size=10)
    idle: list[Box] = []
    busy: list[Box] = []
    for row, wave in enumerate(served):
        for bank in range(BANKS):
            box = (bank * pitch + 0.5, _TOP + row * _HIGH, pitch - 1, _HIGH - 2)
            (busy if bank in wave else idle).append(box)
    drawing.boxes(idle, "plain")
    drawing.boxes(busy, "orange", solid=True)
    line = drawing.height - 8
    drawing.boxes([(1, line - 10, 14, 10)], "orange", solid=True)
    drawing.text(22, line, "serves a word", anchor="start", size=12)
    drawing.boxes([(130, line - 10, 14, 10)], "plain")
    drawing.text(151, line, "idle; a row is a wavefront", anchor="start", size=12)
    return drawing
