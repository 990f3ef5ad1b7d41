"""What a verb has to say, while it works and then, and the one place where it is printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

DONE, FAILED, REFUSED, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses: a check that failed, a hazard or a fault is 1; bad input, and what is missing here, is 2."""


@dataclass(frozen=True)
class Answer:
    """`content` is what `--json` prints, `show` prints the same for a person.

    `errors` are sentences for stderr: what did not succeed.
    """

    content: Any
    show: Callable[[], None]
    status: int = DONE
    errors: tuple[str, ...] = ()


def refusal(error: BaseException, sentence: str, status: int) -> Answer:
    """The answer of a verb that came to nothing."""
    content = {"error": sentence, "kind": type(error).__name__}
    return Answer(content, lambda: None, status, (sentence,))


def give(answer: Answer, as_json: bool) -> int:
    """Print the answer and return the exit status."""
    for sentence in answer.errors:
        print(f"softmax-lib: {sentence}", file=sys.stderr)
    try:
        if as_json:
            print(json.dumps(answer.content, indent=1))
        else:
            answer.show()
        print(end="", flush=True)
    except (BrokenPipeError, SystemExit):  # `softmax-lib ladder | head`; rich exits
        _drop_the_rest()
    except OSError as error:
        _drop_the_rest()
        print(f"softmax-lib: Cannot write the answer: {error.strerror}.", file=sys.stderr)
        return REFUSED
    return answer.status


def _drop_the_rest() -> None:
    """Python prints what is left when it ends, and would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_table(
    console: Console, headings: Iterable[str], lines: Iterable[Sequence[str]], words: Container[str],
    no_wrap: bool = True, **looks: Any,
) -> None:  # fmt: skip
    """Print lines under headings, of which those in `words` stand left; a section ends with an empty line.

    Numbers stay whole: in a narrower terminal what may not be cut makes lines fold.
    """
    from rich.table import Table

    made, lines = Table(**looks), list(lines)
    for number, heading in enumerate(headings):
        is_left = heading in words
        cells = [line[number] for line in lines if number < len(line)]
        bare = (cell.removeprefix("[b]").removesuffix("[/b]") for cell in cells)
        parts = [heading, *bare] if no_wrap else heading.split()
        parts += [word for cell in cells for word in cell.split()] if is_left else cells
        made.add_column(
            heading, justify="left" if is_left else "right", no_wrap=no_wrap,
            min_width=max(map(len, parts)),
        )  # fmt: skip
    for line in lines:
        made.add_row(*line) if line else made.add_section()
    width = console.width
    console.width = max(width, 1 + sum((column.min_width or 0) + 3 for column in made.columns))
    console.print(made)
    console.width = width


@contextmanager
def parts(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal's stderr; yields what hears a label, how many parts are done, and how many there are."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    is_off = quiet or not console.is_terminal
    with progress.Progress(*columns, console=console, disable=is_off) as bar:
        task = bar.add_task("preparing", total=None)
        yield lambda label, done, total: bar.update(
            task, description=label, completed=done, total=total
        )
