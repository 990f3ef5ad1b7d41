"""Rows that a search for the first k may stumble over, and what it has to find."""

import torch

KINDS = {
    "noise": lambda x: x,
    "all equal": lambda x: torch.full_like(x, 1.5),
    "few different": lambda x: (x * 2).round(),
    "ascending": lambda x: x.sort(-1)[0],
    "descending": lambda x: x.sort(-1, descending=True)[0],
    "in steps": lambda x: (torch.arange(x.shape[-1], device=x.device) // 512 + x.sigmoid()).to(x),
    "zeros of both signs": lambda x: torch.where(x > 0, 0.0, -0.0).to(x),
    "nothing but -inf": lambda x: torch.full_like(x, -torch.inf),
    "-inf but for the last": lambda x: _with(x.mul(0) - torch.inf, slice(-1, None), 0),
    "some inf": lambda x: _with(x, slice(None, None, 7), torch.inf),
    "a NaN at the end": lambda x: _with(x, slice(-1, None), torch.nan),
    "many NaN": lambda x: _with(x, slice(1, None, 3), torch.nan),
    "below the normal numbers": lambda x: x * 1e-41,
    "far from zero": lambda x: x + 1e6,
    "the largest and the smallest": lambda x: torch.where(x > 0, 3e38, -3e38).to(x),
}


def _with(x, places, number):
    x = x.clone()
    x[..., places] = number
    return x


def rows_of(kind, shape, dtype, device="cpu"):
    """Rows of one of `KINDS`, the same each time."""
    generator = torch.Generator(device).manual_seed(7)
    noise = torch.randn(shape, generator=generator, device=device)
    return KINDS[kind](noise.to(dtype))


def assert_found(x, k, values, indices, rough=None):
    """The places are those of a stable sort, the values of a softmax in float64, by `rough` times at most."""
    order = torch.sort(x, dim=-1, descending=True, stable=True)[1][..., :k]
    assert torch.equal(indices.to(order.device), order)
    wanted = torch.softmax(x.double(), -1).gather(-1, order).to(x.dtype)
    rough = rough or {torch.float32: 3e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}[x.dtype]
    torch.testing.assert_close(
        values.to(order.device), wanted, rtol=rough, atol=1e-7, equal_nan=True
    )
