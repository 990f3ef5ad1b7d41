"""Rows for the kernels behind `softmax()` and `softmax_topk()`, and how good results have to be: as torch's, against float64."""

import torch

from softmax_lib import log_softmax, softmax

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
FUNCTIONS = ((softmax, torch.softmax), (log_softmax, torch.log_softmax))


def name_of(one):
    return str(one).removeprefix("torch.")


def noise(*shape, dtype=torch.float32, scale=3.0, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(shape, device="cuda", generator=generator).mul_(scale).to(dtype)


def error(found, wanted):
    """The largest error of probabilities, each as a share of its own; of logarithms, as a share of the largest."""
    least = torch.finfo(found.dtype).tiny  # below it there is less than half a rounding
    found, wanted = found.double(), wanted.double()
    size = wanted.abs().max() if wanted.min() < 0 else wanted + 1e-6 * wanted.max()
    return ((found - wanted).abs() / (size + least)).max().item()


def assert_as_good(ours, theirs, exact):
    """At most twice torch's error against float64, or two roundings where torch happens to have less."""
    two_roundings = 2 * torch.finfo(ours.dtype).eps
    assert error(ours, exact) <= 2 * max(error(theirs, exact), two_roundings)


def assert_gradient_as_good(ours, theirs, exact, grad):
    """The same of gradients, with four roundings: two kernels follow one another.

    They are differences, so that the largest numbers say what rounding may change.
    """
    size = exact.abs().max() + exact.abs().mean() + grad.abs().max().double() * 1e-3
    worst, torchs = ((one.double() - exact).abs().max() / size for one in (ours, theirs))
    assert worst <= 2 * max(torchs, 4 * torch.finfo(ours.dtype).eps)


# ---- for a search for the first k

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
    found = values.to(order.device)
    torch.testing.assert_close(found, wanted, rtol=rough, atol=1e-7, equal_nan=True)
