"""DTensors that one dimension of their mesh cuts along the last dimension: their shards, and results as such tensors again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist
from torch import Tensor

from softmax_lib.worklog.errors import BadInput


@dataclass(frozen=True)
class Cut:
    """A shard and the group of those of its rows; of a DTensor also how results become DTensors."""

    x: Any
    group: dist.ProcessGroup | None
    whole: Any = None
    mesh_dim: int = 0

    def as_x(self, y: Tensor) -> Tensor:
        """A result of the shard's shape."""
        return y if self.whole is None else self._made(y, self.whole.placements)

    def as_rows(self, y: Tensor) -> Tensor:
        """A result that all ranks of the group have, whose rows are x's."""
        if self.whole is None:
            return y
        from torch.distributed.tensor import Replicate

        placements = list(self.whole.placements)
        placements[self.mesh_dim] = Replicate()
        return self._made(y, placements)

    def _made(self, y: Tensor, placements: Any) -> Tensor:
        from torch.distributed.tensor import DTensor

        return DTensor.from_local(y, self.whole.device_mesh, placements, run_check=False)

    def local(self, given: Tensor) -> Tensor:
        """This rank's part of what comes with x, as targets."""
        from torch.distributed.tensor import DTensor

        return given.to_local() if isinstance(given, DTensor) else given

    @property
    def has_all_rows(self) -> bool:
        """Whether no other dimension of the mesh has rows of its own."""
        return self.whole is None or sum(one.is_shard() for one in self.whole.placements) == 1


@contextmanager
def of_shards(x: Any, group: dist.ProcessGroup | None) -> Iterator[Cut]:
    """x as it is, or cut as its placements say. Raises `BadInput` for a DTensor that is not cut so."""
    if not (dist.is_available() and type(x).__name__ == "DTensor"):
        yield Cut(x, group)
        return
    last = x.dim() - 1
    cuts = [n for n, one in enumerate(x.placements) if one.is_shard() and one.dim % x.dim() == last]
    if len(cuts) != 1 or any(one.is_partial() for one in x.placements):
        raise BadInput(
            f"x has the placements {x.placements}; one of them has to be Shard({last}), and none Partial()."
        )
    if group is not None:
        raise BadInput(
            "x is a DTensor, whose mesh says which group has its shards; leave group away."
        )
    yield Cut(x.to_local(), x.device_mesh.get_group(cuts[0]), x, cuts[0])
