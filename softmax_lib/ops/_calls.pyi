from collections.abc import Callable

from torch import Tensor

class Calls:
    def __init__(
        self,
        exchange: object,
        launch: int,
        current_device: int,
        device_type: int,
        tensor: type,
        empty_like: Callable[[Tensor], Tensor],
        wrote: Callable[[tuple[Tensor]], object],
        wants_gradients: Callable[[], bool],
        is_negated: Callable[[Tensor], bool],
        idle: tuple[tuple[Callable[[], object], object], ...],
        idle_16: tuple[tuple[Callable[[], object], object], ...],
        at_most: int,
        /,
    ) -> None: ...
    def run(self, x: object, out: object, dim: object, log: bool, /) -> Tensor | None: ...
    def keep(
        self,
        x: Tensor,
        out: Tensor | None,
        dim: int,
        log: bool,
        kernel: int,
        blocks: int,
        threads: int,
        shared_bytes: int,
        attributes: bytes,
        numbers: tuple[int, ...],
        /,
    ) -> None: ...
