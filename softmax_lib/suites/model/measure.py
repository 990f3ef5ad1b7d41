"""What `patch_torch()` gains a whole model: a small transformer with random weights, in tokens per second.

It computes attention as the textbook has it, a matrix of scores and the softmax of its rows, and the
probabilities of every next token over a vocabulary of 50257. Attention in one kernel
(`scaled_dot_product_attention`) never writes the scores, and has no softmax that could be replaced.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from softmax_lib.ops.adoption import patch_torch
from softmax_lib.ops.functional import softmax
from softmax_lib.suites import timing
from softmax_lib.suites.cells import Progress, alternate, run_cells
from softmax_lib.suites.model.record import COMPILED, ONE_PASS, OURS, THEIRS
from softmax_lib.suites.peers.providers import compiled, first_line


class Reading(NamedTuple):
    """A batch of texts of one length."""

    batch: int
    length: int
    dtype: str

    def __str__(self) -> str:
        return f"{self.batch} x {self.length} {self.dtype}"


TEXTS = (
    Reading(8, 1024, "bfloat16"),
    Reading(8, 1000, "bfloat16"),
    Reading(8, 1024, "float32"),
    Reading(1, 4096, "bfloat16"),
)
ROUNDS = 9
CALLS = 5
"""Forward passes between two events; the contenders take turns, `ROUNDS` times."""

PROTOCOL = (
    "Tokens per second of a forward pass: median of rounds in which the contenders take turns, eager calls, "
    "no gradients, weights and tokens at random."
)


@dataclass(frozen=True)
class Size:
    """Of the model: so many layers of attention and two linear maps, on vectors of `width` numbers."""

    layers: int = 4
    width: int = 512
    heads: int = 8
    vocabulary: int = 50257


class Attention(nn.Module):
    """Each token looks at itself and those before it; `in_one_pass`, scale and mask are a part of softmax."""

    in_one_pass = False

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.inputs = nn.Linear(size.width, 3 * size.width)
        self.output = nn.Linear(size.width, size.width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) to the same."""
        length = x.shape[1]
        queries, keys, values = (
            self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        )
        scores, scale = queries @ keys.transpose(-1, -2), 1 / math.sqrt(queries.shape[-1])
        if self.in_one_pass:
            weights = softmax(scores, scale=scale, causal=True)
        else:
            later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            weights = torch.softmax((scores * scale).masked_fill(later, -math.inf), -1)
        return self.output((weights @ values).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """Attention, then two linear maps; each adds to what it is given."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(size.width), Attention(size))
        self.maps = nn.Sequential(
            nn.LayerNorm(size.width),
            nn.Linear(size.width, 4 * size.width),
            nn.GELU(),
            nn.Linear(4 * size.width, size.width),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(x)
        return x + self.maps(x)


class Transformer(nn.Module):
    """From tokens (batch, length) to the probabilities of the next ones (batch, length, vocabulary)."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.layers = nn.Sequential(*(Layer(size) for _ in range(size.layers)))
        self.scores = nn.Linear(size.width, size.vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return torch.softmax(self.scores(self.layers(self.tokens(tokens))), -1)


def run_suite(progress: Progress) -> dict[str, Any]:
    """The model as it is, with our kernels, with scores in one pass too, and compiled, on this GPU; as JSON has it.

    `rows` has for each text `{"batch", "length", "dtype", "tokens_per_s": {contender: number}, "gain":
    {contender: number}, "largest_difference"}`: a gain is over torch as it is, and the difference is the
    largest that our kernels make to a probability; the rest is as in `cells.run_cells`.
    """
    size = Size()
    timed = run_cells(TEXTS, partial(_compare_on, size), progress)
    return {"protocol": PROTOCOL, "model": asdict(size), **timed}


@torch.no_grad()
def _compare_on(size: Size, text: Reading, skipped: dict[str, str]) -> dict[str, Any]:
    model, tokens = make(size, *text)
    contenders: dict[str, Callable[[], Tensor]] = {
        THEIRS: lambda: model(tokens),
        OURS: lambda: with_ours(model, tokens),
        ONE_PASS: lambda: in_one_pass(model, tokens),
    }
    try:
        call = partial(compiled(model), tokens)
        call()
        contenders[COMPILED] = call
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # a half-installed compiler stack fails in many ways
        skipped[COMPILED] = f"{COMPILED} cannot be had: {first_line(error)}"
    difference = max(
        _largest_difference(contenders[THEIRS](), contenders[name]()) for name in (OURS, ONE_PASS)
    )
    ms = _time(contenders)
    return {
        **text._asdict(),
        "tokens_per_s": {n: round(1e3 * text.batch * text.length / time) for n, time in ms.items()},
        "gain": {name: round(ms[THEIRS] / time, 4) for name, time in ms.items() if name != THEIRS},
        "largest_difference": difference,
    }


def make(size: Size, batch: int, length: int, dtype: str) -> tuple[Transformer, Tensor]:
    """The model, and something to read, on the current GPU or else the CPU; always the same numbers."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Transformer(size).to(device, getattr(torch, dtype)).eval()
        tokens = torch.randint(size.vocabulary, (batch, length)).to(device)
    return model, tokens


def with_ours(model: Transformer, tokens: Tensor) -> Tensor:
    """The same model, where every softmax is ours."""
    with patch_torch():
        return model(tokens)


def in_one_pass(model: Transformer, tokens: Tensor) -> Tensor:
    """The same, and attention leaves scale and mask to our softmax."""
    attentions = [one for one in model.modules() if isinstance(one, Attention)]
    try:
        for one in attentions:
            one.in_one_pass = True
        return with_ours(model, tokens)
    finally:
        for one in attentions:
            one.in_one_pass = False


def _largest_difference(a: Tensor, b: Tensor) -> float:
    """Over all probabilities, a text at a time: float64 of all would not fit."""
    return max(
        (one.double() - other.double()).abs().max().item() for one, other in zip(a, b, strict=True)
    )


def _time(contenders: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Milliseconds of one call of each."""

    def some(call: Callable[[], object]) -> None:
        for _ in range(CALLS):
            call()

    us = alternate(
        {name: partial(timing.time_once, some, call) for name, call in contenders.items()}, ROUNDS
    )
    return {name: statistics.median(found) / CALLS / 1e3 for name, found in us.items()}
