"""What the page on error messages states: what an H200 and compute-sanitizer said, and what our tools say without one."""

import re

import numpy as np

from softmax_lib import xray_launch
from softmax_lib.drawings.captures import read_captured
from softmax_lib.errors import BadInput
from softmax_lib.records.measurement import ITEM_BYTES

cuda = "\n".join(read_captured("errors_cuda")[1:])
said = dict(
    re.findall(r"^(\w+)\n(?:launch: cudaSuccess.*\nsynchronize|launch): (.*)$", cuda, re.MULTILINE)
)
first = [float(line.split()[0]) for line in read_captured("errors_first")[1:]]
ONES = "__global__ void ones(float* y) { if (threadIdx.x > 5) __trap(); y[threadIdx.x] = 1; }"
y = np.zeros(32, np.float32)
(trapped,) = xray_launch(ONES, 1, 32, [y]).hazards


def refused(block):
    """The sentence that a launch is refused with."""
    try:
        xray_launch(ONES, 1, block, [y])
    except BadInput as error:
        return str(error)


FACTS = {
    "cudaErrorIllegalAddress, 700": said["illegal"].startswith("cudaErrorIllegalAddress, 700"),
    "cudaErrorMisalignedAddress, 716": said["misaligned"].startswith("cudaErrorMisalignedAddress, 716"),
    "With 4,098 columns row 1 starts 8 bytes further": 4098 * ITEM_BYTES["float32"] % 16 == 8,
    "cudaErrorAssert, 710": said["asserted"].startswith("cudaErrorAssert, 710"),
    "cudaErrorLaunchOutOfResources, 701": said["resources"].startswith("cudaErrorLaunchOutOfResources, 701"),
    "cudaErrorInvalidValue, 1": {said[name].partition(":")[0] for name in ("configuration", "argument")}
    == {"cudaErrorInvalidValue, 1"},
    "The block has 2048 threads along x; a GPU takes up to 1024.": refused(2048),
    "cudaErrorNoKernelImageForDevice, 209": said["image"].startswith("cudaErrorNoKernelImageForDevice, 209"),
    "__trap() was called at kernel.cu:1": "__trap() was called at kernel.cu:1" in trapped.message,
    "an H200 calls it an illegal memory access": "illegal memory access" in said["dynamic"],
    "still running after 10 seconds": read_captured("errors_hang")
    == ["$ python tests/broken.py hang && timeout 10 build/hang; echo status $?", "status 124"],
    "even synccheck found no error": "ERROR SUMMARY: 0 errors" in "".join(read_captured("errors_barrier")),
    "On the H200 torch.ones took 321 ms at first, torch.softmax 28 and then 0.03": "On the H200 torch.ones took "
    f"{first[0]:.0f} ms at first, torch.softmax {first[1]:.0f} and then {first[3]}",
    "took 279, for NVRTC, and then 0.05": f"took {first[4]:.0f}, for NVRTC, and then {first[6]}",
}  # fmt: skip
