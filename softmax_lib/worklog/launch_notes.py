"""What a reader may not expect of how a kernel of theirs is launched."""

from __future__ import annotations

import re

from softmax_lib.worklog.kernel import Kernel

_OTHER_AXES = re.compile(r"\b(?:threadIdx|blockIdx)\s*\.\s*[yz]\b")
_SHARES = {
    "thread a row": "one thread per row",
    "lanes a row": "some lanes of a warp per row",
    "thread an element": "one thread per element",
}


def notes_on(kernel: Kernel) -> tuple[str, ...]:
    """Sentences on the launch of a reader's own kernel, where it is not one block per row along x alone."""
    share = _SHARES.get(kernel.steps[0].grid) if kernel.given_source else None
    named = f"{kernel.steps[0].entry} is launched as the book's kernel of that name: {share}."
    return tuple(note for note in (share and named, note_on_axes(kernel)) if note)


def note_on_axes(kernel: Kernel) -> str | None:
    """That the other axes, of which the source of a reader's kernel makes use, are 0; else None."""
    if kernel.given_source is None:
        return None
    code = kernel.given_source.code
    used = sorted({re.sub(r"\s", "", found) for found in _OTHER_AXES.findall(code)})
    if not used:
        return None
    return f"It is launched in one dimension, where {' and '.join(used)} {'are' if used[1:] else 'is'} 0."
