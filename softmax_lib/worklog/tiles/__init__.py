"""Softmax in Triton, chapter 12's: run it, check it, and read what Triton makes of it.

On CUDA tensors the kernels go through Triton's compiler, on CPU tensors and numpy arrays through its
interpreter, which runs in a process of its own; `compile_tile` compiles for a GPU that need not be
there. Nothing here imports Triton before it is used.
"""

from softmax_lib.engine.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__, {})
