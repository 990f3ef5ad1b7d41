"""References of the CUDA samples' sums, scans, counts and votes: what each block leaves."""

from __future__ import annotations

import numpy as np

from other_kernels.launches import Arrays


def _split(values: np.ndarray, share: int) -> np.ndarray:
    """Rows of `share` elements, the last one filled with zeros."""
    return np.pad(values, (0, -len(values) % share)).reshape(-1, share)


def _block_of(a: Arrays, count: int) -> np.ndarray:
    """Which block takes each of `count` elements, where a thread's next is a whole grid away."""
    return np.arange(count) // a["threads"] % a["blocks"]


# ---- sums


def sum_blocks(a: Arrays) -> Arrays:
    """An element per thread."""
    return {"g_odata": _split(a["g_idata"], a["threads"]).sum(1)}


def sum_pairs_of_blocks(a: Arrays) -> Arrays:
    """Two elements per thread, a block apart."""
    return {"g_odata": _split(a["g_idata"], 2 * a["threads"]).sum(1)}


def sum_strides(a: Arrays) -> Arrays:
    """Elements a whole grid apart."""
    x = a["g_idata"]
    return {"g_odata": np.bincount(_block_of(a, len(x)), x, a["blocks"])}


def sum_of_all(a: Arrays) -> Arrays:
    """In the first place; behind it stand parts of it."""
    total = np.full(a["blocks"], np.nan)
    total[0] = a["g_idata"].sum()
    return {"g_odata": total}


def clock(a: Arrays) -> Arrays:
    """Each block finds the minimum; of the clock nothing is known but that it goes on."""
    return {"output": np.full(a["blocks"], a["input"].min())}


def fp16ScalarProduct(a: Arrays) -> Arrays:
    """Blocks overlap: each starts a pair, not a block, behind the one before."""
    products = (a["a"] * a["b"]).sum(1)
    sums = []
    for block in range(a["blocks"]):
        first = block + a["threads"]
        taken = [products[first + t :: a["blocks"] * a["threads"]] for t in range(a["threads"])]
        sums.append(sum(part.sum() for part in taken))
    return {"results": np.array(sums)}


def scalarProd(a: Arrays) -> Arrays:
    """A dot product per row."""
    return {"d_C": (a["d_A"] * a["d_B"]).sum(1)}


# ---- scans and histograms


def scan(a: Arrays) -> Arrays:
    """Exclusive, of each row."""
    return {"d_Dst": np.cumsum(a["d_Src"], 1) - a["d_Src"]}


def shfl_scan(a: Arrays) -> Arrays:
    """Inclusive, of each block's elements."""
    sums = np.cumsum(a["data"], 1)
    return {"data": sums, "partial_sums": sums[:, -1]}


def _histograms(a: Arrays, bins: np.ndarray, count: int) -> np.ndarray:
    """Of each block, of `bins` of shape (elements, counts per element)."""
    block = np.broadcast_to(_block_of(a, len(bins))[:, None], bins.shape)
    found = np.zeros((a["blocks"], count), int)
    np.add.at(found, (block, bins), 1)
    return found


def histogram64(a: Arrays) -> Arrays:
    """Of the upper six bits of each byte."""
    bytes_ = a["d_Data"].view(np.uint8)
    return {"d_PartialHistograms": _histograms(a, bytes_ >> 2, 64)}


def histogram256(a: Arrays) -> Arrays:
    """Of bytes."""
    bytes_ = a["d_Data"].view(np.uint8).reshape(-1, 4)
    return {"d_PartialHistograms": _histograms(a, bytes_, 256)}


# ---- groups, votes, atomics


def simpleCooperativeGroups(a: Arrays) -> Arrays:
    """The numbers of what is printed: threads, sums found and expected, by the block and by tiles of 16."""
    last, tiles = a["threads"] - 1, a["threads"] // 16
    whole = last * a["threads"] // 2
    return {"printed": [0, last, whole, whole, tiles, 16, *tiles * [0, 15, 120, 120]]}


def binaryPartitionCG(a: Arrays) -> Arrays:
    """How many are odd; the sums of odd and of even ones."""
    x, odd = a["inputArr"], a["inputArr"] % 2 == 1
    return {"numOfOdds": odd.sum(), "sumOfOddAndEvens": [x[odd].sum(), x[~odd].sum()]}


def warpAggregatedAtomicsCG(a: Arrays) -> Arrays:
    """The greatest value of each bucket."""
    largest = a["bucketsMax"].copy()
    np.maximum.at(largest, a["srcArr"], a["valueInBuckets"])
    return {"bucketsMax": largest}


def simpleVoteIntrinsics(a: Arrays) -> Arrays:
    """Whether none of a warp's values is zero, in each of its lanes."""
    return {"result": np.repeat((a["input"].reshape(-1, 32) != 0).all(1), 32)}


def simpleAtomicIntrinsics(a: Arrays) -> Arrays:
    """Of additions, subtractions, ... of all threads; which exchange comes last is open."""
    before, n = a["g_odata"], a["blocks"] * a["threads"]
    thread = np.arange(n)
    masks = 2 * thread + 7
    return {"g_odata": [
        before[0] + 10 * n, before[1] - 10 * n, np.nan, max(before[3], n - 1), min(before[4], 0),
        n % 18, -n % 138, np.nan, before[8] & np.bitwise_and.reduce(masks), -1,
        before[10] ^ np.bitwise_xor.reduce(thread),
    ]}  # fmt: skip
