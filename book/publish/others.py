"""Kernels of other people's repositories in the emulator: launched, compared with a formula, counted.

`python book/publish/others.py CHECKOUTS` takes a folder with checkouts of the repositories that
`other_kernels/*.toml` name; with `--write` the result goes into others.json beside it, and from there
into the evidence of the x-ray page.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import nbformat
from marks import rewrite
from notebooks import BOOK
from other_kernels.launches import Entry, read_table
from other_kernels.launching import Found, build_seconds, try_kernel

from softmax_lib.engine.caches import replace_file
from softmax_lib.worklog.errors import BadInput, SoftmaxLibError
from softmax_lib.worklog.files import write_json

RECORD = Path(__file__).with_name("others.json")
TYPICAL = "layernorm_forward"
"""Whose build is timed."""


def main(arguments: list[str] | None = None) -> int:
    """What the command line asks for; the status is 1 where a kernel is wrong without a word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path, help="the folder with the checkouts")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these entries alone")
    parser.add_argument("--write", action="store_true", help=f"write {RECORD.name}")
    options = parser.parse_args(arguments)
    table = read_table()
    chosen = [entry for name, entry in table.items() if name in (options.only or table)]
    try:
        commits = {e.repository: read_commit(options.checkouts / e.checkout) for e in chosen}
        found = try_all(chosen, options.checkouts)
    except SoftmaxLibError as error:
        print(error, file=sys.stderr)
        return 2
    if options.write:
        kernels = [facts(*pair) for pair in found]
        build = {"kernel": TYPICAL, **build_seconds(table[TYPICAL], options.checkouts)}
        content = {"repositories": commits, "cpu": cpu(), "build": build, "kernels": kernels}
        write_json(RECORD, content)
        write_page(content)
    return int(any(not one.taken and not one.sentence for _, one in found))


def read_commit(checkout: Path) -> str:
    """The commit that is checked out. Raises `BadInput`."""
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode:
        raise BadInput(f"{checkout} is no checkout: {asked.stderr.strip()}")
    return asked.stdout.strip()


def try_all(entries: list[Entry], checkouts: Path) -> list[tuple[Entry, Found]]:
    """Try each, and say so in a line."""
    tried = []
    for number, entry in enumerate(entries, 1):
        start = time.perf_counter()
        found = try_kernel(entry, checkouts)
        told = f"{summary(found)}, {time.perf_counter() - start:.1f} s"
        print(f"{number:2}/{len(entries)} {entry.name:30} {told}", flush=True)
        tried.append((entry, found))
    print(f"{sum(found.taken for _, found in tried)} of {len(tried)} taken")
    return tried


def summary(found: Found) -> str:
    """What a line says of it."""
    if found.sentence:
        return f"not taken: {found.sentence}"
    hazards = ", ".join(f"{count} x {kind}" for kind, count in found.hazards.items())
    return f"error {found.error:.1e}, {hazards or 'no hazard'}, counters {found.counters_s:.2f} s"


def facts(entry: Entry, found: Found) -> dict[str, Any]:
    """What the record has of a kernel: which it is, how it was launched, and what became of it."""
    names = ("name", "kernel", "subject", "repository", "grid", "block")
    return {name: getattr(entry, name) for name in names} | asdict(found)


def cpu() -> str:
    """What the seconds are of, such as "2 cores of an Intel(R) Xeon(R) Processor"."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    model = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return f"{os.cpu_count()} cores of {model[1] if model else platform.machine()}"


# ---- the table among the evidence of the x-ray page

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


if __name__ == "__main__":
    sys.exit(main())
