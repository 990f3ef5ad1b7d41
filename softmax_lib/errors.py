"""Every error that this package raises on purpose; each message is one sentence for a person."""


class SoftmaxLibError(Exception):
    """Base of all errors below; the command line prints it and exits with status 2, after a `KernelFault` with 1."""

    @property
    def told(self) -> str:
        """The message, behind the notes on when it came."""
        return " ".join((*getattr(self, "__notes__", ()), str(self)))


class WrongType(SoftmaxLibError, TypeError):
    """An argument is no tensor, or has a dtype that the kernel does not take."""


class BadInput(SoftmaxLibError, ValueError):
    """An argument has the right type and an impossible value."""


class UnknownKernel(SoftmaxLibError, LookupError):
    """No kernel has this name."""


class UnknownExercise(SoftmaxLibError, LookupError):
    """No exercise has this name."""


class BlockSizeNotAllowed(BadInput):
    """The kernel is not built for this number of threads per block."""


class NoSuchDimension(BadInput, IndexError):
    """A tensor has no dimension of this number."""


class RowTooLong(BadInput):
    """The row does not fit on the chip in the way this kernel keeps it there."""


class NotAvailable(SoftmaxLibError, RuntimeError):
    """This machine lacks something: a GPU, CuPy, a C++ compiler."""


class NotEmulated(NotAvailable):
    """A source uses what the emulator does not have, such as inline PTX or tensor cores."""


class Unfinished(SoftmaxLibError, RuntimeError):
    """A recording came to the end of its time; what it has done is kept."""


class CompileError(SoftmaxLibError, RuntimeError):
    """The kernel's source does not compile; the message is the compiler's, at the source's own lines."""


class KernelFault(SoftmaxLibError, RuntimeError):
    """The emulator stopped a kernel: in which thread of which block, and at which line of the source.

    `kind` is that of a hazard, such as "out of bounds" or "deadlock"; `line` is 0 where none is
    known, `block` and `thread` are None where no single one is to blame. The message is made of
    these: `what` happened, at which line, and `more` about it.
    """

    def __init__(
        self,
        kind: str,
        file: str,
        line: int,
        block: tuple[int, int, int] | None,
        thread: int | None,
        what: str,
        more: str = "",
    ) -> None:
        super().__init__(kind, file, line, block, thread, what, more)
        self.kind, self.file, self.line = kind, file, line
        self.block, self.thread = block, thread
        self.what, self.more = what, more

    @property
    def place(self) -> str:
        """Where, as the message says it; "" where it is not known or `what` names more than one."""
        return f" at {self.file}:{self.line}" if self.line else ""

    def __str__(self) -> str:
        return f"{self.what}{self.place}{self.more}."


class BarrierFault(KernelFault):
    """A barrier that not every thread of the block reaches; `what` says where the others are."""

    place = ""


class Deadlock(KernelFault):
    """Threads wait for each other, or for a lane that never comes; `what` says where each waits."""

    place = ""


class Waiting(KernelFault):
    """A thread waits for what no other can write any more; `more` says what each does."""


class IllegalAddress(KernelFault):
    """A load or store outside of every array, or misaligned."""


class Hang(KernelFault):
    """No thread finished within the time limit."""
