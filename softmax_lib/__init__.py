"""Softmax kernels from naive to the speed of light: run them on a GPU or in the emulator.

Importing this package takes no GPU, starts no compiler and loads nothing: what is named in
`__init__.pyi` is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from softmax_lib.engine.compiler import set_compiler
from softmax_lib.engine.lazy import attach

if TYPE_CHECKING:
    from pathlib import Path

_LAYERS = ("LogSoftmax", "Softmax", "log_softmax", "patch_torch", "softmax", "softmax_topk")
_LIVE = ("catch_lie", "exercise", "explore", "predict", "search_unroll")
_NEEDS = {
    **dict.fromkeys(_LAYERS, "torch"),
    **dict.fromkeys(_LIVE, "ipywidgets"),
    "distributed": "torch",
    "figures": "matplotlib",
}

_HOMES = {
    "distributed": "distributed",
    "drawings": "show.drawings",
    "emulator": "engine.written",
    "errors": "worklog.errors",
    "figures": "show.figures",
    "selections": "worklog.selections",
    "tiles": "worklog.tiles",
}

__getattr__, __dir__ = attach(__name__, __file__, _NEEDS, _HOMES)
__version__ = "0.1.0"


def _nvrtc() -> Any:
    from softmax_lib.gpu import compile

    return compile


def _kernels() -> Path:
    from softmax_lib.worklog.files import KERNEL_FOLDER

    return KERNEL_FOLDER


set_compiler(_nvrtc, library=_kernels)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext softmax_lib`: register the cell magics %%cuda and %%triton."""
    from softmax_lib.show.live.cells import cuda, triton

    shell.register_magic_function(cuda, "cell", "cuda")
    shell.register_magic_function(triton, "cell", "triton")
