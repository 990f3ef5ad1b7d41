"""What the page A method states: counters and times of its captures and its record."""

import re
from itertools import pairwise
from statistics import median

from facts.recorded_facts import tie

from softmax_lib import kernels, lie_peak, recorded
from softmax_lib.show.drawings import symptoms
from softmax_lib.show.drawings.profilers import read_captured
from softmax_lib.suites.symptoms.record import Side, symptom_times, timeline_events

LARGE = (1024, 32768)


def last_number(name, part):
    """At the end of the first line of a capture that has this."""
    line = next(one for one in read_captured(name)[1:] if part in one)
    return float(re.findall(r"[\d,.]+$", line)[0].replace(",", ""))


def samples(line):
    """Of a line of the kernel, in the source counters."""
    (found,) = (one for one in read_captured("ncu_source")[1:] if line in one)
    return int(found.split()[-2])


def us(symptom):
    return {one.role: one.median_us for one in symptom_times(symptom=symptom)}


def fusion_us(threads):
    (found,) = (one for one in recorded.content["rows"] if (one["provider"], one["rows"], one["cols"], one["block_size"]) == ("fusion", 4096, 8192, threads))  # fmt: skip
    return found["median_us"]


def held(threads):
    return symptoms._threads_held(Side("symptom", "fusion", 4096, 8192, threads))


small, graph, large = map(timeline_events, ("small, eager", "small, one graph", "large, eager"))
calls = [one.at_us for one in small if one.track == "call"]
profiled_us = median(after - before for before, after in pairwise(calls))
runs = [one for one in large if one.track == "kernel"]
gaps = [after.at_us - before.end_us for before, after in pairwise(runs)]
barriers, low = us("barriers"), symptom_times(symptom="low occupancy")[0].side
cycles, waits = (last_number("ncu_warp_states", part) for part in ("Per Issued", "Long Scoreboard"))
total = sum(map(samples, ("if (value >", "y_row[col] =")))
copy = recorded.times(*LARGE)["fusion"].copy_gb_per_s

FACTS = {
    "On the small matrix, 128 × 96 floats, the GPU waits for Python nearly all the time": symptoms.busy_share(small) < 0.1
    and {one.side.rows * one.side.cols for one in symptom_times(symptom="host-bound")} == {128 * 96},
    "the same eight kernels run back to back": [sum(one.track == "kernel" for one in seen) for seen in (small, graph)]
    == [8, 8] and us("host-bound")["cure"] < us("host-bound")["symptom"] / 4,
    "Python is soon ahead, and the GPU never waits again": max(gaps) < 5,
    "here to twice its time per call": 1.7 < profiled_us / us("host-bound")["symptom"] < 2.3,
    f"a copy gets {copy / lie_peak():.0%} of its peak".replace("%", " %"): True,
    "Memory isn't busy": last_number("ncu_speed_of_light", "DRAM Throughput") < 60,
    "the busiest unit of the SM is at half its peak": 45 < last_number("ncu_speed_of_light", "Compute (SM)") < 55,
    "Of 32 bytes per sector all are used": last_number("ncu_memory", "Average Bytes") == 32,
    "Bank conflicts: hardly any, on 65,536 shared loads": last_number("ncu_memory", "shared_op_ld.sum") < 0.03 * 65_536
    and last_number("ncu_counters", "smsp__sass_inst_executed_op_shared_ld.sum") == 65_536,
    "4 sectors per request": last_number("ncu_memory", "t_sectors") == 4 * last_number("ncu_memory", "t_requests"),
    "Most come from DRAM": last_number("ncu_memory", "dram__bytes_read") > 0.75 * 268,
    "For most of them it waits for a load": waits > cycles / 2,
    "The smallest limit counts: two blocks per SM": last_number("ncu_occupancy", "Block Limit Registers") == 2,
    "And two fill it": last_number("ncu_occupancy", "Theoretical Occupancy") == 100,
    "The load itself costs little": samples("float value = x_row[col];") < 0.03 * total,
    "its warps wait for loads, at two lines": total > 8 * samples("thread_sum *= expf"),
    "each kernel takes 2 µs, whatever it does": 1.8 < us("launch-bound")["symptom"] / len(kernels["unfused"].steps) < 2.5,
    "more bandwidth than memory has": symptom_times(symptom="L2-resident")[0].gb_per_s > lie_peak(),
    f"Going from 23 barriers to 5 saves {1 - barriers['control'] / barriers['symptom']:.0%}".replace("%", " %"): True,
    f"from 5 to 2 costs {barriers['cure'] / barriers['control'] - 1:.0%}".replace("%", " %"): True,
    f"takes as long with {held(64)} threads on an SM as with {held(512)}": tie(fusion_us(64), fusion_us(512)),
    "On the same 4,096 × 8,192 floats": (low.rows, low.cols) == (4096, 8192),
}  # fmt: skip
