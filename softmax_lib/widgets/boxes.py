"""What explorers, steppers and questions are made of; it works on the static page, in JupyterLab and in Colab.

Every view is made when the widget is, and the browser switches between them (`jslink` to a `Stack`),
so a saved page needs no kernel. Colab's ipywidgets 7 has no `Stack`: there the kernel switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import ipywidgets as W


class Shown(W.VBox):
    """A box of widgets that leaves a view behind where no widget can run, such as on GitHub."""

    fallback: dict[str, str]

    def __init__(self, children: Sequence[W.Widget], kind: str, fallback: dict[str, str]) -> None:
        super().__init__(children)
        self.fallback = fallback
        self.add_class("worklog-widget")
        self.add_class(f"worklog-{kind}")

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return {**super()._repr_mimebundle_(**options), **self.fallback}


def slider(name: str, options: Sequence[Any], value: Any = None) -> W.SelectionSlider:
    """A slider over `options`, which start at `value` or the first."""
    return W.SelectionSlider(
        options=[(str(option), option) for option in options],
        index=list(options).index(value) if value is not None else 0,
        description=name,
        style={"description_width": "initial"},
        layout=W.Layout(width="100%", max_width="560px"),
    )


def announcer() -> list[W.Widget]:
    """What gives sliders beside it a name, for those who do not see them.

    Nothing in Colab, where anywidget would take the place of Colab's own widgets, or without anywidget.
    """
    if not hasattr(W, "Stack") or not find_spec("anywidget"):
        return []
    from softmax_lib.widgets.announcer import Announcer

    return [Announcer()]


def switch(control: W.Widget, views: list[W.Widget]) -> W.Widget:
    """A box with the view that `control.index` points to."""
    if hasattr(W, "Stack"):
        stack = W.Stack(views, selected_index=control.index)
        W.jslink((control, "index"), (stack, "selected_index"))
        return stack
    box = W.VBox([] if control.index is None else [views[control.index]])
    control.observe(lambda change: setattr(box, "children", [views[change["new"]]]), "index")
    return box
