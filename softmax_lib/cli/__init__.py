"""The command line, `softmax-lib`."""

from softmax_lib.cli.verbs import main

__all__ = ["main"]
