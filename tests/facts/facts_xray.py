"""What the page on x-rays and its evidence state: each phrase as the record and the counters have it, or whether it holds."""

import json
import re
from functools import cache

import others
import torch
from engine.compiled.hard_launches import HARD, KINDS
from engine.compiled.test_witnesses import KNOWN, RECORD, TURNS
from facts.recorded_facts import COLS, MATRIX_BYTES, ROWS, cells, refusal, scattered_cycles, us

from softmax_lib import recorded, xray, xray_launch
from softmax_lib.engine.compiled.counters import COUNTERS
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.source import Source
from softmax_lib.records.agreement import compare_code
from softmax_lib.records.schema import METRICS
from softmax_lib.show.drawings.memory_charts import flows_of
from softmax_lib.worklog.reductions import read_timeline
from softmax_lib.worklog.registry import resolve

page, evidence = cells("xray"), cells("evidence/xray")
WAVEFRONTS = ("shared_load_wavefronts", "shared_store_wavefronts")
INLINE = 'asm volatile("membar.gl;"); y[threadIdx.x] = x[threadIdx.x];'
KERNEL = 'extern "C" __global__ void own(const float* x, float* y, int, int) {\n%s\n}'
PADDED = page["guess-text"].split("```cuda\n")[1].split("```")[0]


def text_of(cell):
    """The kernel in a cell."""
    return page[cell].partition("\n")[2]


def strided(stride):
    """Of the loads of x and of the words: sectors, share wasted, wavefronts."""
    text = page["strides"].split('"""')[1].replace("STRIDE", str(stride))
    x, _, words, _ = xray(text, 1, 33 * 32, 32).lines
    return x.sectors, 1 - 128 / (32 * x.sectors), words.wavefronts


def hazards(old="", new=""):
    """Of the softmax with a race, after an edit: what kinds there are."""
    found = xray(text_of("broken").replace(old, new), 4, 256, 64)
    return {hazard.kind for hazard in found.hazards}


def transposed(text):
    """What a request of each kind takes on average."""
    found = xray_launch(text, (2, 2), (32, 8), [torch.rand(64, 64), torch.zeros(64, 64)]).total
    units = [(f"global_{way}", "sectors") for way in ("load", "store")]
    units += [(f"shared_{way}", "wavefronts") for way in ("load", "store")]
    return [found[f"{of}_{unit}"] / max(found[f"{of}_requests"], 1) for of, unit in units]


def kinds(body, blocks=1, threads=64):
    return [hazard.kind for hazard in xray(KERNEL % body, blocks, 64, threads).hazards]


def refuses(line):
    """Whether a kernel is refused with its line."""
    source = Source("own.cu", KERNEL.replace("int, int", "int, int cols") % line)
    return "own.cu:2 uses" in refusal(NotAvailable, xray, source, 1, 32, 32)


def barriers(name):
    return read_timeline(resolve(name), 1024, 256).shape[1] - 1


@cache
def recorded_shape(name):
    """The x-ray of a matrix that was profiled on an H200."""
    return xray(name, ROWS, COLS)


charts = [flows_of(recorded_shape(name)) for name in re.findall(r'"(\w+)"', page["chart"])[1:]]
busy = [chart.dram_share for chart in charts]
rest = [one.share for chart in charts for one in chart.flows if one.level != "DRAM" and one.share]
naive = recorded.profile("naive", 1024, 32768).counters
launches = list(compare_code())
differing = [one for one in launches if one.differences]
unsteady = [one for one in differing if any(again != then for _, then, again in one.differences.values())]  # fmt: skip
off = [count - ours for one in differing for ours, *theirs in one.differences.values() for count in theirs]  # fmt: skip
LARGE = {
    name: (recorded_shape(name).total, recorded.profile(name, ROWS, COLS).counters)
    for name in re.findall(r'"(\w+)"', evidence["large"].partition(":")[0])
}
more = {
    name: max(theirs[unit] / ours[unit] - 1 for unit in WAVEFRONTS if ours[unit])
    for name, (ours, theirs) in LARGE.items()
}
slow, fast = (xray(name).total for name in ("shuffle", "constant_stride"))
tried = json.loads(others.RECORD.read_text())["kernels"]
right = sum(one["taken"] for one in tried)
constant = "__constant__ float taps[4];\n" + KERNEL % "y[threadIdx.x] = taps[threadIdx.x % 4];"

even, odd = (xray("fusion", 64, cols, path="machine") for cols in (4096, 4097))
by_float4s = [
    next(line.sectors_a_request for line in of.lines if line.size == 16) for of in (odd, even)
]

FACTS = {
    "take {:.1f} sectors a request instead of {:.0f}".format(*by_float4s): True,
    f"chooses {odd.block_size} threads, and executes {odd.total['instructions'] / even.total['instructions']:.1f} times the instructions": True,
    "at least 4 for 32 floats": strided(1)[0] == 4,
    "at least 1 for 32 floats": strided(1)[2] == 1,
    "From 8 floats on each lane has a sector to itself: 32 sectors, 87.5 % wasted": [strided(of)[:2] for of in (4, 8, 16)] == [(16, 0.75), (32, 0.875), (32, 0.875)],
    "At stride 32 all words are in the same bank, so that's 32 wavefronts": strided(32)[2] == 32,
    "one wavefront serves them all": strided(33)[2] == 1,
    "Both reductions share partial": hazards() == {"race"},
    "Give the sum an array of its own: partial_sum": not hazards("sum = block_sum(sum, partial)", "__shared__ float partial_sum[WARPS]; sum = block_sum(sum, partial_sum)"),
    "A __syncthreads() before block_sum works too": not hazards("sum = block_sum", "__syncthreads(); sum = block_sum"),
    "a mistake on a branch that no thread takes stays hidden": not kinds("if (x[0] > 100) y[-1] = 0;"),
    "each stores into another row, so a store takes 32 sectors": transposed(text_of("transpose"))[:2] == [4, 32],
    "Loads and stores take 4 sectors, and each request of shared memory one wavefront": transposed(PADDED) == [4, 4, 1, 1],
    "With tile[32][32] a column takes 32": transposed(PADDED.replace("33", "32"))[2] == 32,
    f"{len(tried)} kernels from CUDA's samples, llm.c and flash-attention-minimal: {right} give the right result, and for {len(tried) - right}": True,
    f"three times through a matrix of {MATRIX_BYTES / 1e6:.0f} MB": True,
    "touch 8 times the bytes that they ask for": naive["global_load_sectors"] * 32 == 8 * 3 * MATRIX_BYTES,
    f'"{MATRIX_BYTES / 1e6:.0f} MB, once", "{naive["dram_read_bytes"] / 1e6:.0f} MB, three times", "{naive["global_load_sectors"] * 32 / 1e9:.1f} GB"': True,
    "fusion, the fastest of these": min(charts, key=lambda chart: chart.time_us) is charts[-1],
    f"DRAM gets from {100 * busy[0]:.0f} % of its peak to {100 * busy[-1]:.0f} %, rising with each kernel": busy == sorted(busy),
    "none comes to a third of its peak": max(rest) < 1 / 3,
    f"takes L1 {scattered_cycles()[0]:.0f} cycles": True,
    f"only come to each of {barriers('shared')} barriers. shuffle has {barriers('shuffle')}": True,
    f"compared {len(COUNTERS)} counters": True,
    f"three matrices each | {len(launches)} | {len(launches) - len(differing)} |": len(launches) == 3 * len({one.launch.kernel for one in launches}),
    f"hard to count | {len(HARD)} | {len(HARD) - len(KNOWN)} |": len(RECORD["kernels"]) == len(HARD),
    f"In the other {len(differing)} only wavefronts and conflicts of shared memory are off, by {max(off)} at most": {re.sub("load|store", "", name) for one in differing for name in one.differences} == {"shared__wavefronts", "shared__conflicts"} and min(off) >= 0,
    "up to 9 % more, and for one control a third": [f"{100 * of:.0f}" for of in sorted(more.values())[-2:]] == ["9", "33"],
    "On the chart's, requests and sectors of global memory agree exactly": all(ours[of] == theirs[of] for ours, theirs in LARGE.values() for of in ours if of in theirs and of.startswith("global")),
    f"in {len(unsteady)} of these the profiler itself counted another number the second time": True,
    "Each was launched twice under the profiler": all("counted_again" in one for one in RECORD["kernels"].values()),
    **{f"| {kind} | {len(names)} | {len(set(names) - set(KNOWN))} |": True for kind, names in KINDS.items()},
    **{f"not of {name}: " + ("all that a turn of its loop asks for" if of == TURNS else ", ".join(sorted(of)).replace("_", " ")): True for name, of in KNOWN.items()},
    **{f"| {name.replace('_', ' ')} | {METRICS[name]} |": True for name in ("global_load_requests", "global_load_sectors", "shared_load_wavefronts")},
    f"| bytes that DRAM reads | {METRICS['dram_read_bytes']} |": True,
    f"ask memory for exactly the same, and shuffle takes {us('shuffle') / us('constant_stride'):.2f}x as long": {name: of for name, of in slow.items() if name != "instructions"} == {name: of for name, of in fast.items() if name != "instructions"},
    "__constant__ arrays isn't counted": [(line.space, line.operation) for line in xray(constant, 1, 32, 32).lines] == [("global", "store")],
    "The emulator wants all, and reports a hazard": kinds("if (threadIdx.x >= 32) return;\n__syncthreads();\ny[threadIdx.x] = 1;") == ["barrier"],
    "With inline PTX its machine code is counted, but nobody looks for hazards": not (inline := xray(KERNEL % INLINE, 1, 32, 32)).hazards_sought and inline.total["global_load_requests"] == 1,
    "A kernel that uses them is refused, with the line": refuses("wmma::mma_sync(a, b, c, d);") and refuses("y[0] = tex2D<float>(cols, 0, 0);"),
}  # fmt: skip
