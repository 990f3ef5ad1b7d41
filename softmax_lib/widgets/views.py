"""A picture or a piece of HTML with a text alternative, the same bytes each time it is made."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from softmax_lib.engine.errors import WrongType
from softmax_lib.widgets.markup import markdown, render

PIXELS_AN_INCH = 96
PNG_DOTS_AN_INCH = 120

_NOTE = '<p class="worklog-note" role="status">{{ sentence }}</p>'
_PLAIN = (
    '<div style="font:0.875em/1.4 monospace;white-space:pre-wrap;overflow-wrap:anywhere">'
    "{{ text }}</div>"
)
_FIGURE = (
    "{% if heading %}<p><strong>{{ heading }}</strong></p>{% endif %}"
    '<img class="worklog-figure" alt="{{ alt }}" style="width:{{ width }}px;max-width:100%;height:auto;'
    'background:#fff" src="{{ wide }}"{% if narrow %} data-narrow="{{ narrow }}"{% endif %}>'
    '{% if notes %}<p class="worklog-source">{{ notes }}</p>{% endif %}'
)
_DRAWING = re.compile(r'<svg (viewBox="[^"]*" role="img" aria-label="([^"]*)".*?</svg>)', re.DOTALL)
_IMAGE = (
    '<img class="worklog-drawing" alt="{{ alt }}" style="width:100%;max-width:520px;background:#fff" '
    'src="{{ source }}">'
)
_ALONE = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
"""Images, since JupyterLab strips SVG from a notebook that is not trusted; the site puts the SVG in their places."""

_UNSEEN = re.compile(r'(?<=\.\d\d)\d+(?=[^<>]*>)| transform="rotate\(-0 [^"]*"')
"""In SVG: less than a hundredth of a point, and a turn by nothing."""


@dataclass(frozen=True)
class View:
    """What a reader sees: HTML, the words that stand for it, and the figure it shows, if any."""

    html: str
    text: str
    figure: Any = field(default=None, compare=False, repr=False)

    @cached_property
    def png(self) -> bytes | None:
        """The figure for places without HTML, drawn when one asks for it: most views of an explorer are in none."""
        if self.figure is None:
            return None
        return draw(self.figure, "png", {"Software": None}, facecolor="white")

    def with_note(self, sentence: str) -> View:
        """The same view under a sentence, such as why it is not the one that was asked for."""
        return View(note(sentence) + self.html, f"{sentence} {self.text}", self.figure)

    def fallback(self) -> dict[str, str]:
        """Representations for a place that runs no widgets: a PNG, else the HTML."""
        if self.png:
            return {"image/png": base64.b64encode(self.png).decode(), "text/plain": self.text}
        return {"text/html": _with_images(self.html), "text/plain": self.text}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {**self.fallback(), "text/html": _with_images(self.html)}


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
        kind = type(content).__name__
        raise WrongType(f"A {kind} cannot be shown here; pass a figure, a text or a view.")
    return View(str(markdown(content)), alt or content)


def plain(text: str) -> View:
    """Text as it is, in letters of one width: its lines are kept, and wrap where a screen is narrow."""
    return View(str(render(_PLAIN, text=text)), text)


def note(sentence: str) -> str:
    """HTML of a sentence that a screen reader says when it appears."""
    return str(render(_NOTE, sentence=sentence))


def _picture(figure: Any, alt: str) -> View:
    narrow = getattr(figure, "narrow", None)
    told = {name: getattr(figure, name, "") for name in ("heading", "notes")}
    width, wide = round(figure.get_figwidth() * PIXELS_AN_INCH), _data(figure, alt)
    phones = _data(narrow, f"{alt} narrow") if narrow else ""
    html = render(_FIGURE, alt=alt, width=width, wide=wide, narrow=phones, **told)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    return View(str(html), alt, figure)


def _data(figure: Any, name: str) -> Markup:
    """The SVG of a figure as an address."""
    _, start, rest = draw(figure, "svg", {"Date": None, "Creator": None}).decode().partition("<svg")
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", start + rest, flags=re.DOTALL)
    svg = _UNSEEN.sub("", " ".join(svg.split()))
    svg = re.sub(r'<g( clip-path="[^"]*")>((?: <use [^>]*/>)+) </g>', _with_one_style, svg)
    return _address(_with_own_names(svg, name))


def _with_one_style(marks: re.Match[str]) -> str:
    """The marks of a line with their style told once."""
    styles = set(re.findall(r' style="[^"]*"', marks[2]))
    if len(styles) != 1:
        return marks[0]
    (style,) = styles
    return f"<g{marks[1]}{style}>{marks[2].replace(style, '')} </g>"


def _with_own_names(svg: str, name: str) -> str:
    """Parts that others refer to numbered in their order, the rest without a name.

    matplotlib names some after the last bits of coordinates, in which processors differ, and the others alike in all
    figures, of which a page has several.
    """
    own = hashlib.sha256(name.encode()).hexdigest()[:6]
    used = dict.fromkeys(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    names = {old: f"f{own}-{number}" for number, old in enumerate(used, 1)}
    svg = re.sub(
        r' id="([^"]+)"', lambda at: f' id="{names[at[1]]}"' if at[1] in names else "", svg
    )
    return re.sub(r'(url\(|href=")#([^)"]+)', lambda at: f"{at[1]}#{names[at[2]]}", svg)


def _with_images(html: str) -> str:
    """HTML whose drawings are images: JupyterLab strips SVG from a notebook that is not trusted."""

    def image(svg: re.Match[str]) -> str:
        source = _address(f"<svg {_ALONE}{svg[1]}")
        return str(render(_IMAGE, alt=Markup(svg[2]), source=source))

    return _DRAWING.sub(image, html)


def _address(svg: str) -> Markup:
    """SVG as an address of its own; it compresses far better than base64."""
    return Markup("data:image/svg+xml," + quote(svg, safe=" =:/;,()@!*$?+"))


def draw(figure: Any, kind: str, metadata: dict[str, None], **options: Any) -> bytes:
    """The bytes of a matplotlib figure in this format, the same each time; None drops a metadatum."""
    import matplotlib

    out = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "softmax", "svg.fonttype": "none"}):
        figure.savefig(out, format=kind, metadata=metadata, dpi=PNG_DOTS_AN_INCH, **options)
    return out.getvalue()
