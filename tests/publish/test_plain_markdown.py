"""Pages read well where MyST is not known, in JupyterLab, VS Code and Colab, and link each word of the glossary where they first use it."""

import functools
import re

import nbformat
import pytest
import references
import yaml
from address import ROOT
from glossary import LINK, anchor, anchors, entries, first_uses, markdown_of, word_in
from marks import rewrite
from notebooks import BOOK, chapters, evidence, name_of, pages
from references import CITATION, sources

pytestmark = pytest.mark.quick

MARKERS = {
    "a role": r"\{[\w:-]+\}`",
    "a directive": r"^\s*(`{3,}|~{3,}|:{3,})\s*\{",
    "a fence of colons": r"^\s*:{3,}",
    "an option": r"^\s*:[\w-]+:",
    "a substitution": r"\{\{|\{%",
    "a target": r"^\([\w-]+\)=",
    "a definition": r"^:\s",
    "a comment or a break": r"^(%|\+\+\+)",
    "attributes": r"^\{[^}]*\}$",
    "a footnote": r"\[\^",
}
"""What MyST makes something of, and plain Markdown shows as it stands."""
FOLD_BEGINS = re.compile(r"^<details>\n<summary>[^\n]+</summary>\n\n", re.MULTILINE)
FOLD_ENDS = re.compile(r"\n\n</details>(?=\n|$)")
CODE = re.compile(r"^```\w*\n.*?^```$", re.MULTILINE | re.DOTALL)


PAGES = {name_of(path): path for path in pages()}


@functools.cache
def text_of(page):
    """A page's Markdown without its blocks of code."""
    return CODE.sub("", markdown_of(PAGES[page]))


# of the page api, help() says the same in a notebook
@pytest.mark.parametrize("page", sorted(PAGES.keys() - {"api"}))
def test_a_page_has_no_marker_that_plain_markdown_shows(page):
    text = text_of(page)
    found = [re.findall(f".*{marker}.*", text, re.MULTILINE) for marker in MARKERS.values()]
    assert not any(found), found


@pytest.mark.parametrize("page", PAGES)
def test_what_is_folded_is_markdown_on_lines_of_its_own(page):
    folds = text_of(page).count("<details")
    assert folds == text_of(page).count("</details")
    assert folds == len(FOLD_BEGINS.findall(text_of(page))) == len(FOLD_ENDS.findall(text_of(page)))


@pytest.mark.parametrize("page", PAGES)
def test_a_link_to_a_word_leads_to_the_glossary(page):
    assert {place for _, place in LINK.findall(text_of(page))} <= anchors().keys()


@pytest.mark.parametrize("page", PAGES)
def test_a_citation_names_its_source_and_leads_to_it(page):
    for cited in CITATION.finditer(text_of(page)):
        due = f"([{sources()[cited['key']].label}](references.md#{cited['key']}))"
        assert cited[0].replace("../", "") == due


@pytest.mark.parametrize("page", PAGES)
def test_links_into_both_pages_are_words_and_citations(page):
    into = re.findall(r"(?:glossary|references)\.md#", text_of(page))
    assert len(into) == len(LINK.findall(text_of(page))) + len(CITATION.findall(text_of(page)))


def test_words_of_the_glossary_have_each_an_anchor():
    assert len(anchors()) == len(entries()) > 100
    assert anchor("bytes in flight") == "bytes-in-flight"
    assert anchor("`%%cuda`") == "cuda"


def test_jupyterlab_finds_the_anchors_that_it_would_call_otherwise():
    lines = [line for line in text_of("glossary").splitlines() if word_in(line)]
    others = [line for line in lines if word_in(line).replace(" ", "-") != anchor(word_in(line))]
    assert len(others) > 10
    for line in others:
        assert line == f'### {word_in(line)}<a id="{anchor(word_in(line))}"></a>'


def test_the_list_of_sources_is_that_of_the_bibliography():
    text = references.PAGE.read_text(encoding="utf-8")
    stale = "run `python book/publish/references.py`"
    assert rewrite(text, "sources", references.listed()) == text, stale


def test_the_introductions_contents_are_those_of_the_book():
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = re.search("(?s)<!-- contents:begin -->(.*)<!-- contents:end -->", text_of("intro"))[1]
    parts = listed.strip().split("\n\n")
    captions, listed = parts[::2], parts[1::2]
    assert captions == [f"**{part['caption']}**" for part in contents["parts"]]
    numbers = iter(range(1, 100))
    for part, links in zip(contents["parts"], listed, strict=True):
        due = []
        for chapter in part["chapters"]:
            number = f"{next(numbers)}." if part.get("numbered") else "-"
            due.append(f"{number} {_link(BOOK / chapter['file'].removeprefix('book/'))}")
        assert links.splitlines() == due


def _link(page):
    """A link to a page by its title."""
    title = re.sub("<!--.*?-->", "", text_of(page.name).partition("\n")[0]).removeprefix("# ")
    suffix = ".ipynb" if page.with_suffix(".ipynb").exists() else ".md"
    return f"[{title}]({page.name}{suffix})"


def test_a_notebooks_cells_of_code_do_not_part_a_fold():
    for path in (*chapters(), *evidence()):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown":
                assert cell.source.count("<details>") == cell.source.count("</details>"), cell.id


# ---- first uses

CHAPTERS = {path.stem: path for path in chapters() if re.match(r"\d|gpu$|xray$", path.stem)}


@pytest.mark.parametrize("stem", CHAPTERS)
def test_each_word_of_the_glossary_is_linked_where_a_chapter_first_uses_it(stem):
    uses = first_uses(markdown_of(CHAPTERS[stem]))
    assert {use.term for use in uses if not use.is_linked} == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A warp. A [warp](glossary.md#warp).", [("warp", False)]),
        ("A [warp](glossary.md#warp). A warp.", [("warp", True)]),
        ("[Warps](glossary.md#warp) wait.", [("warp", True)]),
        ("Cache lines, and *sectors*.", [("cache line", False), ("sector", False)]),
        ("# A warp\n`warp`, $warp$, [warp](warp.md)<!-- warp -->", []),
        ("<details>\n<summary>A warp</summary>\n\nA lane.\n\n</details>", [("lane", False)]),
        ("```python\nwarp = 1\n```", []),
        ("The SM, one multiprocessor.", [("SM", False)]),
        ("A warped board.", []),
    ],
)
def test_first_uses_are_those_of_running_text(text, found):
    assert [(use.term, use.is_linked) for use in first_uses(text)] == found


def test_words_that_share_a_definition_are_one():
    assert entries()["L1 cache"] == entries()["L1"]
