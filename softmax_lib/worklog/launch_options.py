"""The options that say how any kernel is launched, for the command line and the cell magic.

Reading them is launch_words.py's: a parser that only answers for help should not load numpy.
"""

from __future__ import annotations

import argparse

DTYPES = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f16": "float16", "bf16": "uint16", "f32": "float32", "f64": "float64", "c64": "complex64",
}  # fmt: skip
"""Words for dtypes. numpy has no bfloat16: such an array holds the bits."""

FILLS = ("noise", "uniform", "arange", "zeros", "ones", "nan")
"""What an array holds at first, unless it is one number: normal noise (integers: 0 to 99) without a
word, "uniform" from 0 to 1. Arrays of different names get different noise."""


MOST_DIGITS = 20
"""Of a number on the command line: Python refuses to read very long ones."""


def add_launch_words(parser: argparse._ActionsContainer) -> None:
    """The options that say how any kernel is launched."""
    add = parser.add_argument
    add(
        "--kernel",
        metavar="NAME",
        help='which kernel of the file, or "name<float, 4>" of a template',
    )
    add("--grid", type=_axes, metavar="X[,Y[,Z]]", help="blocks")
    add("--block", type=_axes, metavar="X[,Y[,Z]]", help="threads of a block")
    add("--arg", action="append", default=[], metavar="ARG", dest="args",
        help="in the kernel's order: NAME:DTYPE:SHAPE[:FILL] makes an array, such as x:f32:64x4096 or "
             "n:i32:8:zeros; NAME is one that is there already, or in --npz; else a number, true, false or "
             f"null. DTYPE: {', '.join(DTYPES)}. FILL: {', '.join(FILLS)}, or a number; noise without one, "
             "of mean 0 and deviation 1 (whole numbers: 0 to 99)")  # fmt: skip
    add("--symbol", action="append", default=[], metavar="NAME:DTYPE:SHAPE[:FILL]", dest="symbols",
        help="an array for a __constant__ or __device__ variable")  # fmt: skip
    add("--shared-bytes", type=int, default=0, metavar="N", help="dynamic shared memory")
    add(
        "--define",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        dest="defines",
        help="a macro of the file, such as BLOCK=256",
    )
    add("--cluster", type=_axes, metavar="X[,Y[,Z]]", help="blocks of a cluster")
    add("--cooperative", action="store_true", help="blocks may wait for each other")


def _axes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    numbers = tuple(
        int(part) if part.isdecimal() and len(part) < MOST_DIGITS else 0 for part in parts
    )
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not one to three whole numbers from 1 up")
    return numbers


def is_any_kernel(options: argparse.Namespace) -> bool:
    """Whether `options` describe a launch, and not a softmax of rows."""
    return bool(options.args or options.kernel or options.block)
