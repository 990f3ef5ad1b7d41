"""What chapter 1 states: each phrase as float32, the emulator's online softmax or the record has it, or whether it holds."""

import math

import numpy as np
import torch

from softmax_lib.suites.model.record import OURS, texts
from softmax_lib.worklog.reductions import online_steps
from softmax_lib.worklog.registry import kernels

ROW, LARGE = [3.0, 2.0, 5.0, 1.0], 150.0
float32 = np.finfo(np.float32)
longest = max(texts(), key=lambda text: text.length)
first, _, corrected, last = online_steps(ROW)
left, right = online_steps(ROW[:2])[-1].new_sum, online_steps(ROW[2:])[-1].new_sum
ones = np.ones(2**25, np.float32)


def of_added(shift):
    """The exponentials of the row in float32, with so much added to each score."""
    return (torch.tensor(ROW).double() + shift).exp().float()


def softmax_of(shift):
    terms = of_added(shift)
    return terms / terms.sum()


def errors(seed):
    """By how much the sum of 32,768 exponentials is off: one after the other, and merged from 1,024 parts."""
    x = np.random.default_rng(seed).standard_normal(32768)
    terms = np.exp(x - x.max()).astype(np.float32)
    each = np.add.accumulate(terms.reshape(1024, -1), axis=1)[:, -1]
    while len(each) > 1:
        each = each[::2] + each[1::2]
    return [abs(found / terms.sum(dtype=float) - 1) for found in (np.add.accumulate(terms)[-1], each[0])]  # fmt: skip


one_by_one, merged = np.median([errors(seed) for seed in range(40)], axis=0)

FACTS = {
    f"On texts of {longest.length:,} tokens": True,
    f"a faster softmax alone makes a small PyTorch transformer with attention spelled out {longest.gain[OURS]:.2f}x as fast": True,
    f"saves {100 * (1 - 1 / longest.gain[OURS]):.0f} % of its time": True,
    "the formula gives NaN for the four harmless scores below": bool(softmax_of(84).isnan().any()),
    f"exp gets there at {math.log(float32.max):.1f}": True,
    f"It starts at 84, so the largest score is {max(ROW) + 84:.0f}": True,
    "Add 83 and all is well": bool(torch.allclose(softmax_of(83), torch.tensor(ROW).softmax(0))),
    "Add −104 and few digits are left": of_added(-104).min() > 0 and bool(of_added(-104).max() < float32.tiny),
    "Add −120 and it underflows: every exp is 0": not of_added(-120).any(),
    "their probabilities are below $10^{-62}$, which float32 can't hold either": math.exp(max(ROW) - LARGE) < 1e-62 < float32.smallest_subnormal,
    "a row is read three times": kernels["naive"].traffic(cols=64)[0] == 3,
    "with one read less": kernels["online"].traffic(cols=64)[0] == 2,
    f"[3, 2] has the pair (3, {left:.3f}), and [5, 1] has (5, {right:.3f})": True,
    f"the sum is {left:.3f} × {corrected.correction:.3f} + {right:.3f} = {last.new_sum:.3f}, where the stepper ended": True,
    f"$2^{{25}}$ = {ones.size:,}": True,
    "half of what it should be": np.add.accumulate(ones)[-1] == 2**24 and np.add.accumulate(ones.reshape(2, -1), axis=1)[:, -1].sum() == ones.size,
    "From there on neighbouring floats are 2 apart": np.spacing(np.float32(2**24)) == 2,
    f"the sum is typically off by {one_by_one * 1e6:.0f} × 10⁻⁶ of its size": True,
    f"merged from 1,024 parts, by {merged * 1e8:.0f} × 10⁻⁸": True,
}  # fmt: skip
