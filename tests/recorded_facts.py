"""What the tests of the book's claims ask its record: times and counts on the worklog's rows."""

from softmax_lib import recorded
from softmax_lib.bench.plan import WORKLOG
from softmax_lib.registry import kernels

ROWS, COLS = WORKLOG
MATRIX_BYTES = 4 * ROWS * COLS


def us(name, cols=COLS, **where):
    """Microseconds at the best block size, or at the one asked for."""
    found = recorded.select(
        provider=name, rows=ROWS, cols=cols, l2="cold", dtype="float32", **where
    )
    return min(timing.median_us for timing in found)


def counted(name, cols=COLS):
    """What the hardware counted of a kernel."""
    return recorded.profile(name, ROWS, cols)


def step_us(name, number):
    """Microseconds of one of a kernel's launches, timed alone."""
    return us(name, step=kernels[name].steps[number].entry)


def scattered_cycles():
    """Cycles that L1 takes for a load and for a store of 32 lines, as a probe found."""
    return [probe.found["cycles"] for probe in recorded.probed("scattered request", lines=32)]
