"""Every error that this package raises on purpose: the engine's, and those of the worklog and of softmax()."""

from softmax_lib.engine.errors import BadInput as BadInput
from softmax_lib.engine.errors import BarrierFault as BarrierFault
from softmax_lib.engine.errors import BlockSizeNotAllowed as BlockSizeNotAllowed
from softmax_lib.engine.errors import CompileError as CompileError
from softmax_lib.engine.errors import Deadlock as Deadlock
from softmax_lib.engine.errors import EngineError
from softmax_lib.engine.errors import Hang as Hang
from softmax_lib.engine.errors import IllegalAddress as IllegalAddress
from softmax_lib.engine.errors import KernelFault as KernelFault
from softmax_lib.engine.errors import NotAvailable as NotAvailable
from softmax_lib.engine.errors import NotEmulated as NotEmulated
from softmax_lib.engine.errors import UnknownKernel as UnknownKernel
from softmax_lib.engine.errors import Waiting as Waiting
from softmax_lib.engine.errors import WrongType as WrongType

SoftmaxLibError = EngineError
"""Base of all errors; the command line prints it and exits with status 2, after a `KernelFault` with 1."""


class UnknownExercise(SoftmaxLibError, LookupError):
    """No exercise has this name."""


class NoSuchDimension(BadInput, IndexError):
    """A tensor has no dimension of this number."""


class RowTooLong(BadInput):
    """The row does not fit on the chip in the way this kernel keeps it there."""


class RankLost(NotAvailable):
    """A rank of a process group is gone, or did not come in time."""


class Unfinished(SoftmaxLibError, RuntimeError):
    """A recording came to the end of its time; what it has done is kept."""
