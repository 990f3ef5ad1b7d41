"""Softmax kernels from naive to the speed of light: run them on a GPU or in the emulator.

Importing this package takes no GPU, starts no compiler and loads nothing: what is named in
`__init__.pyi` is loaded when it is first used.
"""

from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    value = globals()[name] = _load(name)  # kept: the next look-up does not come here
    return value


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext softmax_lib`: register the cell magic %%cuda."""
    from softmax_lib.live.cuda_cell import register

    register(shell)
