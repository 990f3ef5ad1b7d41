"""What the page on timing states: the published times, the protocol, and calls as host and device saw them."""

import re

from facts.recorded_facts import cells

from softmax_lib import contests, recorded
from softmax_lib.suites.timing import COLD_BY, LONG_CALL_US, REPLAYS

published = re.findall(r"\d+\.\d{2,4}(?=[,\]])", cells("clocks")["published"])
fifths = [float(ms) / (1000 / 64 / 5) for ms in published]
NAMES = ("fusion", "torch", "torch.compile", "triton-tile", "liger", "quack")
times = {name: recorded.times(128, 96)[name] for name in NAMES}
(compiled,) = (
    one.times_us["torch.compile"] for one in contests() if (one.rows, one.cols) == (128, 96)
)
slowest = max(NAMES, key=lambda name: times[name].host_us)
TRANSFERS = 26.176, 37.321
"""To the GPU and back, as the worklog prints them beside its naive."""

FACTS = {
    f"a whole number of fifths of a tick, {1000 / 64 / 5} ms each": True,
    "Whole numbers, all seven, within 1 %": len(fifths) == 7 and all(abs(of - round(of)) < 0.01 for of in fifths),
    "From 2,048 to 16,384 columns it's one fifth each time": [round(of) for of in fifths] == [1, 1, 1, 1, 2, 4, 8],
    "A call of more than 5 ms, such as naive's": LONG_CALL_US == 5000 < recorded.times(1024, 32768)["naive"].median_us,
    "ten times as much memory as L2 holds": COLD_BY == 10 == recorded.content["protocol"]["cold_by"],
    f"median of {recorded.content['protocol']['replays']} replays": True,
    f"for _ in range({REPLAYS}):": True,
    f"takes the GPU {times['fusion'].median_us:.1f} µs for 128 × 96 floats": True,
    f'"{times["fusion"].host_us:.0f} µs": 10, "100': True,
    "All six softmaxes keep Python busy at least twice as long as the GPU": min(of.host_us / of.median_us for of in times.values()) > 2,
    f"a function from {slowest}: its call is the slowest, {times[slowest].host_us:.0f} µs": True,
    f"it's {times['torch.compile'].median_us:.1f} µs here and {compiled:.1f} in the benchmarks": True,
    "at {:.0f} and {:.0f} GB/s".format(*(4 * 1024 * 32768 / ms / 1e6 for ms in TRANSFERS)): True,
    "on the worklog's GTX 1050 Ti": recorded.cited.gpu.endswith("GTX 1050 Ti"),
    f"{sum(TRANSFERS) / recorded.cited.ms['shuffle']:.0f} times as long as the fastest kernel of its article": True,
}  # fmt: skip
