"""Execute notebooks on the CPU and save them so that doing it again gives the same bytes.

`python book/publish/notebooks.py [NOTEBOOK ...]` does so for those given, or for all of the book.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbformat
import stable_widgets
from address import Address, open_release
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

BOOK = Path(__file__).parents[1]
SECONDS_A_CELL = 120
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def chapters() -> list[Path]:
    """The notebook of every chapter and page, in order."""
    return sorted(BOOK.glob("*.ipynb"))


def evidence() -> list[Path]:
    """The notebook behind each chapter that has one: its controls, curves and further shapes."""
    return sorted(BOOK.glob("evidence/*.ipynb"))


def pages() -> list[Path]:
    """Every notebook and every Markdown file of the book."""
    return [*chapters(), *evidence(), *sorted(BOOK.glob("*.md"))]


def name_of(path: Path) -> str:
    """A page's name below book/: "07_float4", or "evidence/07_float4"."""
    return f"evidence/{path.stem}" if path.parent.name == "evidence" else path.stem


def execute(path: Path) -> str:
    """The text of the notebook at `path` after a run in a new kernel without a GPU."""
    notebook = prepare(nbformat.read(path, as_version=4))
    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute(env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"})
    notebook.metadata.language_info.pop("version", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = merge_streams(cell.outputs)
    return nbformat.writes(stable_widgets.rename(notebook, path.stem)).rstrip("\n") + "\n"


def prepare(notebook: NotebookNode) -> NotebookNode:
    """The notebook with what every chapter has: its kernel, Colab's wishes, the bootstrap cell."""
    notebook.metadata.update(kernelspec=KERNEL, accelerator="GPU", colab={"gpuType": "T4"})
    notebook.metadata.pop("widgets", None)
    if not notebook.cells or notebook.cells[0].get("id") != "bootstrap":
        notebook.cells.insert(0, new_code_cell(id="bootstrap"))
    notebook.cells[0].metadata = {"jupyter": {"source_hidden": True}, "tags": ["remove-cell"]}
    notebook.cells[0].source = Address.read().bootstrap
    for cell in notebook.cells:
        cell.source = open_release(cell.source)
    return notebook


def merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join what was printed: how it is cut into pieces depends on the machine's load."""
    merged: list[NotebookNode] = []
    for output in outputs:
        same = merged and output.output_type == merged[-1].output_type == "stream"
        if same and output.name == merged[-1].name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def save(path: Path) -> str:
    """Execute and write the notebook at `path`; returns a line that says how it went."""
    begin, old = time.monotonic(), path.read_bytes()
    new = execute(path).encode()
    path.write_bytes(new)
    said = "unchanged" if new == old else "changed"
    return f"{name_of(path)}: {said}, {time.monotonic() - begin:.1f} s, {len(new) // 1024} KiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "notebooks", nargs="*", type=Path, help="those of the book when none is given"
    )
    paths = parser.parse_args().notebooks or [*chapters(), *evidence()]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for line in pool.map(save, paths):
            print(line, flush=True)


if __name__ == "__main__":
    main()
