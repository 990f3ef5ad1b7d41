"""What the page on error messages states: messages as a GPU printed them, sentences as `%%cuda` says them, and the fixes."""

import re

import broken
from facts.recorded_facts import edited, refusal

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
    given = read_line(f"{line} {more}")
    source = Source(f"{name}.cu", edited(text, (old, new)))
    if not given.args:
        return " ".join(one.words for one in xray(source, given.rows, given.cols).hazards)
    return " ".join(one.words for one in xray_launch(**read_launch(given, source)[0]).hazards)


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
    "Drop sizeof(float)": not said("illegal", " * sizeof(float)", ""),
    "2 MiB past the end of an array of 16 MiB": any("2,097,921 bytes after" in line and "16,777,216" in line for line in ILLEGAL),
    said("dynamic"): True,
    "<<<1, 256, 256 sizeof(float)>>>": not said("dynamic", more="--shared-bytes 1024"),
    "under compute-sanitizer most faults end like this, also the illegal access above": any("719: unspecified launch failure" in line for line in ILLEGAL),
    said("trap"): True,
    "Pad rows to a multiple of 4 floats": said("misaligned", wide=4098) != "" == said("misaligned", wide=4100),
    "launch two blocks of 512, each from x + 512 blockIdx.x on": not said(
        "resources", "float v[64]", "x += 512 * blockIdx.x, y += 512 * blockIdx.x; float v[64]", more="--grid 2 --block 512"
    ),
    "__launch_bounds__(1024) after __global__ void": not said("resources", "void ", "void __launch_bounds__(1024) "),
    "needs a few more": "80 registers" in refusal(BlockSizeNotAllowed, said, "resources"),
    refusal(BadInput, said, "race", more="--block 2048"): True,
    f"an H200 holds {recorded.content['gpu']['multiprocessors'] * 2048 // 1024} of this size at a time": True,
    "No message at all": read_captured("errors_hang")[1:] == ["status 124"],
    said("barrier"): True,
    "Our H200 ran it to its end, and synccheck found nothing": read_captured("errors_barrier")[-1] == "========= ERROR SUMMARY: 0 errors",
    "Close the if before the barrier, and open it again behind": not said("barrier", "        __syncthreads();\n", "    }\n    __syncthreads();\n    if (threadIdx.x < n) {\n"),
    said("unwritten"): True,
    "Put a __syncthreads() into the loop, before each step and outside of the if": not said("race", "        if (i < half) part[i] += part[i + half];", "    { __syncthreads(); if (i < half) part[i] += part[i + half]; }"),
    f"printed {FIRST[0]} ms for the first tensor, which sets up the GPU, then {FIRST[1]}, {FIRST[2]} and {FIRST[3]} ms for torch's softmax": len(FIRST) == 7,
    f"and {FIRST[4]}, {FIRST[5]} and {FIRST[6]} ms for ours": True,
}  # fmt: skip
