"""What the glossary states of an H200 and of our times: limits that it was asked for, and ties."""

from facts.facts_02_pytorch import large

from softmax_lib import hardware
from softmax_lib.records.measurement import TIE

limits = hardware().limits

FACTS = {
    "a share of the most it could hold: 2048 on an H200": f"a share of the most it could hold: {limits['MaxThreadsPerMultiProcessor']} on an H200",
    "the number of blocks, 32 at most": f"the number of blocks, {limits['MaxBlocksPerMultiprocessor']} at most",
    "up to 1024, in this book mostly a power of two": f"up to {limits['MaxThreadsPerBlock']}, in this book mostly a power of two",
    "a kernel may beat it by 2 %": f"a kernel may beat it by {100 * (max(large) - 1):.0f} %",
    "differ by less than 2 %": f"differ by less than {100 * (TIE - 1):.0f} %",
}  # fmt: skip
