"""Give the widgets saved in a notebook the same ids after every run, and drop those not shown."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import nbformat
from nbformat import NotebookNode

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
