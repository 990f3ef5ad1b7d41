"""Which notebooks are chapters, their cells, and the one in which a reader begins to answer an exercise."""

import functools
import re
import textwrap

import nbformat
from notebooks import chapters

NUMBERED = [path.stem for path in chapters() if path.stem[0].isdigit()]
CHAPTERS = {path.stem: path for path in chapters() if path.stem in {*NUMBERED, "gpu"}}
"""The notebook of each chapter, and of the primer, by its stem."""
WITH_KERNEL = [chapter for chapter in CHAPTERS if "03" <= chapter < "15"]


@functools.cache
def cells_of(path):
    return nbformat.read(path, as_version=4).cells


def code_cells(path):
    """The reader's cells, without the first one, which gets a machine in the cloud ready."""
    first, *cells = [cell for cell in cells_of(path) if cell.cell_type == "code"]
    assert first.id == "bootstrap"
    assert first.metadata["jupyter"]["source_hidden"]
    return cells


def body_of(path):
    """A kernel's file without its first lines, which are for who finds it in its folder."""
    return re.sub(r"\A(?:(?:// |# ).*\n|\n)*", "", path.read_text(encoding="utf-8")).strip()


def beginning(exercise):
    """The cell in which a reader answers."""
    if exercise.wants_code:
        part = textwrap.dedent(exercise.starter)
        return f'answer = """\n{part}\n"""\ngrade("{exercise.name}", answer)'
    numbers = ", ".join(f"{number:g}" for number in exercise.guess)
    given = numbers if len(exercise.guess) == 1 else f"({numbers})"
    return f'grade("{exercise.name}", {given})'
