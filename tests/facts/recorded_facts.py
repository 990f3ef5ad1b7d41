"""What the tables of facts ask the book's record: times and counts on the worklog's rows."""

import nbformat
import numpy as np
import torch
from notebooks import BOOK

from softmax_lib import recorded, warp_times
from softmax_lib.engine.compiled.inspection import inspect
from softmax_lib.records.measurement import TIE
from softmax_lib.show.figures.traffic import kernel_in_flight
from softmax_lib.suites.plan import WORKLOG
from softmax_lib.suites.times import shown_times
from softmax_lib.worklog.reads import in_flight_per_thread, reads
from softmax_lib.worklog.registry import kernels

ROWS, COLS = WORKLOG
MATRIX_BYTES = 4 * ROWS * COLS


def close(a, b, share=0.02):
    """Whether a is b, but for this share of it."""
    return abs(a / b - 1) < share


def tie(*times, within=TIE - 1):
    """Whether these are level."""
    return max(times) < (1 + within) * min(times)


def cells(page):
    """The source of a page's cells, by their ids."""
    return {cell.id: cell.source for cell in nbformat.read(BOOK / f"{page}.ipynb", 4).cells}


def edited(text, *swaps):
    """A text with one part after the other changed, each of which is there."""
    for old, new in swaps:
        assert old in text
        text = text.replace(old, new)
    return text


def refusal(error, call, *given, **words):
    """What is said where a call raises such an error; "" where it doesn't."""
    try:
        call(*given, **words)
    except error as told:
        return str(told)
    return ""


def numbers(cols):
    """A small matrix of them, aligned."""
    return torch.randn(3, cols, generator=torch.Generator().manual_seed(cols))


def code(name, size=1024, cols=COLS):
    """What a kernel's machine code for an H200 says of registers, and of blocks on a multiprocessor."""
    (found,) = inspect(kernels[name].program(size, cols), size, [90])
    return found


def asked_bytes(name, size=1024):
    """Bytes that a thread asks for before it waits, most at any place."""
    return int(in_flight_per_thread(reads(kernels[name], size, COLS, 90)))


def loads_in_loops(name, arch=90):
    """Loads that leave before the first is needed, their bytes and calls, of each loop of a kernel."""
    found = reads(kernels[name], 1024, COLS, arch)
    return [(read.loads, read.asked_bytes, read.calls) for read in found if read.in_loop]


def as_long_as_whole(name, within=0.01):
    """Whether the short kernel of a chapter's cell takes as long as the whole one."""
    return all(close(one.us, one.full_us, within) for one in shown_times(kernel=name))


def us(name, cols=COLS, **where):
    """Microseconds at the best block size, or at the one asked for."""
    found = recorded.select(
        provider=name, rows=ROWS, cols=cols, l2="cold", dtype="float32", **where
    )
    return min(timing.median_us for timing in found)


def counted(name, cols=COLS):
    """What the hardware counted of a kernel."""
    return recorded.profile(name, ROWS, cols)


def dram_bytes(profile):
    """Bytes that DRAM read and wrote."""
    return profile.counters["dram_read_bytes"] + profile.counters["dram_write_bytes"]


def step_us(name, number):
    """Microseconds of one of a kernel's launches, timed alone."""
    return us(name, step=kernels[name].steps[number].entry)


def latency(kib):
    """Cycles of a load from a chain of so many KiB."""
    (probe,) = recorded.probed("latency", kib=kib)
    return probe.found["cycles"]


def scattered_cycles():
    """Cycles that L1 takes for a load and for a store of 32 lines, as a probe found."""
    return [probe.found["cycles"] for probe in recorded.probed("scattered request", lines=32)]


def best_gb_per_s(width, size):
    """The most that a probe read, by loads of `width` bytes with `size` bytes in flight."""
    probes = recorded.probed("read bandwidth", width=width, bytes=size)
    return max(probe.found["gb_per_s"] for probe in probes)


def curve(size):
    """GB/s that loads of 4 bytes reach with so many in flight, between the points of the probe."""
    sizes = sorted({probe.at["bytes"] for probe in recorded.probed("read bandwidth", width=4)})
    speeds = [best_gb_per_s(4, of) for of in sizes]
    return np.exp(np.interp(np.log(size), np.log(sizes), np.log(speeds)))


def over_curve(name, block_size=None):
    """How high a kernel's mark is in the figure, over what the curve has for as many in flight."""
    profile = recorded.profile(name, ROWS, COLS, block_size)
    flying, gb_per_s = kernel_in_flight(recorded(), profile)
    return gb_per_s / curve(flying)


def beside_the_fastest(name):
    """Time of one by matrix of the plane, over that of the fastest of the chapters' kernels."""
    times = {}
    for one in warp_times(part="plane"):
        times.setdefault((one.rows, one.cols), []).append(one)
    return {
        matrix: next(one.us for one in of if one.name == name) / min(one.us for one in of if one.block_size)
        for matrix, of in times.items()
        if any(one.name == name for one in of)
    }  # fmt: skip
