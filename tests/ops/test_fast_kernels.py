"""Every design of the fast kernels has the bits of exact sums and no hazard, and those sums are float64's."""

from functools import cache
from itertools import product

import pytest
import torch
from full_tables import each_value
from ops.emulated import (
    ALONG,
    EXACT,
    HELD,
    ROWS,
    STREAMED,
    TILE,
    assert_same_bits,
    gradients_of_all_kinds,
    launch,
    rows_of_all_kinds,
)
from ops.rows import DTYPES

from softmax_lib.ops.outlines import Scaling
from softmax_lib.ops.scores import mask_steps

PLACES = ((96, 0, False), (203, 1, True), (203, 3, False), (5, 3, True))
"""Numbers of a row, how many more lie between the rows and a boundary, and whether its logarithm is asked for."""
SHORT = ((1, 0, False), (3, 0, True), (10, 0, True), (33, 0, False), (127, 0, True))
CASES = (
    *product((*HELD, *STREAMED), PLACES),
    *product(ALONG, [(43, 0, False), (100, 0, True)]),
    *product([TILE], SHORT),
)
WAYS = [(of, to) for of in DTYPES for to in DTYPES if of is to or torch.float32 in (of, to)]


SCORES = (
    (96, 0, False, True, 0), (96, 0, True, False, 80), (203, 1, False, True, 80), (203, 3, True, True, 0),
    (5, 3, False, False, 0), (5, 1, False, True, 80),
)  # fmt: skip
"""As `PLACES`, and whether there is a mask, and the number of rows until the first query comes again."""


def assert_float64s(found, scores, grad, log):
    """Each probability within two roundings of its own; gradients, of all that is added up for them."""
    y, eps = scores.double(), torch.finfo(found.dtype).eps
    atol = torch.finfo(found.dtype).tiny * (4 if found.itemsize == 2 else 1)
    if grad is None:
        wanted = torch.log_softmax(y, -1) if log else torch.softmax(y, -1)
    else:
        g = grad.double()
        size = g.abs().sum(-1, keepdim=True)
        total = (g if log else y * g).sum(-1, keepdim=True)
        wanted = g - y.exp() * total if log else y * (g - total)
        fits = (size < 1e38) & (wanted.abs().amax(-1, keepdim=True) < torch.finfo(found.dtype).max)
        found, wanted = (torch.where(fits, one / (size + atol / eps), 0) for one in (found, wanted))
    if log or grad is not None:
        atol = 2 * eps
    torch.testing.assert_close(
        found, wanted.to(found.dtype), rtol=2 * eps, atol=atol, equal_nan=True
    )


@cache
def exact(cols, way, log, backward, folder):
    """All kinds of rows or gradients, and what becomes of them with every sum exact: what float64 has, too."""
    x, grad = gradients_of_all_kinds(log, cols) if backward else (rows_of_all_kinds(cols), None)
    given = [one if one is None else one.to(way[0]) for one in (x, grad)]
    found = launch(EXACT, *given, to=way[1], log=log, folder=folder)
    assert_float64s(found, *given, log)
    return given, found


@pytest.mark.parametrize(
    ("design", "place", "way", "backward"),
    each_value((*case, *how) for case, *how in product(CASES, WAYS, [False, True])),
    ids=str,
)
def test_a_design_has_the_bits_of_exact_sums_and_no_hazard(
    design, place, way, backward, exact_folder
):
    cols, offset, log = place
    given, wanted = exact(cols, way, log, backward, exact_folder)
    assert_same_bits(launch(design, *given, to=way[1], log=log, offset=offset), wanted)


@pytest.mark.parametrize("design", [HELD[3], STREAMED[0]], ids=str)
def test_a_gradient_is_scaled_on_its_way(design, exact_folder):
    given, wanted = exact(203, WAYS[0], False, True, exact_folder)
    assert_same_bits(launch(design, *given, scaling=Scaling(0.25), offset=1), 0.25 * wanted)


@cache
def exact_scores(of, dtype, folder):
    """The same of scores, a part of which nobody is to look at."""
    cols, _, log, masked, queries = of
    x, mask, steps = rows_of_all_kinds(cols).to(dtype), None, ()
    scores = x.double() * torch.tensor(0.3).double()
    if masked:  # each 40 rows of a mask for 80 rows, which it has twice
        mask = x.flip(0)[:80].view(2, 1, 40, cols)
        steps = mask_steps(mask, torch.Size((2, 2, 40, cols)))
        scores = (scores.view(2, 2, 40, cols) + mask.double()).view(x.shape)
    if queries:
        hidden = torch.arange(cols) > torch.arange(ROWS)[:, None] % queries
        x, scores = x.masked_fill(hidden, torch.nan), scores.masked_fill(hidden, -torch.inf)
    how = {"mask": mask, "log": log, "scaling": Scaling(0.3, queries, steps)}
    found = launch(HELD[2], x, folder=folder, **how)
    assert_float64s(found, scores.float(), None, log)
    return x, how, found


@pytest.mark.parametrize(
    ("design", "of", "dtype"), each_value(product(HELD, SCORES, DTYPES)), ids=str
)
def test_scores_have_the_bits_of_exact_sums_and_no_hazard(design, of, dtype, exact_folder):
    x, how, wanted = exact_scores(of, dtype, exact_folder)
    assert_same_bits(launch(design, x, offset=of[1], **how), wanted)
