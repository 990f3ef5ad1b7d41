"""Colab opens and installs the last release, wherever the reader comes from."""

import re

import nbformat
import pytest
from address import ROOT, Address, open_release, release
from notebooks import chapters, evidence, name_of, pages

SITE = ROOT / "_build" / "html"
OPENED = re.compile(
    r"colab\.research\.google\.com/github/[\w.-]+/[\w.-]+/blob/([^/\s]+)/book/([\w/]+)"
)


@pytest.mark.parametrize("path", [*chapters(), *evidence()], ids=name_of)
def test_the_first_cell_installs_the_release_and_warns_where_no_gpu_is(path):
    first = nbformat.read(path, as_version=4).cells[0].source
    assert re.findall(r"%pip install .*@(\S+)\"", first) == [release()]
    assert first == Address.read().bootstrap
    assert "No GPU here" in first


def test_links_in_the_text_open_the_release():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *pages())]
    opened = [found for text in texts for found in OPENED.findall(text)]
    assert {name for _, name in opened} == {"01_math"}
    assert {tag for tag, _ in opened} == {release()}


def test_executing_a_notebook_brings_its_links_to_the_release():
    link = "[one](https://colab.research.google.com/github/you/book/blob/{}/book/01_math.ipynb)"
    assert open_release(link.format("v0.0.1")) == link.format(release())


@pytest.mark.site
@pytest.mark.parametrize("path", [*chapters(), *evidence()], ids=name_of)
def test_the_button_of_a_page_opens_its_notebook_as_released(path):
    page = (SITE / "book" / f"{name_of(path)}.html").read_text(encoding="utf-8")
    opened = set(OPENED.findall(page))
    assert (release(), name_of(path)) in opened
    assert {tag for tag, _ in opened} == {release()}
