"""Execute notebooks on the CPU and save them so that doing it again gives the same bytes.

`python book/publish/notebooks.py [NOTEBOOK ...]` does so for those given, or for all of the book.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
from address import Address, open_release
from forked_kernels import ForkingManager
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
        kernel_manager_class=ForkingManager,
        timeout=SECONDS_A_CELL,
        record_timing=False,
        coalesce_streams=True,  # how they are cut into pieces depends on the machine's load
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute(env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"})
    notebook.metadata.language_info.pop("version", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return nbformat.writes(rename(notebook, path.stem)).rstrip("\n") + "\n"


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


def save(path: Path) -> str:
    """Execute and write the notebook at `path`; returns a line that says how it went."""
    begin, old = time.monotonic(), path.read_bytes()
    new = execute(path).encode()
    path.write_bytes(new)
    said = "unchanged" if new == old else "changed"
    return f"{name_of(path)}: {said}, {time.monotonic() - begin:.1f} s, {len(new) // 1024} KiB"


# ---- widgets: the same ids after every run, and none that are not shown

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
LINKS = ("LinkModel", "DirectionalLinkModel")
UNSEEN = "AnyModel"
"""What names sliders in JupyterLab, which shows widgets only once their cell has run."""
_REFERENCE = re.compile(r"IPY_MODEL_(\w+)")


def rename(notebook: NotebookNode, name: str) -> NotebookNode:
    """The notebook with each widget's random id replaced by one made from `name` and its place."""
    saved = notebook.metadata.get("widgets", {}).get(STATE)
    if saved is None:
        return notebook
    leave_out_unseen(saved["state"])
    order = order_shown(notebook, saved["state"])
    saved["state"] = {old: saved["state"][old] for old in order}
    text = nbformat.writes(notebook)
    for place, old in enumerate(order):
        text = text.replace(old, hashlib.md5(f"{name}:{place}".encode()).hexdigest())
    return nbformat.reads(text, as_version=4)


def leave_out_unseen(state: dict[str, Any]) -> None:
    """Take what is not seen out of the boxes that it is in."""
    unseen = {f"IPY_MODEL_{name}" for name, model in state.items() if model["model_name"] == UNSEEN}
    for model in state.values():
        if "children" in model["state"]:
            children = model["state"]["children"]
            model["state"]["children"] = [one for one in children if one not in unseen]


def order_shown(notebook: NotebookNode, state: dict[str, Any]) -> list[str]:
    """Ids of the widgets that readers see, in the order of the page, then of the links between them."""
    order: dict[str, None] = {}

    def visit(model: str) -> None:
        if model in state and model not in order:
            order[model] = None
            for inner in references(state[model]):
                visit(inner)

    for shown in views(notebook):
        visit(shown)
    return [*order, *links_between(list(order), state)]


def links_between(shown: list[str], state: dict[str, Any]) -> list[str]:
    """Ids of the links whose two ends are both among `shown`, in the order of their ends."""
    links = {}
    for model, content in state.items():
        ends = references(content)
        if content["model_name"] in LINKS and all(end in shown for end in ends):
            links[model] = [shown.index(end) for end in ends]
    return sorted(links, key=links.__getitem__)


def views(notebook: NotebookNode) -> list[str]:
    """Ids of the widgets that cells display."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [o["data"][VIEW]["model_id"] for o in outputs if VIEW in o.get("data", {})]


def references(model: dict[str, Any]) -> list[str]:
    """Ids of the widgets that `model` names: its children, layout and style, or a link's two ends."""
    return _REFERENCE.findall(json.dumps(model["state"], sort_keys=True))


# ----


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
