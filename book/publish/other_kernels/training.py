"""References of the rest of a training step, in float64: after their papers and llm.c's own CPU code."""

from __future__ import annotations

import numpy as np

from other_kernels.launches import Arrays
from other_kernels.transformers import layernorm_forward
from softmax_lib.worklog.reference import softmax


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 of each, ties to even, in float64: where a kernel computes on with it."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


# ---- embeddings and residuals


def encoder_forward(a: Arrays) -> Arrays:
    """The token's vector and the position's."""
    return {"out": a["wte"][a["inp"]] + a["wpe"]}


def encoder_backward(a: Arrays) -> Arrays:
    """Each gradient goes to its token and to its position."""
    dwte = a["dwte"].copy()
    np.add.at(dwte, a["inp"], a["dout"])
    return {"dwte": dwte, "dwpe": a["dwpe"] + a["dout"].sum(0)}


def fused_residual_forward(a: Arrays) -> Arrays:
    """The sum, rounded as it is stored, and its layernorm."""
    x = to_bfloat16(a["inp1"] + a["inp2"])
    found = layernorm_forward({**a, "inp": x})
    return {"residual": x, "normed": found.pop("out"), **found}


def permute(a: Arrays) -> Arrays:
    """Axes (1, 2, 3, 4) as (4, 3, 1, 2)."""
    return {"out_matrix": a["matrix"].transpose(3, 2, 0, 1)}


# ---- GELU, with its tanh: Hendrycks and Gimpel 2016

_SLOPE = np.sqrt(2 / np.pi)


def gelu_forward(a: Arrays) -> Arrays:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))"""
    x = a["inp"]
    return {"out": 0.5 * x * (1 + np.tanh(_SLOPE * (x + 0.044715 * x**3)))}


def gelu_backward(a: Arrays) -> Arrays:
    """Its derivative times the gradient."""
    x = a["inp"]
    inner = _SLOPE * (x + 0.044715 * x**3)
    slope = _SLOPE * (1 + 3 * 0.044715 * x**2)
    derivative = 0.5 * (1 + np.tanh(inner)) + 0.5 * x * slope / np.cosh(inner) ** 2
    return {"dinp": derivative * a["dout"]}


# ---- losses


def softmax_forward(a: Arrays) -> Arrays:
    """Of each row."""
    return {"out": softmax(a["inp"])}


def crossentropy_forward(a: Arrays) -> Arrays:
    """-log of the probability of the target."""
    chosen = np.take_along_axis(a["probs"], a["targets"][..., None], -1)[..., 0]
    return {"losses": -np.log(chosen)}


def crossentropy_softmax_backward(a: Arrays) -> Arrays:
    """(probability - indicator) times the loss's gradient, added."""
    change = a["probs"] - np.eye(a["probs"].shape[-1])[a["targets"]]
    return {"dlogits": a["dlogits"] + change * a["dlosses"][..., None]}


def classifier_fused(a: Arrays) -> Arrays:
    """Rows are padded behind V; there nothing is written."""
    width = int(a["V"])
    probabilities = softmax(a["logits"][:, :width])
    dlogits = a["dlogits"].copy()
    indicator = np.eye(width)[a["targets"]]
    dlogits[:, :width] = (probabilities - indicator) * a["dlosses"][:, None]
    return {**crossentropy_forward({**a, "probs": probabilities}), "dlogits": dlogits}


# ---- the step


def global_norm(a: Arrays) -> Arrays:
    """The sum of squares."""
    return {"out": (a["data"] ** 2).sum(keepdims=True)}


def adamw(a: Arrays) -> Arrays:
    """Loshchilov and Hutter 2019, with the corrections of both moments given."""
    grads, params = a["grads_memory"], a["params_memory"]
    m = a["beta1"] * a["m_memory"] + (1 - a["beta1"]) * grads
    v = a["beta2"] * a["v_memory"] + (1 - a["beta2"]) * grads**2
    step = m / a["beta1_correction"] / (np.sqrt(v / a["beta2_correction"]) + a["eps"])
    change = a["learning_rate"] * (step + a["weight_decay"] * params)
    return {"params_memory": params - change, "m_memory": m, "v_memory": v}
