"""What the page on error messages states: messages as a GPU printed them, sentences as `%%cuda` says them, and the fixes."""

import re

import broken

from softmax_lib import recorded, xray, xray_launch
from softmax_lib.engine.errors import BadInput, BlockSizeNotAllowed
from softmax_lib.engine.source import Source
from softmax_lib.show.drawings.profilers import read_captured
from softmax_lib.show.live.cells import read_line
from softmax_lib.worklog.launch_words import read_launch

RUNS, TORCH, ILLEGAL = (read_captured(f"errors_{name}") for name in ("cuda", "torch", "illegal"))
FIRST = [line.removesuffix(" ms").strip() for line in read_captured("errors_first")[1:]]
CAPTURED = [line for name in ("cuda", "misaligned", "trap", "race", "unwritten") for line in read_captured(f"errors_{name}")]  # fmt: skip
TEXT = "\n".join(broken.cells())
MESSAGES = {
    "illegal": "cudaErrorIllegalAddress, 700: an illegal memory access was encountered",
    "misaligned": "cudaErrorMisalignedAddress, 716: misaligned address",
    "asserted": "cudaErrorAssert, 710: device-side assert triggered",
    "resources": "cudaErrorLaunchOutOfResources, 701: too many resources requested for launch",
    "configuration": "cudaErrorInvalidValue, 1: invalid argument",
    "argument": "cudaErrorInvalidValue, 1: invalid argument",
    "image": "cudaErrorNoKernelImageForDevice, 209: no kernel image is available for execution on the device",
    "dynamic": "cudaErrorIllegalAddress, 700: an illegal memory access was encountered",
    "trap": "cudaErrorLaunchFailure, 719: unspecified launch failure",
}
"""Of each program, in the order of the capture."""


def printed():
    """The error that each program printed."""
    lines = [line.partition(": ")[2] for line in RUNS[1:] if line.startswith(("launch", "sync"))]
    return dict(zip(MESSAGES, (line for line in lines if "cudaSuccess" not in line), strict=True))


def said(name, old="", new="", more="", wide=4098):
    """The hazards of a kernel of the page, after an edit, with more words for its launch, or with rows so `wide`."""
    line, text = broken.kernels_of_the_page()[name]
    line = line.replace("4098", str(wide))
    assert old in text
    given = read_line(f"{line} {more}")
    source = Source(f"{name}.cu", text.replace(old, new))
    if not given.args:
        return " ".join(one.words for one in xray(source, given.rows, given.cols).hazards)
    return " ".join(one.words for one in xray_launch(**read_launch(given, source)[0]).hazards)


def refused(error, name, more):
    """What is said of a launch that is not tried."""
    try:
        return said(name, more=more)
    except error as told:
        return str(told)


def quotes():
    """Each line of a sanitizer's or an assertion's that the page quotes, and whether it was printed so."""
    for line in re.findall(r"^(?:Invalid __|Trace|Uninit|Error: Race|build/|    (?:at|Access|and|Device)).*", TEXT, re.MULTILINE):  # fmt: skip
        parts = map(re.escape, line.partition("←")[0].strip().split("..."))
        yield re.sub(r"\s+", " ", line.replace("`", "")), any(re.search(".*".join(parts), one) for one in CAPTURED)  # fmt: skip


FACTS = {
    **{message.rpartition(": ")[0]: printed()[name] == message for name, message in MESSAGES.items()},
    **{f"## {message.rpartition(': ')[2]}": True for message in MESSAGES.values()},
    **dict(quotes()),
    "torch adds this to each error": all(sum(part in line for line in TORCH) == sum("CUDA error" in line for line in TORCH) for part in ("CUDA kernel errors might be asynchronously reported at some other API call", "CUDA_LAUNCH_BLOCKING=1")),
    "CUDA 13 calls it invalid argument": printed()["configuration"].endswith("invalid argument"),
    # an illegal address
    "Drop sizeof(float)": not said("illegal", " * sizeof(float)", ""),
    "2 MiB past the end of an array of 16 MiB": any("2,097,921 bytes after" in line and "16,777,216" in line for line in ILLEGAL),
    "out of bounds: illegal address: thread 0 of block (0,0,0) stores 4 bytes at t[0], past the end of its 0 elements at dynamic.cu:4.": said("dynamic"),
    "<<<1, 256, 256 sizeof(float)>>>": not said("dynamic", more="--shared-bytes 1024"),
    "under compute-sanitizer most faults end like this, also the illegal access above": any("719: unspecified launch failure" in line for line in ILLEGAL),
    "fault: thread 0 of block (0,0,0): __trap() was called at trap.cu:3.": said("trap"),
    # alignment
    "With 4,098 columns row 1 starts 8 bytes further": 4098 * 4 % 16 == 8,
    "Pad rows to a multiple of 4 floats": said("misaligned", wide=4098) != "" == said("misaligned", wide=4100),
    # resources
    "64 for each of 1,024 threads": 65536 // 1024 == 64,
    "launch two blocks of 512, each from x + 512 blockIdx.x on": not said(
        "resources", "float v[64]", "x += 512 * blockIdx.x, y += 512 * blockIdx.x; float v[64]", more="--grid 2 --block 512"
    ),
    "__launch_bounds__(1024) after __global__ void": not said("resources", "void ", "void __launch_bounds__(1024) "),
    "needs a few more": "80 registers" in refused(BlockSizeNotAllowed, "resources", ""),
    "The block has 2048 threads along x; a GPU takes up to 1024.": refused(BadInput, "race", "--block 2048"),
    # hangs
    "an H200 holds 264 of this size at a time": f"an H200 holds {recorded.content['gpu']['multiprocessors'] * 2048 // 1024} of this size at a time",
    "No message at all": read_captured("errors_hang")[1:] == ["status 124"],
    "barrier not reached by every thread of block (0,0,0): threads 50-63 exited; threads 0-49 wait at __syncthreads() barrier.cu:6.": said("barrier"),
    "Our H200 ran it to its end, and synccheck found nothing": read_captured("errors_barrier")[-1] == "========= ERROR SUMMARY: 0 errors",
    "Close the if before the barrier, and open it again behind": not said("barrier", "        __syncthreads();\n", "    }\n    __syncthreads();\n    if (threadIdx.x < n) {\n"),
    # NaN and races
    "uninitialised: thread 0 of block (0,0,0) reads y[0] at unwritten.cu:4, which nobody has written yet (64 times).": said("unwritten"),
    "Put a __syncthreads() into the loop, before each step and outside of the if": not said("race", "        if (i < half) part[i] += part[i + half];", "    { __syncthreads(); if (i < half) part[i] += part[i + half]; }"),
    # the first time
    f"printed {FIRST[0]} ms for the first tensor, which sets up the GPU, then {FIRST[1]}, {FIRST[2]} and {FIRST[3]} ms for torch's softmax": len(FIRST) == 7,
    f"and {FIRST[4]}, {FIRST[5]} and {FIRST[6]} ms for ours": True,
}  # fmt: skip
