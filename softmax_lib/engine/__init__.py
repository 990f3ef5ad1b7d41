"""CUDA with no GPU: any kernel run on the CPU, counted as the hardware counts, and watched for hazards.

It knows nothing of softmax. README.md beside this file shows a kernel run, counted, and a race found in it.
"""

from softmax_lib.engine.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__, {})
