"""The line of a source that an instruction belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from softmax_lib.engine.compiled.listing import Place, Statement
from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.lines import LineCounters


class Places:
    """Where instructions are shown: at a line of the source or of a header of its own.

    Of a function that was inlined there is a choice: the line in the function, or the one that calls it.
    The innermost one at which the source's own counts have something is taken, else the innermost one.
    """

    def __init__(self, source: Source, written: Iterable[LineCounters]) -> None:
        self._source = source
        self._own = {Path(name).name: name for name in (source.file_name, *source.headers)}
        self._written = {(line.file, line.line) for line in written}

    def of(self, statement: Statement) -> Place:
        """File and line of a statement; line 0 where none is known."""
        own = [
            (self._own[Path(file).name], line)
            for file, line in statement.places
            if Path(file).name in self._own
        ]
        known = (place for place in own if place in self._written)
        outermost = statement.places[-1][1] if statement.places else 0
        return next(known, own[0] if own else (self._source.file_name, outermost))
