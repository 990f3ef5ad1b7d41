"""The EPUB: every page of the book in one file, well-formed, with the first frame of each widget."""

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest
import yaml
from address import ROOT

pytestmark = pytest.mark.site

XHTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(scope="module")
def epub(tmp_path_factory, request):
    """What an EPUB holds that is built here, by name; `make test-all` builds it twice, as who comes back does."""
    out = tmp_path_factory.mktemp("epub")
    command = "jupyter-book build . --builder custom --custom-builder epub -W --keep-going --quiet"
    binary = ROOT / ".venv-book" / "bin"
    for _ in range(2 if request.config.option.tier == "all" else 1):
        for read in (".doctrees", "jupyter_execute"):  # for the site, which is built
            shutil.copytree(ROOT / "_build" / read, out / "_build" / read, dirs_exist_ok=True)
        subprocess.run(
            [binary / command.split()[0], *command.split()[1:], "--path-output", out],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
    (path,) = out.glob("_build/epub/*.epub")
    with zipfile.ZipFile(path) as book:
        assert book.testzip() is None
        return {name: book.read(name) for name in book.namelist()}


@pytest.fixture(scope="module")
def pages(epub):
    """The parsed pages, by name."""
    return {
        name.removeprefix("book/").removesuffix(".xhtml"): ET.fromstring(text)
        for name, text in epub.items()
        if name.endswith(".xhtml")
    }


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


def test_drawings_are_svg_and_styles_stand_in_the_head(pages):
    drawings = [one for page in pages.values() for one in page.iter() if one.tag.endswith("}svg")]
    assert len(drawings) > 20
    assert {one.tag for one in drawings} == {"{http://www.w3.org/2000/svg}svg"}
    for page in pages.values():
        for name in ("style", "script", "noscript"):
            assert page.find(f"{XHTML}body//{XHTML}{name}") is None
    assert pages["04_online"].find(f"{XHTML}head/{XHTML}style") is not None


def test_all_that_a_page_loads_is_in_it(epub):
    for name, text in epub.items():
        if not name.endswith(".xhtml"):
            continue
        for one in ET.fromstring(text).iter():
            address = one.get("src") or (one.get("href") if one.tag == f"{XHTML}link" else None)
            if address and not address.startswith("data:"):
                there = os.path.normpath(Path(name).parent / address)
                assert there in epub, f"{name} loads {address}"


def test_the_manifest_says_which_pages_hold_formulas_and_drawings(epub, pages):
    opf = "{http://www.idpf.org/2007/opf}"
    package = ET.fromstring(epub["content.opf"])
    for item in package.iter(f"{opf}item"):
        if not item.get("href").endswith(".xhtml") or item.get("href") == "nav.xhtml":
            continue
        tags = {
            one.tag.rpartition("}")[2]
            for one in pages[item.get("href").removeprefix("book/").removesuffix(".xhtml")].iter()
        }
        held = [told for told, tag in (("mathml", "math"), ("svg", "svg")) if tag in tags]
        assert (item.get("properties") or "").split() == held, item.get("href")
    identifier = package.find(".//{http://purl.org/dc/elements/1.1/}identifier").text
    assert f'name="dtb:uid" content="{identifier}"' in epub["toc.ncx"].decode()
