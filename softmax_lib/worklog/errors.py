"""Every error that this package raises on purpose: the engine's, and those of the worklog and of softmax()."""

from softmax_lib.engine.errors import (
    BadInput,
    BarrierFault,
    BlockSizeNotAllowed,
    CompileError,
    Deadlock,
    EngineError,
    Hang,
    IllegalAddress,
    KernelFault,
    NotAvailable,
    NotEmulated,
    UnknownKernel,
    Waiting,
    WrongType,
)

SoftmaxLibError = EngineError
"""Base of all errors; the command line prints it and exits with status 2, after a `KernelFault` with 1."""


class UnknownExercise(SoftmaxLibError, LookupError):
    """No exercise has this name."""


class NoSuchDimension(BadInput, IndexError):
    """A tensor has no dimension of this number."""


class RowTooLong(BadInput):
    """The row does not fit on the chip in the way this kernel keeps it there."""


class Unfinished(SoftmaxLibError, RuntimeError):
    """A recording came to the end of its time; what it has done is kept."""


__all__ = [
    "BadInput",
    "BarrierFault",
    "BlockSizeNotAllowed",
    "CompileError",
    "Deadlock",
    "Hang",
    "IllegalAddress",
    "KernelFault",
    "NoSuchDimension",
    "NotAvailable",
    "NotEmulated",
    "RowTooLong",
    "SoftmaxLibError",
    "Unfinished",
    "UnknownExercise",
    "UnknownKernel",
    "Waiting",
    "WrongType",
]
