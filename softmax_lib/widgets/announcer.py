"""A widget that is not seen: it names the handles of the sliders beside it, and tells a screen reader what a move came to.

ipywidgets does neither, and has no way to ask for it.
"""

from __future__ import annotations

from pathlib import Path

import anywidget

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Announcer(anywidget.AnyWidget):
    """Stands in the box of the sliders that it speaks for."""

    _esm = _SCRIPT
