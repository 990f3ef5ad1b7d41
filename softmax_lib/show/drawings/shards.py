"""A row over several GPUs, in three steps: each makes a pair of its shard, the pairs cross, and each merges them and writes."""

from __future__ import annotations

import math

from softmax_lib import widgets
from softmax_lib.show.drawings.drawing import Drawing, frame, number, sliders
from softmax_lib.widgets.views import View

ROW = (2.0, 1.0, 5.0, 3.0, 0.0, 4.0, 6.0, 3.0)
STEPS = (
    ("each GPU reduces its shard", "The shards stay where they are."),
    ("the pairs cross", "GPU 0 tells all, as the others do: 16 bytes a row."),
    ("merge, and write", "Each GPU writes its part."),
)
_LEFT, _ACROSS, _HIGH = 46, 294, 24
_SHARD, _PAIR, _SLOTS, _PART = 22, 70, 128, 182


def ranks() -> widgets.Explorer:
    """Sliders over the number of GPUs and three steps: shards of eight floats, their pairs, and what each GPU writes."""
    return sliders({"GPUs": [2, 4], "step": range(1, 4)}, _show, (4, 1))


def _show(many: int, step: int) -> View:
    share, pitch = len(ROW) // many, _ACROSS / many
    shards = [ROW[rank * share :][:share] for rank in range(many)]
    pairs = [(max(one), sum(math.exp(x - max(one)) for x in one)) for one in shards]
    top = max(ROW)
    total = sum(math.exp(x - top) for x in ROW)
    told = [f"{number(own)}, {of:.2f}" for own, of in pairs]
    title, caption = STEPS[step - 1]
    drawing = Drawing(_PART + _HIGH + 4, f"Pairs {'; '.join(told)}: {caption}")
    for line, word in ((_SHARD, "shard"), (_PAIR, "pair"), (_SLOTS, "slots"), (_PART, "part")):
        drawing.text(0, line + 16, word, size=11)
    middles = [_LEFT + (rank + 0.5) * pitch - 4 for rank in range(many)]
    for rank, middle in enumerate(middles):
        left, wide = _LEFT + rank * pitch, (pitch - 8) / share
        drawing.text(middle, 12, f"GPU {rank}", anchor="middle", size=11)
        for i, x in enumerate(shards[rank]):
            at = left + i * wide
            drawing.box((at, _SHARD, wide - 2, _HIGH), number(x), tone="blue")
            part = f"{math.exp(x - top) / total:.2f}"[1:] if step == 3 else ""
            drawing.box((at, _PART, wide - 2, _HIGH), part, faint=not part)
        drawing.arrow((middle, _SHARD + _HIGH + 2), (middle, _PAIR - 2))
        drawing.box((left, _PAIR, pitch - 10, _HIGH), told[rank], tone="orange")
        slot = (pitch - 8) / many
        for other in range(many):
            place = (left + other * slot, _SLOTS, slot - 2, _HIGH)
            if step == 1:
                drawing.box(place, faint=True)
            else:
                drawing.box(place, str(other), tone="orange")
        if step == 2:
            end = (left + slot / 2 - 1, _SLOTS - 2)
            drawing.arrow((middles[0], _PAIR + _HIGH + 2), end, tone="orange")
        if step == 3:
            drawing.arrow((middle, _SLOTS + _HIGH + 2), (middle, _PART - 2), tone="green")
    merged = f"Merged: max {number(top)}, sum {total:.2f}. " if step == 3 else ""
    return frame(drawing, f"{many} GPUs: {title}", merged + caption)
