"""HTML from templates, in which every value is escaped, and from a little Markdown."""

from __future__ import annotations

from functools import cache
from typing import Any

import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup


def render(template: str, **values: Any) -> Markup:
    """`template`, in Jinja's language, filled in; text is escaped, and `Markup` is taken as it is."""
    return Markup(_compiled(template).render(**values))


def markdown(text: str) -> Markup:
    """A few words in Markdown (CommonMark, without HTML in it), such as a chapter hands to a widget."""
    return Markup(MarkdownIt("commonmark", {"html": False}).render(text).rstrip("\n"))


@cache
def _compiled(template: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(template)
