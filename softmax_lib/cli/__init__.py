"""The command line, `softmax-lib`."""

from softmax_lib.cli.command import main

__all__ = ["main"]
