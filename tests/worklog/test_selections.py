"""The kernels of chapter 11: the k largest of each row and their softmax, in both places, and what each was made for."""

from itertools import product

import numpy as np
import pytest
import torch
from full_tables import each_value, some
from ops.rows import assert_found, rows_of

from softmax_lib import selections
from softmax_lib.worklog.xray import xray_launch

SOUND = [name for name, kernel in selections.kernels.items() if kernel.flaw is None]
FLAWED = [name for name in selections.kernels if name not in SOUND]
MEMORY = {"topk": 1, "topk_warp": 1, "topk_safe": 2, "topk_unfused_online": 4, "topk_unfused": 5}
"""Elements that each moves for one of x, as the paper counts them."""
KINDS = ["noise", "all equal", "ascending", "descending", "-inf but for the last"]


def checked(names):
    """Each is compiled twelve times, for numbers and block sizes: few every day, at one size, and none that is made of others."""
    few = [(name, 256) for name in names if not selections.kernels[name].changes][::4]
    return [*few, *(pytest.param(name, None, marks=pytest.mark.full) for name in names)]


@pytest.mark.parametrize(("name", "block_size"), checked(SOUND))
def test_a_sound_kernel_is_right_on_rows_that_break_careless_ones(name, block_size, device):
    assert selections.check(name, device=device, block_size=block_size).ok


@pytest.mark.parametrize(("name", "block_size"), checked(FLAWED))
def test_the_check_finds_the_flaw_that_a_kernel_is_known_for(name, block_size, device):
    found = selections.check(name, device=device, block_size=block_size)
    assert not found.ok
    assert "wrong" in found.verdict
    assert selections.kernels[name].flaw


@pytest.mark.parametrize(
    ("name", "kind", "of"), each_value(product(SOUND, KINDS, [(1, 32), (7, 96), (32, 256)]))
)
def test_places_are_those_of_a_stable_sort(name, kind, of, device):
    k, block_size = of
    x = rows_of(kind, (3, 700), torch.float32, device)
    assert_found(x, k, *selections.run(name, x, k, block_size=block_size), rough=1e-5)


def test_a_softmax_that_rounds_probabilities_to_zero_loses_their_order():
    x = np.zeros((1, 64), np.float32)
    x[0, [3, 9, 40]] = 300, 100, 150  # both of the latter have the probability 0
    assert selections.run("topk_unfused", x, 3)[1].tolist() == [[3, 0, 1]]
    assert selections.run("topk", x, 3)[1].tolist() == [[3, 40, 9]]


@pytest.mark.parametrize(
    ("name", "block_size"), some(product([*dict.fromkeys([*SOUND, *MEMORY])], [32, 256]), every=3)
)
def test_an_xray_finds_no_hazard_and_the_traffic_that_the_registry_tells(name, block_size):
    x = rows_of("noise", (2, 1024), torch.float32)
    selection = selections.select(name, x, 5, block_size=block_size)
    loaded = stored = 0
    for words in selection.launches:
        found = xray_launch(**words)
        assert not found.hazards
        loaded += found.total["global_load_sectors"]
        stored += sum(
            line.bytes_asked
            for line in found.lines
            if line.array == "y" and "store" in line.operation
        )
    reads, writes = selection.kernel.traffic(1024)
    again = 2 * 5 if name == "topk_warp_plain" else 0  # scores of the best, which it has not kept
    assert (loaded - again) * 32 == reads * x.nbytes
    assert stored == writes * x.nbytes
    if name in MEMORY:
        assert reads + writes == MEMORY[name]


def test_tensors_are_given_back_for_tensors():
    x = rows_of("noise", (3, 700), torch.float32)
    values, places = selections.run("topk", x, 3)
    assert values.dtype == torch.float32
    assert places.dtype == torch.int32
    assert torch.equal(places.long(), torch.topk(x, 3)[1])
    assert selections.run("topk", x[:0], 3)[0].shape == (0, 3)
