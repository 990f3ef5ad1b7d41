"""Softmax as a layer of a model."""

from __future__ import annotations

import torch
from torch import Tensor

from softmax_lib.ops.functional import log_softmax, softmax


class Softmax(torch.nn.Module):
    """`softmax` along `dim` of what it is given; takes the place of `torch.nn.Softmax`."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return softmax(x, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """`log_softmax` along `dim` of what it is given; takes the place of `torch.nn.LogSoftmax`."""

    def forward(self, x: Tensor) -> Tensor:
        return log_softmax(x, self.dim)
