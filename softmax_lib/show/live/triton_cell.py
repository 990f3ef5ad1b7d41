"""The cell magic %%triton: a kernel in Triton in a cell, checked, and what the compiler makes of it."""

from __future__ import annotations

import shlex
import textwrap
from dataclasses import replace

from softmax_lib.engine.words import PAGE_WIDTH, count
from softmax_lib.show.live.cuda_cell import Options
from softmax_lib.worklog.errors import SoftmaxLibError
from softmax_lib.worklog.tiles import check, compile_tile, find


def triton(line: str, cell: str) -> None:
    """%%triton [--cols C --num-warps W]: check the softmax in this cell, and compile it for rows of C floats.

    It is checked on the GPU, or without one in Triton's interpreter; it is compiled for sm_90 on any machine.
    Errors are printed, not raised.
    """
    options = Options(prog="%%triton", add_help=False)
    options.add_argument("--cols", type=int, default=1024)
    options.add_argument("--num-warps", type=int)
    try:
        given = options.parse_args(shlex.split(line))
        kernel = find(f"{cell}\n")
        kernel = replace(kernel, name=kernel.entry)
        print(textwrap.fill(check(kernel).verdict, PAGE_WIDTH))
        code = compile_tile(kernel, given.cols, num_warps=given.num_warps)
    except (SoftmaxLibError, ValueError) as error:
        print(error)
        return
    loads = " and ".join(f"{count(n, 'load')} of {size} bytes" for size, n in code.loads.items())
    print(
        f"{given.cols:,} columns, {count(code.setting.num_warps, 'warp')}: each thread has {loads}, "
        f"and {count(code.registers, 'register')}"
    )
