"""Softmax kernels from naive to the speed of light: run them on a GPU or in the emulator.

Importing this package needs torch and numpy, takes no GPU and starts no compiler; CuPy, matplotlib
and ipywidgets load when something first needs them.
"""

from typing import Any

from softmax_lib.launch import run
from softmax_lib.measurements import measure
from softmax_lib.reference import check
from softmax_lib.registry import kernels

__all__ = ["check", "explore", "kernels", "measure", "run", "xray"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "explore":
        from softmax_lib.live.block_size_explorer import explore

        return explore
    if name == "xray":
        from softmax_lib.xrays.xray import xray

        return xray
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
