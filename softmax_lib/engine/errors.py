"""What the engine raises on purpose; each message is one sentence for a person."""


class EngineError(Exception):
    """Base of all errors below."""

    @property
    def told(self) -> str:
        """The message, behind the notes on when it came."""
        return " ".join((*getattr(self, "__notes__", ()), str(self)))


class WrongType(EngineError, TypeError):
    """An argument is no tensor, or has a dtype that the kernel does not take."""


class BadInput(EngineError, ValueError):
    """An argument has the right type and an impossible value."""


class UnknownKernel(EngineError, LookupError):
    """No kernel has this name."""


class BlockSizeNotAllowed(BadInput):
    """The kernel is not built for this number of threads per block."""


class NotAvailable(EngineError, RuntimeError):
    """This machine lacks something: a GPU, CuPy, a C++ compiler."""


class NotEmulated(NotAvailable):
    """A source uses what the emulator does not have, such as inline PTX or tensor cores."""


class CompileError(EngineError, RuntimeError):
    """The kernel's source does not compile; the message is the compiler's, at the source's own lines."""


class KernelFault(EngineError, RuntimeError):
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
