"""Softmax kernels from naive to the speed of light: run them on a GPU or in the emulator.

Importing this package needs torch and numpy, takes no GPU and starts no compiler; CuPy, matplotlib
and ipywidgets load when something first needs them.
"""

from softmax_lib.launch import run
from softmax_lib.reference import check
from softmax_lib.registry import kernels

__all__ = ["check", "kernels", "run"]
__version__ = "0.1.0"
