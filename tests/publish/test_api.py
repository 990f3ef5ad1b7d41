"""The API page: every public name, once, with the docstring that Python shows."""

import inspect
import re

import pytest
from address import ROOT

import softmax_lib

PAGE = (ROOT / "book" / "api.md").read_text()
SITE = ROOT / "_build" / "html" / "book" / "api.html"
ENTRIES = re.findall(r"^\.\. auto(\w+):: ([\w.]+)(.*)$", PAGE, re.MULTILINE)


def test_every_public_name_is_there_once():
    stub = (ROOT / "softmax_lib" / "__init__.pyi").read_text()
    public = re.findall(r"(?: as |^)([^_\W]\w*)(?:$| = _)", stub, re.MULTILINE)
    listed = [name.removeprefix("softmax_lib.") for _, name, _ in ENTRIES]
    assert sorted(listed) == sorted(public)


@pytest.mark.parametrize(
    ("name", "written"), [(name, signature) for _, name, signature in ENTRIES if signature]
)
def test_a_signature_that_the_page_gives_is_the_real_one(name, written):
    real = inspect.signature(getattr(softmax_lib, name))
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in real.parameters.values()]
    assert written == str(inspect.Signature(bare))


@pytest.mark.site
@pytest.mark.parametrize("name", [name for kind, name, _ in ENTRIES if kind != "data"])
def test_the_site_shows_how_its_docstring_begins(name):
    place = f"module-{name}" if name.startswith("softmax_lib.") else f"softmax_lib.{name}"
    _, found, behind = SITE.read_text().partition(f'id="{place}"')
    shown = re.sub(r"<[^>]+>", "", behind)
    said = inspect.getdoc(getattr(softmax_lib, name.removeprefix("softmax_lib.")))
    words = re.findall(r"\w{4,}", said.partition("\n")[0])
    assert found
    assert words
    assert re.search(".*?".join(words), shown[:4000], re.DOTALL)
