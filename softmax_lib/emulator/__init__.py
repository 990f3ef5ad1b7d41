"""Running the .cu files on the CPU: each CUDA thread a fiber, each block on one OS thread.

The source is compiled, unmodified, by the machine's C++ compiler. It shows what a kernel computes,
where its threads wait and what they touch; its speed says nothing about a GPU's.
"""

from softmax_lib.emulator.events import Event, Trace
from softmax_lib.emulator.execution import execute
from softmax_lib.emulator.toolchain import compiler
from softmax_lib.emulator.tracing import trace

__all__ = ["Event", "Trace", "compiler", "execute", "trace"]
