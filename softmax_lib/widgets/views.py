"""A picture or a piece of HTML with a text alternative, the same bytes each time it is made."""

from __future__ import annotations

import base64
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from softmax_lib.errors import WrongType
from softmax_lib.widgets.markup import markdown, render

PIXELS_AN_INCH = 96
PNG_DOTS_AN_INCH = 120

_NOTE = '<p class="worklog-note" role="status">{{ sentence }}</p>'
_PLAIN = (
    '<div style="font:0.875em/1.4 monospace;white-space:pre-wrap;overflow-wrap:anywhere">'
    "{{ text }}</div>"
)
_IMAGE = (
    '<img alt="{{ alt }}" style="width:{{ width }}px;max-width:100%;height:auto" '
    'src="data:image/svg+xml,{{ data }}">'
)


@dataclass(frozen=True)
class View:
    """What a reader sees: HTML, the words that stand for it, and the figure it shows, if any."""

    html: str
    text: str
    figure: Any = field(default=None, compare=False, repr=False)

    @cached_property
    def png(self) -> bytes | None:
        """The figure for places without HTML, drawn when one asks for it: most views of an explorer are in none."""
        return draw(self.figure, "png", {"Software": None}) if self.figure else None

    def with_note(self, sentence: str) -> View:
        """The same view under a sentence, such as why it is not the one that was asked for."""
        return View(note(sentence) + self.html, f"{sentence} {self.text}", self.figure)

    def fallback(self) -> dict[str, str]:
        """Representations for a place that runs no widgets: a PNG, else the HTML."""
        if self.png:
            return {"image/png": base64.b64encode(self.png).decode(), "text/plain": self.text}
        return {"text/html": self.html, "text/plain": self.text}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {**self.fallback(), "text/html": self.html}


def view(content: Any, alt: str = "") -> View:
    """Make a `View` of a matplotlib figure, a text in Markdown, or a list of these and of views.

    `alt` is what a reader who cannot see the picture is told; a figure that has a text alternative,
    such as those of `figures`, keeps its own, and a text without any tells itself. A figure is closed,
    so that the notebook does not show it a second time. Raises `WrongType` for anything else.
    """
    if isinstance(content, View):
        return content
    if hasattr(content, "savefig"):
        return _picture(content, getattr(content, "alt", "") or alt)
    if isinstance(content, Sequence) and not isinstance(content, str):
        parts = [view(part, alt) for part in content]
        figures = [part.figure for part in parts if part.figure]
        words = alt or " ".join(part.text for part in parts)
        return View("".join(part.html for part in parts), words, figures[0] if figures else None)
    if not isinstance(content, str):
        raise WrongType(
            f"A {type(content).__name__} cannot be shown here; pass a figure, a text or a view."
        )
    return View(str(markdown(content)), alt or content)


def plain(text: str) -> View:
    """Text as it is, in letters of one width: its lines are kept, and wrap where a screen is narrow."""
    return View(str(render(_PLAIN, text=text)), text)


def note(sentence: str) -> str:
    """HTML of a sentence that a screen reader says when it appears."""
    return str(render(_NOTE, sentence=sentence))


def _picture(figure: Any, alt: str) -> View:
    svg = draw(figure, "svg", {"Date": None, "Creator": None}).decode()
    svg = _with_numbered_names(svg[svg.index("<svg") :].replace("\n", " "))
    width = round(figure.get_figwidth() * PIXELS_AN_INCH)
    data = quote(svg, safe=" =:/;,()@!*$?+")  # compresses far better than base64
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    return View(str(render(_IMAGE, alt=alt, width=width, data=Markup(data))), alt, figure)


def _with_numbered_names(svg: str) -> str:
    """Parts named in their order. matplotlib names some after the last bits of coordinates, in which
    processors differ."""
    names = dict.fromkeys(re.findall(r'id="([a-z][0-9a-f]{10})"', svg))
    numbered = {name: f"{name[0]}{number}" for number, name in enumerate(names, 1)}
    return re.sub(r"\b[a-z][0-9a-f]{10}\b", lambda found: numbered.get(found[0], found[0]), svg)


def draw(figure: Any, kind: str, metadata: dict[str, None]) -> bytes:
    """The bytes of a matplotlib figure in this format, the same each time; None drops a metadatum."""
    import matplotlib

    out = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "softmax"}):
        figure.savefig(out, format=kind, metadata=metadata, dpi=PNG_DOTS_AN_INCH)
    return out.getvalue()
