"""Which thread takes which element: blocks of threads above, the elements of an array below."""

from __future__ import annotations

from softmax_lib.engine.words import count
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput

_TONES = ("blue", "orange", "green")
_BOX, _TOP = 22, 34
_MOST = 16


def indices(elements: int, block_size: int) -> View:
    """Draw a launch that gives each of `elements` elements one thread, in blocks of `block_size` threads.

    Up to 16 threads. Raises `BadInput` for more, or for none.
    """
    if min(elements, block_size) < 1:
        raise BadInput("This picture needs at least one element, and one thread per block.")
    blocks = -(-elements // block_size)
    threads = blocks * block_size
    if threads > _MOST:
        raise BadInput(f"This picture has room for {_MOST} threads, and not for {threads}.")
    drawing = Drawing(_TOP + 2 * _BOX + 54, "Threads above, the elements that they take below")
    pitch = WIDTH / _MOST
    for i in range(threads):
        _draw(drawing, i, block_size, i < elements, pitch)
    for block in range(blocks):
        middle = (block + 0.5) * block_size * pitch
        drawing.text(middle, 14, f"block {block}" if block_size > 2 else f"b{block}", size=12)
    return frame(drawing, *_in_words(elements, blocks, block_size))


def _draw(drawing: Drawing, i: int, block_size: int, has_element: bool, pitch: float) -> None:
    block, thread = divmod(i, block_size)
    tone, below = _TONES[block % len(_TONES)], _TOP + _BOX + 36
    drawing.box(i * pitch + 1, _TOP, pitch - 2, _BOX, str(thread), tone=tone, faint=not has_element)
    if has_element:
        middle = (i + 0.5) * pitch
        drawing.arrow((middle, _TOP + _BOX + 2), (middle, below - 2), tone=tone)
        drawing.box(i * pitch + 1, below, pitch - 2, _BOX, str(i))


def _in_words(elements: int, blocks: int, block_size: int) -> tuple[str, str]:
    title = f"{count(blocks, 'block')} of {count(block_size, 'thread')}, {elements} elements"
    last = f"{blocks - 1} × {block_size} + {(elements - 1) % block_size}"
    spare = blocks * block_size - elements
    idle = (
        f"{count(spare, 'thread')} at the end find no element."
        if spare
        else "No thread is to spare."
    )
    return (
        title,
        f"The last element is {elements - 1} = {last}, block times size plus thread. {idle}",
    )
