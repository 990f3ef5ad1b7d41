"""The table of others' kernels among the x-ray page's evidence, from the record that others.py writes."""

from __future__ import annotations

from typing import Any

import nbformat
from marks import rewrite
from notebooks import BOOK

from softmax_lib.engine.caches import replace_file

PAGE, CELL = BOOK / "evidence" / "xray.ipynb", "others"


def write_page(content: dict[str, Any]) -> None:
    """Put the table into the evidence of the x-ray page. Raises `BadInput` where it has no place for it."""
    page = nbformat.read(PAGE, as_version=4)
    (cell,) = (cell for cell in page.cells if cell.id == CELL)
    cell.source = rewrite(cell.source, "others", table(content))
    replace_file(PAGE, (nbformat.writes(page).rstrip("\n") + "\n").encode())


def table(content: dict[str, Any]) -> str:
    """A record as Markdown: what it says in all, who was not taken and why, and a line for each, folded."""
    found = content["kernels"]
    refused = [one for one in found if not one["taken"]]
    *others, last = (
        f"[{_short(name)}](https://github.com/{name}/tree/{commit})"
        for name, commit in content["repositories"].items()
    )
    repositories = f"{', '.join(others)} and {last}"
    seconds = [one["counters_s"] for one in found if one["counters_s"] is not None]
    lines = [
        f"{len(found)} kernels of {repositories} were launched here as their files "
        f"launch them, on smaller arrays. {len(found) - len(refused)} left the right result, which is that "
        f"of a formula in float64, or of the file itself. Counting them as they are written took {min(seconds) * 1e3:.0f} to "
        f"{max(seconds) * 1e3:.0f} ms each, on {content['cpu']}. For the other {len(refused)} the "
        "emulator says what it lacks, or which hazard it found:",
        "",
        *(
            f"- `{one['kernel']}` ({_short(one['repository'])}): {one['sentence']}"
            for one in refused
        ),
        "",
        "The two races are races by CUDA's rules, though a result may come out right. The barrier is the emulator's "
        "stricter rule: a GPU's waits only for threads that have not returned.",
        "",
        f"<details>\n<summary>All {len(found)} kernels</summary>\n",
        "The error is the largest difference from the right result, over its largest element; a bfloat16 "
        "has 8 bits for its digits, and errors of 0.003; the sum in half2 has 0.005.",
        "",
        "| kernel | blocks × threads | error | counters |",
        "|---|---|---:|---:|",
    ]
    for repository in content["repositories"]:
        lines.append(f"| **{_short(repository)}** | | | |")
        lines += [_line(one) for one in found if one["repository"] == repository]
    return "\n".join([*lines, "\n</details>"])


def _short(repository: str) -> str:
    return repository.partition("/")[2]


def _line(one: dict[str, Any]) -> str:
    sizes = " × ".join(_axes(one[axes]) for axes in ("grid", "block"))
    error = f"{one['error']:.1g}" if one["taken"] else "see above"
    took = "none" if one["counters_s"] is None else f"{one['counters_s'] * 1e3:.0f} ms"
    return f"| `{one['kernel']}`: {one['subject']} | {sizes} | {error} | {took} |"


def _axes(sizes: list[int]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"({', '.join(map(str, sizes))})"
