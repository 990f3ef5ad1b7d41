"""The table of others' kernels on the x-ray page, from the record that others.py writes."""

from __future__ import annotations

from typing import Any

import nbformat
from marks import rewrite
from notebooks import BOOK

from softmax_lib.files import replace_file

PAGE, CELL = BOOK / "xray.ipynb", "limits"


def write_page(content: dict[str, Any]) -> None:
    """Put the table into the x-ray page. Raises `BadInput` where the page has no place for it."""
    page = nbformat.read(PAGE, as_version=4)
    (cell,) = (cell for cell in page.cells if cell.id == CELL)
    cell.source = rewrite(cell.source, "others", table(content))
    replace_file(PAGE, (nbformat.writes(page).rstrip("\n") + "\n").encode())


def table(content: dict[str, Any]) -> str:
    """A record as Markdown: what it says in all, and a line for each kernel, folded."""
    found = content["kernels"]
    taken = [one for one in found if one["taken"]]
    repositories = ", ".join(
        f"[{name.split('/')[1]}](https://github.com/{name}/tree/{commit})"
        for name, commit in content["repositories"].items()
    )
    slowest = max(one["counters_s"] for one in found if one["counters_s"] is not None)
    return "\n".join(
        [
            f"**Kernels of others.** {len(taken)} of {len(found)} kernels of {repositories} left what a "
            "formula in float64, or the file's own reference, says; of each of the others a sentence "
            "says what the emulator lacks, or the x-ray found. Counters took at most "
            f"{slowest:.1f} s, on {content['cpu']}.",
            "",
            f":::{{dropdown}} All {len(found)} kernels",
            "| kernel | blocks × threads | what became of it | counters took |",
            "|---|---|---|---:|",
            *(_line(one) for one in found),
            ":::",
        ]
    )


def _line(one: dict[str, Any]) -> str:
    sizes = " × ".join(_axes(one[axes]) for axes in ("grid", "block"))
    became = one["sentence"] or f"taken, error {one['error']:.1g}"
    took = "" if one["counters_s"] is None else f"{one['counters_s'] * 1e3:.0f} ms"
    return f"| `{one['name']}`: {one['subject']} | {sizes} | {became.replace('|', chr(92) + '|')} | {took} |"


def _axes(sizes: list[int]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"({', '.join(map(str, sizes))})"
