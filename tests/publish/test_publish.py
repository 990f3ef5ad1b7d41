"""How notebooks are executed and the repository's address is kept."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import nbformat
import pytest
from address import ROOT, Address, rewrite, text_files
from full_tables import some
from nbformat.v4 import new_code_cell, new_notebook, new_output
from notebooks import chapters, evidence, execute, name_of

WIDGETS = """\
from softmax_lib.widgets import explorer
import ipywidgets
ipywidgets.HTML("not shown"), ipywidgets.Button()
explorer({"size": [1, 2], "gpu": ["T4", "H200"]}, lambda size, gpu: f"{size} on {gpu}")"""


def written(folder: Path, *cells: nbformat.NotebookNode) -> Path:
    path = folder / "chapter.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


COORDINATE = re.compile(r"\d+\.\d{6}\b")
"""Of a drawing. Its last digit is not the same on every processor."""


WITHOUT_NVDISASM = """\
from softmax_lib.gpu import machine_code
machine_code.disassembler = lambda: None
"""


@pytest.fixture
def no_nvdisasm(tmp_path, monkeypatch):
    """Notebooks find the machine code that comes along, and can list no other."""
    startup = tmp_path / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "first.py").write_text(WITHOUT_NVDISASM)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))


def are_alike(line: str, other: str) -> bool:
    """Whether two lines are the same, but for the last digit of coordinates."""
    if line == other:
        return True
    numbers, others = ([float(n) for n in COORDINATE.findall(one)] for one in (line, other))
    is_near = len(numbers) == len(others) and numbers == pytest.approx(others, rel=0, abs=1.5e-6)
    return is_near and COORDINATE.sub("#", line) == COORDINATE.sub("#", other)


def differences(ran: str, saved: str) -> Iterator[str]:
    """Of each part of a notebook that differs where it first does."""
    by_name = []
    for book in (nbformat.reads(text, 4) for text in (ran, saved)):
        widgets = book.metadata.pop("widgets", {})
        cells = {f"cell {cell.id}": cell for cell in book.cells}
        by_name.append(cells | {"metadata": book.metadata, "widgets": widgets})
    for name in dict.fromkeys([*by_name[0], *by_name[1]]):
        lines = (json.dumps(one.get(name), indent=1).splitlines() for one in by_name)
        for now, before in zip_longest(*lines, fillvalue=""):
            if not are_alike(now, before):
                pairs = enumerate(zip_longest(now, before))
                at = next(place for place, (one, other) in pairs if one != other)
                words = [line[max(0, at - 30) :][:90] for line in (now, before)]
                yield f"{name} gives {words[0]}, saved is {words[1]}"
                break


@pytest.mark.usefixtures("no_nvdisasm")
@pytest.mark.parametrize("path", [*chapters(), *some(reversed(evidence()), 3)], ids=name_of)
def test_chapter_reproduces(path):
    found = list(differences(execute(path), path.read_text(encoding="utf-8")))
    assert found == [], "`make notebooks` saves what they give"


def test_what_a_notebook_gives_otherwise_than_saved_is_named():
    cells = [
        new_code_cell(f"print({n})", id=f"c{n}", outputs=[new_output("stream", text=f"{n}.123456")])
        for n in (1, 2)
    ]
    saved = nbformat.writes(new_notebook(cells=cells))
    for said, found in (("2.123457", []), ("2.123459", ["2.123459"]), ("3.123456", ["3.123456"])):
        told = list(differences(saved.replace("2.123456", said), saved))
        assert len(told) == len(found)
        assert all(
            f'cell c2 gives    "text": "{one}"' in line
            for one, line in zip(found, told, strict=True)
        )


def test_executing_again_gives_the_same_bytes_and_changes_no_environment(tmp_path):
    environment = dict(os.environ)
    path = written(tmp_path, new_code_cell(WIDGETS, id="explore"), new_code_cell("1 + 1", id="sum"))
    first = execute(path)
    path.write_text(first)
    assert execute(path) == first
    assert dict(os.environ) == environment
    state = nbformat.reads(first, 4).metadata.widgets["application/vnd.jupyter.widget-state+json"]
    kinds = [model["model_name"] for model in state["state"].values()]
    assert kinds.count("LinkModel") == 3
    assert not {"ButtonModel", "AnyModel"} & set(kinds)


def test_what_is_printed_stays_in_one_piece(tmp_path):
    chatty = new_code_cell("for n in range(3): print(n, flush=True)", id="chatty")
    _, ran = nbformat.reads(execute(written(tmp_path, chatty)), 4).cells
    assert [output.text for output in ran.outputs] == ["0\n1\n2\n"]


@pytest.mark.parametrize("url", ["https://github.com/you/fork", "https://github.com/you/fork.git/"])
def test_an_address_is_read_from_what_browsers_and_git_show(url):
    assert Address.parse(url) == Address("you", "fork")


def test_an_address_elsewhere_is_refused():
    with pytest.raises(ValueError, match="OWNER/NAME"):
        Address.parse("https://example.org/you/fork")


def test_every_place_names_the_same_repository():
    ours = Address.read()
    link = re.compile(rf"github(?:\.com)?/([\w.-]+)/{re.escape(ours.name)}(?![\w-])")
    named = {path: set(link.findall(path.read_text("utf-8"))) for path in text_files()}
    assert {path.name for path, owners in named.items() if owners} >= {"_config.yml", "README.md"}
    assert {path: owners for path, owners in named.items() if owners - {ours.owner}} == {}


def test_a_fork_is_named_everywhere(tmp_path):
    for path in text_files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    old, new = Address.read(), Address("someone", "their-fork")
    rewrite(new, tmp_path)
    assert Address.read(tmp_path) == new
    assert new.site in (tmp_path / "README.md").read_text()
    texts = {path: path.read_text("utf-8") for path in text_files(tmp_path)}
    assert [p for p, text in texts.items() if any(s in text for s in old.spellings())] == []
