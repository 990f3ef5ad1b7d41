"""How many words of running prose each chapter has, as a reader sees it who opens no fold-out.

`python book/publish/running_prose.py` prints them. Fold-outs, solutions, code, tables and equations
do not count.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from notebooks import chapters
from sentences import sentences

_FOLDED = re.compile(
    r"""
    ^<details>$.*?^</details>$
    | ^\|[^\n]*$  # a row of a table
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_WORD = re.compile(r"[^\W_]+(?:[’'.,-][^\W_]+)*")


def words_of(markdown: str) -> int:
    """The words of running prose in a text."""
    said = sentences(_FOLDED.sub("", markdown))
    return sum(len(_WORD.findall(sentence.words)) for sentence in said)


def words(path: Path) -> int:
    """The words of running prose in the Markdown cells of a notebook."""
    cells = nbformat.read(path, as_version=4).cells
    return sum(words_of(cell.source) for cell in cells if cell.cell_type == "markdown")


def main() -> None:
    for path in chapters():
        print(f"{path.stem:12} {words(path):5}")


if __name__ == "__main__":
    main()
