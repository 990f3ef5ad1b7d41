"""The peers that are written in Triton: chapter 12's kernels, launched by its tutorial's rules."""

from __future__ import annotations

from torch import Tensor

from softmax_lib.worklog.tiles.launching import launch
from softmax_lib.worklog.tiles.programs import Setting, kernels, settle

PERSISTENT_WARPS = 8
AMPLE_SHARED_BYTES = 200_000
"""A multiprocessor with more shared memory than this gets four stages, another two."""


def tile_setting(cols: int) -> Setting:
    """A warp for each 1024 elements of the tile, and 4 at least. Raises `RowTooLong`."""
    tile = settle(cols).tile
    return settle(cols, num_warps=min(32, max(4, tile // 1024)), num_stages=1)


def softmax_tile(x: Tensor, out: Tensor) -> Tensor:
    """Softmax of each row of a contiguous (rows, cols) CUDA tensor of any float dtype, into `out`.

    Raises `RowTooLong` for rows of more than 65536 elements.
    """
    launch(kernels["simple"], x, out, tile_setting(x.shape[1]))
    return out


def softmax_persistent(x: Tensor, out: Tensor) -> Tensor:
    """The same as the tutorial computes it: as many programs as fit at once, each of which goes through
    many rows and prefetches the next by its choice of stages.

    Takes what `softmax_tile` takes; raises `NotAvailable` where the stages need more shared memory
    than there is.
    """
    setting = settle(x.shape[1], None, PERSISTENT_WARPS, tutorials_stages(x.device.index))
    launch(kernels["persistent"], x, out, setting)
    return out


def tutorials_stages(device: int) -> int:
    """Stages that the tutorial takes on this GPU."""
    from triton.runtime import driver

    facts = driver.active.utils.get_device_properties(device)
    return 4 if facts["max_shared_mem"] > AMPLE_SHARED_BYTES else 2
