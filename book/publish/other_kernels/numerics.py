"""References of the CUDA samples' matrices, transforms and simulations, in float64."""

from __future__ import annotations

import math

import numpy as np

from other_kernels.launches import Arrays


def not_taken(a: Arrays) -> Arrays:
    """Of a kernel that the emulator has to refuse: a launch that comes so far is a mistake."""
    raise AssertionError(f"this launch of {', '.join(a)} should have been refused")


# ---- matrices


def matmul(a: Arrays) -> Arrays:
    """C = A B"""
    return {"C": a["A"] @ a["B"]}


def transpose(a: Arrays) -> Arrays:
    """Rows become columns."""
    return {"odata": a["idata"].T}


def convolutionSeparable(a: Arrays) -> Arrays:
    """Each row with the filter, zeros beside the image."""
    rows = [np.convolve(row, a["c_Kernel"], "same") for row in a["d_Src"]]
    return {"d_Dst": np.array(rows)}


def dct8x8(a: Arrays) -> Arrays:
    """DCT-II of 8 x 8 elements, orthonormal (Ahmed, Natarajan and Rao 1974)."""
    k, n = np.arange(8)[:, None], np.arange(8)
    basis = np.cos(np.pi * (2 * n + 1) * k / 16) / 2
    basis[0] /= math.sqrt(2)
    height, width = a["src"].shape
    tiles = a["src"].reshape(height // 8, 8, width // 8, 8).swapaxes(1, 2)
    return {"dst": (basis @ tiles @ basis.T).swapaxes(1, 2).reshape(height, width)}


# ---- sorting and transforms


def mergeSort(a: Arrays) -> Arrays:
    """Each row by its keys; equal keys stay in order."""
    order = np.argsort(a["d_SrcKey"], 1, kind="stable")
    return {
        "d_DstKey": np.take_along_axis(a["d_SrcKey"], order, 1),
        "d_DstVal": np.take_along_axis(a["d_SrcVal"], order, 1),
    }


def fastWalshTransform(a: Arrays) -> Arrays:
    """Each row times Sylvester's matrix: sums and differences of halves, of halves of halves, ..."""
    x, half = a["d_Input"].copy(), a["d_Input"].shape[1] // 2
    while half:
        pairs = x.reshape(len(x), -1, 2, half)
        x = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2)
        x, half = x.reshape(len(x), -1), half // 2
    return {"d_Output": x}


# ---- simulations


def conjugateGradientMultiBlockCG(a: Arrays) -> Arrays:
    """The solution of a system with a sparse matrix by rows (I, J, val)."""
    size = len(a["r"])
    matrix = np.zeros((size, size))
    rows = np.repeat(np.arange(size), np.diff(a["I"]))
    matrix[rows, a["J"]] = a["val"]
    return {"x": np.linalg.solve(matrix, a["r"])}


def nbody(a: Arrays) -> Arrays:
    """A step: every body (x, y, z, mass) pulls every other, softened near by (Plummer 1911)."""
    position, mass = a["oldPos"][:, :3], a["oldPos"][:, 3]
    apart = position[None] - position[:, None]
    distance2 = (apart**2).sum(-1) + a["softeningSquared"]
    pull = (apart * (mass / distance2**1.5)[..., None]).sum(1)
    velocity = (a["vel"][:, :3] + pull * a["deltaTime"]) * a["damping"]
    moved = position + velocity * a["deltaTime"]
    return {"newPos": np.c_[moved, mass], "vel": np.c_[velocity, a["vel"][:, 3]]}


def BlackScholes(a: Arrays) -> Arrays:
    """Prices of European calls and puts (Black and Scholes 1973)."""
    price, strike, years = a["d_StockPrice"], a["d_OptionStrike"], a["d_OptionYears"]
    rate, spread = a["riskfree"], a["volatility"] * np.sqrt(years)
    d1 = (np.log(price / strike) + rate * years) / spread + spread / 2
    erf = np.vectorize(math.erf)  # of the normal distribution
    below1, below2 = (0.5 * (1 + erf(d / math.sqrt(2))) for d in (d1, d1 - spread))
    owed = strike * np.exp(-rate * years)
    return {
        "d_CallResult": price * below1 - owed * below2,
        "d_PutResult": owed * (1 - below2) - price * (1 - below1),
    }


def inlinePTX(a: Arrays) -> Arrays:
    """Lanes of warps."""
    return {"d_ptr": np.arange(len(a["d_ptr"])) % 32}
