"""Memory that kernels find as zeros when they begin, and share from launch to launch.

The blocks of kernels/fast/grid.cu write to each other in it: a slot of 16 bytes each, where they count
their turns, and which they never reset. Those of topk.cu count in it who has arrived, 4 bytes a row, and
leave zeros. Launches on one stream follow one another and share their slots; so do those that are captured
into one graph from one stream. A graph may run beside any other launch, and has slots of its own.
"""

from __future__ import annotations

import ctypes
import threading

import torch
from torch import Tensor

from softmax_lib.gpu.driver_api import driver, require
from softmax_lib.ops.outlines import SETS, SLOT_BYTES

COUNTERS = 0
"""What stands for `team` where a launch counts in its slots; for its `blocks` stand rows, with a counter each."""
BLOCKS_AT_ONCE = 16384
"""More blocks than any GPU runs at once."""
RESERVED_BYTES = 4 << 20
"""Slots kept for launches that are captured; those of one stream take 4 KB to 64 KB a graph."""

_lock = threading.Lock()
_of_streams: dict[tuple[int, int, int], Tensor] = {}
_reserved: dict[int, tuple[Tensor, int]] = {}
_of_captures: dict[tuple[int, int, int, int, int], int] = {}


def address(device: int, team: int, blocks: int) -> int:
    """Where a launch of `blocks`, `team` to a row, on the current stream of a GPU finds its slots."""
    stream = torch._C._cuda_getCurrentRawStream(device)
    if torch.cuda.is_current_stream_capturing():
        return _for_graph((device, stream, team, blocks, _capture_of(stream)))
    key = (device, stream, team)
    held = _of_streams.get(key)
    if held is None:
        held = _for_stream(key)
    return held.data_ptr()


def _capture_of(stream: int) -> int:
    """What the driver calls the capture that a stream takes part in; another one each time."""
    status, capture = ctypes.c_int(), ctypes.c_ulonglong()
    asked = (ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(capture), None, None, None)
    require(driver().cuStreamGetCaptureInfo_v2(*asked), "tell of a capture")
    return capture.value


def _for_stream(key: tuple[int, int, int]) -> Tensor:
    with _lock:
        device = key[0]
        if device not in _reserved:  # a capture could not make it
            _reserved[device] = (_zeros(device, RESERVED_BYTES), 0)
            torch.cuda.synchronize(device)
        if key not in _of_streams:
            _of_streams[key] = _zeros(device, SETS * SLOT_BYTES * BLOCKS_AT_ONCE)
        return _of_streams[key]


def _for_graph(key: tuple[int, int, int, int, int]) -> int:
    device, _, _, blocks, _ = key
    size = SETS * SLOT_BYTES * blocks
    with _lock:
        memory, used = _reserved.get(device, (None, 0))
        if key not in _of_captures and memory is not None and used + size <= memory.numel():
            _reserved[device] = (memory, used + size)
            _of_captures[key] = memory.data_ptr() + used
        if key in _of_captures:
            return _of_captures[key]
    # The graph sets these to zero each time it runs. What is captured behind the launch may have the
    # memory after it.
    return _zeros(device, size).data_ptr()


def _zeros(device: int, size: int) -> Tensor:
    return torch.zeros(size, dtype=torch.uint8, device=f"cuda:{device}")
