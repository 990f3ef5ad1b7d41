"""Softmax as a layer of a model."""

from __future__ import annotations

import torch
from torch import Tensor

from softmax_lib.ops.functional import log_softmax, softmax


class Softmax(torch.nn.Module):
    """`softmax` along `dim` of what it is given; takes the place of `torch.nn.Softmax`.

    With a `scale`, with `causal` or a mask in the call, that of scores of attention.
    """

    def __init__(self, dim: int = -1, *, scale: float | None = None, causal: bool = False) -> None:
        super().__init__()
        self.dim, self.scale, self.causal = dim, scale, causal

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return softmax(x, self.dim, scale=self.scale, mask=mask, causal=self.causal)

    def extra_repr(self) -> str:
        """As `print` shows it."""
        scale = "" if self.scale is None else f", scale={self.scale:g}"
        return f"dim={self.dim}{scale}{', causal=True' if self.causal else ''}"


class LogSoftmax(Softmax):
    """`log_softmax` along `dim` of what it is given; takes the place of `torch.nn.LogSoftmax`."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return log_softmax(x, self.dim, scale=self.scale, mask=mask, causal=self.causal)
