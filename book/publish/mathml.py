"""Sphinx extension: formulas as MathML, which browsers set by themselves: no script, and nothing moves afterwards."""

from __future__ import annotations

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def set_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line of text."""
    translator.body.append(f'<span class="math">{convert(node.astext())}</span>')
    raise nodes.SkipNode


def set_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula by itself."""
    latex = node.astext().replace("{aligned}", "{align*}")  # which the converter knows
    latex = re.sub(r"\\\\\[[^]]*\]", r"\\\\", latex)  # and it does not know room between lines
    formula = convert(latex, display="block")
    translator.body.append(f'<div class="math" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this the way in which HTML shows formulas."""
    app.add_html_math_renderer("mathml", (set_inline, None), (set_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
