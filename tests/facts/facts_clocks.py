"""What the page on timing states: the published times, the protocol, and calls as host and device saw them."""

import re

import nbformat
from notebooks import BOOK

from softmax_lib import contests, recorded
from softmax_lib.suites.timing import COLD_BY, LONG_CALL_US, REPLAYS

(cell,) = (of for of in nbformat.read(BOOK / "clocks.ipynb", 4).cells if of.id == "published")
fifths = [float(ms) / (1000 / 64 / 5) for ms in re.findall(r"\d+\.\d{2,4}(?=[,\]])", cell.source)]
NAMES = ("fusion", "torch", "torch.compile", "triton-tile", "liger", "quack")
times = {name: recorded.times(128, 96)[name] for name in NAMES}
(compiled,) = (
    one.times_us["torch.compile"] for one in contests() if (one.rows, one.cols) == (128, 96)
)
slowest = max(NAMES, key=lambda name: times[name].host_us)
TRANSFERS = 26.176, 37.321
"""To the GPU and back, as the worklog prints them beside its naive."""

FACTS = {
    "a whole number of fifths of a tick, 3.125 ms each": f"a whole number of fifths of a tick, {1000 / 64 / 5} ms each",
    "Whole numbers, all seven, within 1 %": len(fifths) == 7 and all(abs(of - round(of)) < 0.01 for of in fifths),
    "From 2,048 to 16,384 columns it's one fifth each time": [round(of) for of in fifths] == [1, 1, 1, 1, 2, 4, 8],
    "A call of more than 5 ms, such as naive's": LONG_CALL_US == 5000 < recorded.times(1024, 32768)["naive"].median_us,
    "ten times as much memory as L2 holds": COLD_BY == 10 == recorded.content["protocol"]["cold_by"],
    "median of 15 replays": f"median of {recorded.content['protocol']['replays']} replays",
    "for _ in range(15):": f"for _ in range({REPLAYS}):",
    "takes the GPU 2.3 µs for 128 × 96 floats": f"takes the GPU {times['fusion'].median_us:.1f} µs for 128 × 96 floats",
    '"10 µs": 10': f'"{times["fusion"].host_us:.0f} µs": 10',
    "All six softmaxes keep Python busy at least twice as long as the GPU": min(of.host_us / of.median_us for of in times.values()) > 2,
    "a function from torch.compile: its call is the slowest, 33 µs": f"a function from {slowest}: its call is the slowest, {times[slowest].host_us:.0f} µs",
    "it's 5.5 µs here and 2.1 in the benchmarks": f"it's {times['torch.compile'].median_us:.1f} µs here and {compiled:.1f} in the benchmarks",
    "at 5 and 4 GB/s": "at {:.0f} and {:.0f} GB/s".format(*(4 * 1024 * 32768 / ms / 1e6 for ms in TRANSFERS)),
    "on the worklog's GTX 1050 Ti": recorded.cited.gpu.endswith("GTX 1050 Ti"),
    "12 times as long as the fastest kernel of its article": f"{sum(TRANSFERS) / recorded.cited.ms['shuffle']:.0f} times as long as the fastest kernel of its article",
}  # fmt: skip
