"""The GPU: compiling for it, launching on it, and the facts about it."""

from softmax_lib.gpu.calls import launch

__all__ = ["launch"]
