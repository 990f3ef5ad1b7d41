"""References of the layers of a transformer, in float64: after their papers and llm.c's own CPU code."""

from __future__ import annotations

import numpy as np

from other_kernels.launches import Arrays
from softmax_lib.worklog.reference import softmax

EPSILON = 1e-5
"""Of llm.c's layernorm."""


def causal(scores: np.ndarray, behind: float = -np.inf) -> np.ndarray:
    """Scores of shape (..., queries, keys) with another number for keys behind their query."""
    return np.where(np.tri(scores.shape[-1], dtype=bool), scores, behind)


def scores_of(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Scaled products of queries and keys, arrays of shape (..., rows, d)."""
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])


# ---- attention


def attention_forward(a: Arrays) -> Arrays:
    """Queries, keys and values in one array of shape (B, T, 3, heads, d)."""
    q, k, v = np.moveaxis(a["inp"], (2, 3), (0, 2))
    out = softmax(causal(scores_of(q, k))) @ v
    return {"out": out.swapaxes(1, 2).reshape(a["out"].shape)}


def flash_attention_causal(a: Arrays) -> Arrays:
    """O, and the row's maximum and sum, which a backward pass needs."""
    return _flash(causal(scores_of(a["Q"], a["K"])), a["V"])


def flash_attention(a: Arrays) -> Arrays:
    """The same without a mask."""
    return _flash(scores_of(a["Q"], a["K"]), a["V"])


def _flash(scores: np.ndarray, v: np.ndarray) -> Arrays:
    largest = scores.max(-1)
    sums = np.exp(scores - largest[..., None]).sum(-1)
    return {"O": softmax(scores) @ v, "m": largest, "l": sums}


def attention_backward(a: Arrays) -> Arrays:
    """Through a causal softmax whose result is `att`: what lies above the diagonal stays as it was."""
    att, datt = np.tril(a["att"]), np.tril(a["datt"])
    inner = (att * datt).sum(-1, keepdims=True)
    return {"dpreatt": a["scale"] * np.tril(att * (datt - inner))}


def trimat_forward(a: Arrays) -> Arrays:
    """Scores of queries and keys; above the diagonal, where tiles of 8 x 8 end, anything may stand."""
    q, k, _ = np.moveaxis(a["inp"], (2, 3), (0, 2))
    return {"out": causal(scores_of(q, k), np.nan)}


# ---- matrix products and layers


def matmul_forward(a: Arrays) -> Arrays:
    """inp @ weight.T + bias"""
    return {"out": a["inp"] @ a["weight"].T + a["bias"]}


def matmul_backward_bias(a: Arrays) -> Arrays:
    """The gradient of a bias is the sum over all rows."""
    return {"dbias": a["dbias"] + a["dout"].sum(0)}


def layernorm_forward(a: Arrays) -> Arrays:
    """Ba, Kiros and Hinton 2016."""
    x = a["inp"]
    mean, rstd = x.mean(-1), 1 / np.sqrt(x.var(-1) + EPSILON)
    normed = (x - mean[:, None]) * rstd[:, None]
    return {"out": normed * a["weight"] + a["bias"], "mean": mean, "rstd": rstd}


def layernorm_backward(a: Arrays) -> Arrays:
    """Gradients are added to what is there."""
    mean, rstd = (a[name].reshape(*a["inp"].shape[:2], 1) for name in ("mean", "rstd"))
    normed, dnormed = (a["inp"] - mean) * rstd, a["dout"] * a["weight"]
    rest = dnormed.mean(-1, keepdims=True) + normed * (dnormed * normed).mean(-1, keepdims=True)
    return {
        "dinp": a["dinp"] + (dnormed - rest) * rstd,
        "dweight": a["dweight"] + (a["dout"] * normed).sum((0, 1)),
        "dbias": a["dbias"] + a["dout"].sum((0, 1)),
    }
