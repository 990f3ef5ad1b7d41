"""How good a softmax on a GPU has to be: as torch's, against float64."""

import torch


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


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
