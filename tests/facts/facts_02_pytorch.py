"""What chapter 2, its evidence and the glossary state: each phrase as the record and the counters have it, or whether it holds."""

import re

from address import ROOT
from facts.recorded_facts import COLS, MATRIX_BYTES, ROWS, counted, dram_bytes

from softmax_lib import hardware, recorded, tile_times, warp_times
from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.records.measurement import TIE
from softmax_lib.suites.peers.record import contests
from softmax_lib.worklog.registry import kernels

times = recorded.times(ROWS, COLS)
torch, unfused = times["torch"], times["unfused"]
copy_tb_per_s, peak = torch.copy_gb_per_s / 1e3, FLOAT32_PEAKS["nvidia-h200"]
ridge = peak / torch.copy_gb_per_s / 1e9
FLOPS_AN_ELEMENT = 5  # compare, subtract, exponential, add, divide
flop = FLOPS_AN_ELEMENT * ROWS * COLS
dram = dram_bytes(counted("unfused"))
l2 = recorded.content["gpu"]["l2_bytes"]
full, half = (recorded.times(8192, 4096, dtype) for dtype in ("float32", "bfloat16"))
large = [
    *(timing.copy_share for timing in recorded.select(l2="cold") if timing.case.matrix_bytes > l2),
    *(max(one.shares) for one in contests() if "gradient" not in str(one) and one.rows * one.cols * 4 > l2),
    *(one.copy_us / one.us for one in warp_times() if one.rows * one.cols * 4 > l2),
    *(one.copy_share for one in tile_times() if one.rows * one.cols * 4 > l2),
]  # fmt: skip
"""Shares of a copy on matrices that L2 can't hold."""


def share(cols):
    """torch's, of a copy's speed."""
    return recorded.times(ROWS, cols)["torch"].copy_share


def kept(name):
    """Of its time in float32, what a softmax takes in bfloat16."""
    return half[name].median_us / full[name].median_us


limits = hardware().limits
copy_text = (ROOT / "kernels/02_copy.cu").read_text(encoding="utf-8").partition("\n\n")[2]

FACTS = {
    f"torch.softmax takes {torch.median_us:.1f} µs": True,
    f"a copy of the matrix, which takes {torch.copy_us:.0f} µs": True,
    f"PyTorch runs at {100 * torch.copy_share:.0f} % of a copy's speed": True,
    f"{FLOPS_AN_ELEMENT} / 8 = {FLOPS_AN_ELEMENT / 8} FLOP per byte": True,
    f"| memory | {2 * MATRIX_BYTES / 1e6:.0f} MB | {copy_tb_per_s:.1f} TB | {torch.copy_us:.0f} µs |": True,
    f"| arithmetic | {flop / 1e6:.0f} MFLOP | {peak / 1e12:.0f} TFLOP | {1e6 * flop / peak:.1f} µs |": True,
    f"Memory takes {1e-6 * torch.copy_us / (flop / peak):.0f} times as long": True,
    f"with half of it memory still takes {1e-6 * torch.copy_us / (flop / peak) / 2:.0f} times as long": True,
    "if an exponential were worth 20 FLOP, memory would still take five times as long": 5 < ridge / (24 / 8) < 6,
    f"They meet at {ridge:.0f} FLOP per byte": True,
    "four reads and two writes": kernels["unfused"].traffic(COLS) == (4, 2),
    f"goes through all {MATRIX_BYTES / 1e6:.0f} MB": True,
    f"holds {l2 / 1e6:.0f}": True,
    "the caches spare nothing": dram > 6 * MATRIX_BYTES,
    f"They move those bytes at {100 * dram / unfused.median_us / 1e6 / copy_tb_per_s:.0f} % of a copy's speed": True,
    re.sub(r"\s+", " ", copy_text.replace("*", "")).strip(): True,
    f"on a matrix larger than L2 beats it by {100 * (max(large) - 1):.0f} %": True,
    "At 8,192 and 131,072 columns, where it gets less than half": max(share(8192), share(131072)) < 0.5
    < 0.9 * min(map(share, (512, 1024, 4096, 16384, 32768))),
    f"At 16,384, in between, it gets {100 * share(16384):.0f} %": True,
    "and QuACK (Guo et al., 2025) do take about half as long": max(kept("liger"), kept("quack")) < 0.52,
    f"torch takes as long as before, {half['torch'].median_us:.0f} µs for 8,192 × 4,096 elements": True,
    f"executes {counted('fusion').instructions_per_element:.0f} instructions per element for our {FLOPS_AN_ELEMENT} FLOP": True,
    "torch's own kernel and that of torch.compile take as long as before": all(abs(kept(name) - 1) < 0.03 for name in ("torch", "torch.compile")),
}  # fmt: skip

FACTS_GLOSSARY = {
    f"a share of the most it could hold: {limits['MaxThreadsPerMultiProcessor']} on an H200": True,
    f"the number of blocks, {limits['MaxBlocksPerMultiprocessor']} at most": True,
    f"up to {limits['MaxThreadsPerBlock']}, in this book mostly a power of two": True,
    f"a kernel may beat it by {100 * (max(large) - 1):.0f} %": True,
    f"differ by less than {100 * (TIE - 1):.0f} %": True,
}  # fmt: skip
