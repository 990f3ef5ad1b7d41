"""The options that say how any kernel is launched, for the command line and the cell magic.

Reading them is launch_words.py's: a parser that only answers for help should not load numpy.
"""

from __future__ import annotations

import argparse


def add_launch_words(parser: argparse.ArgumentParser) -> None:
    """The options that say how any kernel is launched."""
    add = parser.add_argument
    add(
        "--kernel",
        metavar="NAME",
        help='which kernel of the file, or "name<float, 4>" of a template',
    )
    add("--grid", metavar="X[,Y[,Z]]", help="blocks")
    add("--block", metavar="X[,Y[,Z]]", help="threads of a block")
    add("--arg", action="append", default=[], metavar="ARG", dest="args",
        help="in order: NAME:DTYPE:SHAPE[:FILL] makes an array, such as x:f32:64x4096 or n:i32:8:zeros; "
             "NAME takes one of --npz; anything else is a number")  # fmt: skip
    add("--symbol", action="append", default=[], metavar="NAME:DTYPE:SHAPE[:FILL]", dest="symbols",
        help="an array for a __constant__ or __device__ variable")  # fmt: skip
    add("--shared-bytes", type=int, default=0, metavar="N", help="dynamic shared memory")
    add("--cluster", metavar="X[,Y[,Z]]", help="blocks of a cluster")
    add("--cooperative", action="store_true", help="blocks may wait for each other")


def is_any_kernel(options: argparse.Namespace) -> bool:
    """Whether `options` describe a launch, and not a softmax of rows."""
    return bool(options.args or options.kernel or options.block)
