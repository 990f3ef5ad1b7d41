"""Small pictures for steppers: SVG that takes the page's own ink, so that it reads in light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from softmax_lib import widgets
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View

WIDTH = 340
"""Width of every drawing in its own units: about the pixels that a phone has for it."""

TONES = {"plain": "", "blue": "#1F7FC4", "orange": "#D55E00", "green": "#009E73"}
"""Outlines: three colours that are told apart by everyone, and on white as well as on black."""

_DESKTOP_PIXELS = 520
_WIDEST_PITCH, _WIDEST_GAP = 42, 6
_NARROW = 28
_HEAD = 6.0

_FRAME = (
    "<p><strong>{{ title }}</strong></p>{{ svg }}{% if caption %}<p>{{ caption }}</p>{% endif %}"
)

Box = tuple[float, float, float, float]
"""Left, top, width and height."""
Point = tuple[float, float]


class Drawing:
    """Boxes, words and arrows on `height` units; `words` say what a reader who cannot see it misses."""

    def __init__(self, height: float, words: str) -> None:
        self.height = height
        self.words = words
        self.parts: list[str] = []

    def box(self, place: Box, text: str = "", *, tone: str = "plain", faint: bool = False) -> None:
        """A rectangle with `text` in its middle; a `tone` other than plain also thickens its edge."""
        left, top, width, height = place
        edge, stroke = (2, TONES[tone]) if TONES[tone] else (1, "currentColor")
        fill = f'fill="{stroke}" fill-opacity=".18"' if TONES[tone] else 'fill="none"'
        dashes = ' stroke-dasharray="3"' if faint else ""
        self.parts.append(
            f'<rect x="{_n(left)}" y="{_n(top)}" width="{_n(width)}" height="{_n(height)}" rx="3" '
            f'{fill} stroke="{stroke}" stroke-width="{edge}"{dashes}/>'
        )
        if text:
            size, bold = (11, False) if width < _NARROW else (14, bool(TONES[tone]))
            middle, line = left + width / 2, top + height / 2 + 5
            self.text(middle, line, text, anchor="middle", size=size, bold=bold)

    def boxes(self, rectangles: Sequence[Box], tone: str, solid: bool = False) -> None:
        """Many rectangles of one tone, without words, in few bytes."""
        if not rectangles:
            return
        color = TONES[tone] or "currentColor"
        path = "".join(f"M{_n(x)} {_n(y)}h{_n(w)}v{_n(h)}h{_n(-w)}z" for x, y, w, h in rectangles)
        opacity = "" if solid else f' fill-opacity="{0.18 if TONES[tone] else 0}"'
        edge = "" if solid else f' stroke="{color}" stroke-opacity="{1 if TONES[tone] else 0.6}"'
        self.parts.append(f'<path d="{path}" fill="{color}"{opacity}{edge}/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        anchor: str = "start",
        size: int = 12,
        bold: bool = False,
    ) -> None:
        """`text` on the line at `y`, with `anchor` start, middle or end at `x`."""
        weight = ' font-weight="700"' if bold else ""
        at = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}"{at} font-size="{size}"{weight}>{escape(text)}</text>'
        )

    def key(
        self,
        left: float,
        line: float,
        tone: str,
        words: str,
        *,
        solid: bool = True,
        swatch: tuple[float, float, float] = (12, 9, 5),
        size: int = 12,
    ) -> None:
        """What a tone stands for, at `line`; a `swatch` has its width, its height, and the gap before its words."""
        width, high, gap = swatch
        self.boxes([(left, line - high, width, high)], tone, solid)
        self.text(left + width + gap, line, words, size=size)

    def line(
        self,
        points: Sequence[Point],
        tone: str = "plain",
        dashed: bool = False,
        faint: bool = False,
    ) -> None:
        """A line from point to point: thin, but for one of a tone that is not dashed."""
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        looks = [f'stroke="{TONES[tone] or "currentColor"}"']
        looks += ['stroke-dasharray="5 4"'] if dashed else []
        looks += ['stroke-opacity=".2"'] if faint else []
        looks += ['stroke-width="2.5"'] if TONES[tone] and not dashed else []
        self.parts.append(f'<polyline points="{path}" fill="none" {" ".join(looks)}/>')

    def dots(self, points: Sequence[Point], tone: str, radius: float = 2.5) -> None:
        """A filled circle at each point."""
        self.parts += [
            f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{TONES[tone]}"/>'
            for x, y in points
        ]

    def arrow(self, start: Point, end: Point, tone: str = "blue") -> None:
        """A straight arrow; a plain one is thin and dashed: it happens, and nothing comes of it."""
        (x0, y0), (x1, y1) = start, end
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        along, aside = ((x1 - x0) / length * _HEAD, (y1 - y0) / length * _HEAD), _HEAD * 0.45
        back = (x1 - along[0], y1 - along[1])
        side = (-along[1] / _HEAD * aside, along[0] / _HEAD * aside)
        color = TONES[tone] or "currentColor"
        stroke = 'stroke-width="1.75"' if TONES[tone] else 'stroke-dasharray="2 3"'
        self.parts.append(
            f'<path d="M{_n(x0)} {_n(y0)}L{_n(back[0])} {_n(back[1])}" stroke="{color}" '
            f'{stroke}/><path fill="{color}" d="M{_n(x1)} {_n(y1)}'
            f"L{_n(back[0] + side[0])} {_n(back[1] + side[1])}"
            f'L{_n(back[0] - side[0])} {_n(back[1] - side[1])}z"/>'
        )

    def svg(self) -> str:
        """The drawing as inline SVG."""
        return (
            f'<svg viewBox="0 0 {WIDTH} {_n(self.height)}" role="img" '
            f'aria-label="{escape(self.words)}" fill="currentColor" '
            f'style="display:block;width:100%;max-width:{_DESKTOP_PIXELS}px;height:auto">'
            f"{''.join(self.parts)}</svg>"
        )


def places(count: int, left: float = 0, width: float = WIDTH) -> list[tuple[float, float]]:
    """Left edge and width of `count` boxes that stand side by side in the middle of a stretch."""
    pitch = min(_WIDEST_PITCH, width / count)
    start = left + (width - pitch * count) / 2
    gap = min(_WIDEST_GAP, pitch / 8)
    return [(start + pitch * i + gap / 2, pitch - gap) for i in range(count)]


def frame(drawing: Drawing, title: str, caption: str = "") -> View:
    """A drawing under its title, and over a caption where the picture does not say all."""
    html = render(_FRAME, title=title, svg=Markup(drawing.svg()), caption=caption)
    return View(str(html), f"{title}: {caption or drawing.words}")


def sliders(
    axes: Mapping[str, Sequence[Any]], show: Callable[..., View], start: Sequence[Any] | None = None
) -> widgets.Explorer:
    """An explorer of drawings, with its sliders beside them where a page is wide enough."""
    return widgets.explorer(axes, show, start=start).add_class("worklog-two-columns")


def number(value: float) -> str:
    """A value as it is written in a box: whole numbers bare, others to three places."""
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    if value == int(value):
        return str(int(value)).replace("-", "−")
    return (f"{value:.3f}" if abs(value) >= 0.001 else f"{value:.0e}").replace("-", "−")


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
