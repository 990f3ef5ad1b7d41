"""What chapter 13 and its evidence state: each phrase as the record, a counter or arithmetic has it, or whether it holds."""

import numpy as np
import torch
from facts.recorded_facts import code, edited, tie, us

from softmax_lib import check, recorded, run, xray
from softmax_lib.suites.conform.record import conform_rows
from softmax_lib.suites.times import PRECISION, precision_times
from softmax_lib.worklog.registry import kernels

times = {(one.who, one.cols): one.us for one in precision_times()}
copy_us = {one.cols: one.copy_us for one in precision_times()}
ulp = {(one["power"], one["reach"]): one["ulp"] for one in PRECISION.newest()["powers"]}
bits = {one.ask: one for one in conform_rows() if one.kind == "bits"}
x = np.random.default_rng(0).standard_normal((132, 4096), "f")
OURS = {name for name, kernel in kernels.items() if kernel.suite == "precision"}


def cost(name="order_free", over="order_free_floats", cols=32768):
    """What one takes longer than another, in per cent."""
    return f"{100 * (times[name, cols] / times[over, cols] - 1):.0f} %"


def share(cols, name="order_free"):
    """Share of a copy's speed, in per cent."""
    return round(100 * copy_us[cols] / times[name, cols])


def per_float(name):
    """Instructions that a warp executes for each float of a lane."""
    return 32 * xray(name, 4, 8192).total["instructions"] / (4 * 8192)


def blocks(cols):
    """How many blocks of the kernel fit an H200's multiprocessor."""
    size = kernels["order_free"].choose_block_size(cols)
    return code("order_free", size, cols).blocks_a_multiprocessor


def changed(name, size):
    """How many rows have other bits at this block size than at 128 threads."""
    return int((run(name, x, block_size=size) != run(name, x, block_size=128)).any(axis=1).sum())


def stops(kind):
    """Where a sum of ones stands still in this format."""
    return next(n for n in range(1, 5000) if torch.tensor(float(n), dtype=kind) + 1 == n)


def depends(name, on):
    """On which asks a softmax's bits depend on this."""
    return {ask for ask, one in bits.items() if on in one.told.get(name, "")}


def wrong(*swap):
    """What is wrong of the chapter's kernel with one text in place of another: the first launch, or ""."""
    source = kernels["order_free"].source.text
    found = check(edited(source, swap), lengths=(1, 2, 1000))
    return found.wrong[0].failure if not found.ok else ""


VOTE = '    if (__syncthreads_or(has_nan)) scale = nanf("");\n'

FACTS = {
    f"{100 * recorded.times(1024, 32768)['fusion'].copy_share:.0f} % of a copy's speed": True,
    "with another, the same row has other bits": changed("fusion", 256) > 0,
    "31 + __clz(cols) is 43 for a million columns and 50 for 4,096": [63 - n.bit_length() for n in (10**6, 4096)] == [43, 50],
    f"it runs at {share(1024)} and {share(8192)} % of a copy's speed": True,
    "ties with its twin that adds up floats": all(tie(times["order_free", cols], times["order_free_floats", cols]) for cols in (1024, 8192)),
    f"it takes {cost()} longer": blocks(32768) == 1,
    "With 33 a row of ones leaves the long long's range": "(18, 1)" in wrong("(31 +", "(33 +"),
    "Without the vote a row with a NaN comes out as numbers, and the first of them negative": "(NaN in the middle), column 0 is -" in wrong(VOTE, ""),
    "Without the unit only exponentials above a half count at all": bool(wrong("v[i] * unit", "v[i]")),
    "gives rows of 1,000 floats other bits alone than in a batch of 300": "1000 float32" in depends("torch.compile", "the 299 rows"),
    "torch's own doesn't, but from 16,384 floats on its bits depend on where a row starts": (
        not depends("torch", "rows beside") and {int(ask.split()[0]) >= 16384 for ask in depends("torch", "an offset")} == {True}
        and depends("torch", "an offset") == {ask for ask in bits if int(ask.split()[0]) >= 16384}
    ),
    "softmax() keeps a row's bits at any batch, place, block size and design": {one.found["softmax()"] for one in bits.values()} == {"holds"},
    "float16 has 11 significant bits, bfloat16 8, and float32 24": [1 - int(np.log2(torch.finfo(kind).eps)) for kind in (torch.float16, torch.bfloat16, torch.float32)] == [11, 8, 24],
    f"In bfloat16, {stops(torch.bfloat16)} + 1 is {stops(torch.bfloat16)}": 4096 / stops(torch.bfloat16) == 16,
    f"float16 stops at {stops(torch.float16):,}": True,
    "a score of 10,000 is off by up to 32": torch.finfo(torch.bfloat16).eps * 8192 / 2 == 32,
    f"all of them tie, at {min(share(cols, name) for cols in (1024, 8192) for name in OURS)} % of a copy's speed or more": all(tie(*(times[name, cols] for name in OURS)) for cols in (1024, 8192)),
    f"On 32,768 whole numbers take {cost()} longer than floats, and {cost('order_free_fours')} if": True,
    "On 8,192 three blocks share one": blocks(8192) == 3,
    f"Whole numbers take {per_float('order_free') - per_float('order_free_floats'):.1f} more than floats, and {per_float('order_free_fours') - per_float('order_free_floats'):.1f} more if": True,
    f"__expf takes {per_float('order_free') - per_float('order_free_fast_exp'):.1f} fewer than expf": True,
    "with order_free_fours they depend on the block size": changed("order_free_fours", 256) > 0,
    "expf is exact to 2 ulps anywhere": max(of for (power, _), of in ulp.items() if power == "expf") < 2,
    f"At −87 that's {ulp['__expf', 87.0]:.0f} ulps": True,
    f"Down to −10 it's {ulp['__expf', 10.0]:.0f}": True,
    f"{100 * (us('constant_stride_divide') / us('constant_stride') - 1):.0f} % in shuffle, once the compiler knows its stride": True,
}  # fmt: skip
