"""The EPUB: every page of the book in one file, well-formed, with the first frame of each widget."""

import re
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]
XHTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The parsed pages of an EPUB that is built here, by name."""
    out = tmp_path_factory.mktemp("epub")
    command = "jupyter-book build . --builder custom --custom-builder epub -W --keep-going --quiet"
    binary = ROOT / ".venv-book" / "bin"
    subprocess.run(
        [binary / command.split()[0], *command.split()[1:], "--path-output", out],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = out.glob("_build/epub/*.epub")
    with zipfile.ZipFile(path) as book:
        assert book.testzip() is None
        names = [name for name in book.namelist() if name.endswith(".xhtml")]
        return {Path(name).stem: ET.fromstring(book.read(name)) for name in names}


def test_every_page_of_the_book_is_in_it(pages):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [toc["root"], *(one["file"] for part in toc["parts"] for one in part["chapters"])]
    assert {Path(file).name for file in files} <= pages.keys()


def test_widgets_stand_in_it_as_they_begin(pages):
    found = [one for page in pages.values() for one in page.iter() if one.get("data-at")]
    assert len(found) > 20
    assert all(
        len("".join(one.itertext())) > 10 or one.find(f".//{XHTML}img") is not None for one in found
    )


def test_nothing_in_it_waits_for_a_script(pages):
    assert not [one for page in pages.values() for one in page.iter(f"{XHTML}button")]


def test_formulas_are_set(pages):
    assert len([one for one in pages["01_math"].iter() if one.tag.endswith("MathML}math")]) > 10
    assert not re.search(r"\\frac|\\sum", ET.tostring(pages["01_math"], encoding="unicode"))
