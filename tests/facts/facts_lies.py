"""What the page of seven misleading benchmarks states: each phrase as the run has it, or whether it holds."""

import re

import numpy as np
from facts.recorded_facts import tie

from softmax_lib import kernels, lie_peak, lie_times, xray_launch
from softmax_lib.suites.lies.record import lie_run
from softmax_lib.suites.timing import COLD_BY

MIB = 2**20
LINES = lie_run()["advertisements"]
L2 = lie_run()["gpu"]["l2_bytes"]


def us(lie, key):
    """Medians of one lie, by a field."""
    return {getattr(one, key): one.median_us for one in lie_times(lie=lie)}


def by_size(method):
    """Times of the warm cache, by the MiB of the matrix."""
    return {one.matrix_bytes // MIB: one for one in lie_times(lie="warm cache", method=method)}


def is_shown(lie):
    """The lines that were run, as they stand on the page; true as a phrase."""
    return re.sub(r"\s+", " ", LINES[lie].replace("*", "")).strip()


def calls(method):
    """Of a mean of ten: a line for each pass."""
    (found,) = lie_times(lie="mean of all", method=method)
    return np.reshape(found.us, (-1, 10))


def long_way_warps(x):
    """How many warps take the long way of a division in shuffle_divide's machine code."""
    (rows, cols), text = x.shape, kernels["shuffle_divide"].source.text
    args = (x, np.zeros_like(x), rows, cols)
    found = xray_launch(text, rows, 256, args, defines={"BLOCK": 256})
    return sum(one.warps for one in found.code if "CALL" in one.text)


def changed_lines():
    """Of shuffle, by shuffle_divide, without comments."""
    ours, theirs = (
        kernels[name].source.text.splitlines() for name in ("shuffle", "shuffle_divide")
    )
    pairs = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    return [pair for pair in pairs if not pair[0].startswith("//")]


asked = us("no synchronisation", "method")
warm, cold = by_size("one pair"), by_size("protocol")
flush, rivals = us("zeroed flush", "method"), us("slow rival", "who")
written, read, both = (flush[how] for how in ("writes zeros", "reads noise", "writes, then reads"))
means = {one.method: one.mean_us for one in lie_times(lie="mean of all")}
theirs, ours = calls("theirs, first"), calls("ours, second")
protocol = us("mean of all", "method")["protocol"]
shapes = {(one.who, one.cols): one.median_us for one in lie_times(lie="one shape")}
gains = {
    cols: shapes["torch", cols] / time for (who, cols), time in shapes.items() if who == "fusion"
}
data = {(one.who, one.data): one.median_us for one in lie_times(lie="easy data")}
kinds = {kind for _, kind in data}
masked_gain, noise_gain = (data["torch", of] / data["fusion", of] for of in ("masked", "normal"))
noise = np.random.default_rng(0).standard_normal((2, 4096), np.float32)
masked = np.where(np.arange(4096) % 2, noise, -np.inf).astype(np.float32)


def slower(who, kind):
    return data[who, kind] / data[who, "normal"]


FACTS = {
    f"look {asked['synchronised'] / asked['as advertised']:.0f}x faster": True,
    f"memory gives at most {lie_peak():,.0f} GB/s": True,
    is_shown("no synchronisation"): True,
    "with most of the work still to do": asked["as advertised"] < asked["synchronised"] / 10,
    "The control is that line": is_shown("synchronised").replace(" torch.cuda.synchronize()", "") == is_shown("no synchronisation"),
    "Python's clock agrees with our protocol": tie(asked["synchronised"], asked["protocol"]),
    f"{4 * 1024 * 32768 / 1e6:.0f} MB read and {4 * 1024 * 32768 / 1e6:.0f} MB written": True,
    "time for one softmax, not for twenty": round(20 * asked["as advertised"] / asked["protocol"]) == 1,
    f"The matrix has {4 * 1024 * 32768 // MIB} MiB, and the largest cache, L2, holds {L2 // MIB}": True,
    is_shown("warm cache"): True,
    f"{4 * 1024 * 4096 / 1e6:.1f} MB read and {4 * 1024 * 4096 / 1e6:.1f} MB written": True,
    "the L2 cache holds both": 2 * 16 * MIB < L2,
    "more than memory can give": lie_times(lie="warm cache", method="as advertised")[0].gb_per_s > 1.05 * lie_peak(),
    "from 64 MiB on the lines meet": {size for size in warm if tie(warm[size].median_us, cold[size].median_us)} == {64, 128},
    "Dividing caught this at 16 MiB only": [size for size, one in warm.items() if one.gb_per_s > lie_peak()] == [16],
    f"at 8 MiB the warm time is {100 * (1 - warm[8].median_us / cold[8].median_us):.0f} % too short": True,
    "We fill L2 ten times over": COLD_BY == 10,
    is_shown("zeroed flush"): True,
    "the call pays for the flush": all(flush[how] > 1.15 * flush["protocol"] for how in ("as advertised", "writes zeros", "writes noise")),
    "noise costs as much as zeros": tie(flush["writes noise"], written),
    f"After a flush that only reads it's {flush['reads zeros']:.1f} µs": True,
    f"gets {flush['waits']:.1f} µs, and section 2's graph {lie_times(lie='warm cache', method='as advertised')[0].median_us:.1f}": True,
    f"at 16 MiB it's {100 * (warm[16].median_us / lie_times(lie='warm cache', method='as advertised')[0].median_us - 1):.0f} % above the advertised time": True,
    "a read after the write removes most of the extra time": read < both < read + (written - read) / 4,
    "after a mere pause": min(flush, key=flush.get) == "waits",
    is_shown("mean of all"): True,
    "We did that fifteen times": len(theirs) == len(ours) == 15,
    "The first call takes twice as long": all(1.8 < one / np.median(theirs) < 2.3 for one in theirs[:, 0]) and theirs[:, 1:].max() < 1.15 * np.median(theirs),
    f"One slow call moves the mean by {100 * (means['theirs, first'] / means['ours, second'] - 1):.0f} %": True,
    "so would their median": tie(np.median(theirs), np.median(ours)),
    f"still {100 * (np.median(ours) / protocol - 1):.0f} % above the protocol's {protocol:.0f} µs": True,
    "hand softmax that memory, and no call is slow": all(of.max() < 1.1 * np.median(of) for of in (calls("with memory"), ours)),
    "both names stand for torch.softmax": {one.who for one in lie_times(lie="mean of all")} == {"torch"},
    is_shown("slow rival"): True,
    "these lines are the slowest rival we timed": max(rivals, key=rivals.get) == "five operations",
    "That's against torch.softmax. Others are faster": round(rivals["torch"] / rivals["fusion"], 1) == 1.6 and min(rivals["torch.compile"], rivals["triton-tile"]) < rivals["torch"],
    "A simple Triton kernel does as well as fusion": sorted(rivals, key=rivals.get)[:3] == ["copy", "fusion", "triton-tile"],
    "takes less than a third as long, and so does torch.compile": 3 * max(rivals["torch"], rivals["torch.compile"]) < rivals["five operations"],
    "A simple Triton kernel comes within 3 % of fusion": 1 < rivals["triton-tile"] / rivals["fusion"] < 1.03,
    "Of the eleven lengths we timed, 8,192 has the largest gain": len(gains) == 11 and max(gains, key=gains.get) == 8192,
    f"at least {100 * (1 - max(gains[4096], gains[16384]) / gains[8192]):.0f} % smaller": True,
    "on rows of up to 256 floats fusion loses": [cols for cols in gains if gains[cols] < 1] == [32, 64, 128, 256],
    f'"{100 * (slower("torch", "masked") - 1):.0f} % longer"': True,
    "fusion takes the same time on any": all(tie(slower("fusion", kind), 1) for kind in kinds),
    f"it's {noise_gain:.1f}x as fast as torch on noise and {masked_gain:.1f}x on masked scores": True,
    "shuffle_divide is shuffle with a division per float": [("scale" in one, "row_sum" in other) for one, other in changed_lines()] == [(True, True)] * 2,
    "Masked and wide scores slow it down, but not shuffle": all(slower("shuffle_divide", of) > 1.1 and tie(slower("shuffle", of), 1) for of in ("masked", "spread")),
    "the division takes a longer way to results that are zero or tiny": long_way_warps(noise) <= 2 * 8 < 128 < min(map(long_way_warps, (masked, 60 * noise))),
}  # fmt: skip
