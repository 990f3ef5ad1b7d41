"""Running the .cu files on the CPU: each CUDA thread a fiber, each block on one OS thread.

The source is compiled, unmodified, by the machine's C++ compiler. It shows what a kernel computes,
where its threads wait and what they touch; its speed says nothing about a GPU's. Kernels run in a process
of their own, which is kept for the next launch and replaced when a kernel has ended it: none ends Python.

Proven on x86-64 Linux with g++, clang++ and the ziglang wheel (g++ 10 or newer), and on 64-bit ARM
Linux under qemu. Written for macOS and not tried there: no tracing, and faults without a line.

What it lacks: inline PTX, textures and tensor cores. Threads that wait for a word of memory let the
others run, those of their own block and, in a cooperative launch, of every block. Lanes of a mask must
not have exited, and a thread that has exited counts as missing at a barrier: both stricter than most GPUs.
"""

from softmax_lib.engine.toolchain import compiler
from softmax_lib.engine.written.any_kernel import launch, trace_launch
from softmax_lib.engine.written.events import Event, Trace

__all__ = ["Event", "Trace", "compiler", "launch", "trace_launch"]
