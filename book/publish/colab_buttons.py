"""Sphinx extension: the button that opens a page in Colab opens it as the last release has it."""

from __future__ import annotations

from typing import Any

from address import Address
from sphinx.application import Sphinx


def point_at_the_release(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """The theme would open the branch, whose notebooks install the release all the same."""
    for group in context.get("header_buttons", ()):
        for button in group.get("buttons", ()):
            if button["text"] == "Colab":
                button["url"] = Address.read().notebook(page.removeprefix("book/"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the function above to the build, behind the theme."""
    app.connect("html-page-context", point_at_the_release, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
