"""Every cell with measured numbers shows all GPUs that have a record, or asks a question or is listed here, and names the one that it is about."""

import ast
import inspect
import json

import pytest
from notebooks import chapters

from softmax_lib import figures, recorded
from softmax_lib.engine.errors import BadInput

ONE_GPU = {"03_naive lines", "14_hopper threads"}
"""Cells about one GPU: here a cause, by a probe or a control."""

READERS = {"recorded", "hardware", "measure", "contests"}
SHOWN = {"table", "explorer", "plain"}
DRAWN = {
    name: made for name in figures.__all__ if inspect.isfunction(made := getattr(figures, name))
}
FIGURES = {name for name, made in DRAWN.items() if "gpu" in inspect.signature(made).parameters}
NEEDED = {
    "gains": ({"naive": "", "online": ""},),
    "lie": ("warm cache",),
}
"""What a figure is asked for that has no default."""


def cells():
    """Each code cell of a chapter, whose evidence is of one GPU, as a tree, its name, and what it shows."""
    for path in chapters():
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] != "code" or "%" in "".join(cell["source"])[:1]:
                continue
            lines = [line for line in cell["source"] if not line.lstrip().startswith("%")]
            try:
                tree = ast.parse("".join(lines))
            except SyntaxError:
                continue  # the first cell, of which magic is a branch
            yield f"{path.stem} {cell['id']}", tree, json.dumps(cell["outputs"])


def shows_one_gpu(tree) -> bool:
    """Whether a cell draws a figure of the default GPU, or a table of numbers that were read without saying of which."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    def called(package):
        return [
            (call.func.attr, {one.arg for one in call.keywords})
            for call in calls
            if isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id == package
        ]

    drawn = any(name in FIGURES and "gpu" not in given for name, given in called("figures"))
    reads = any(name in READERS or name.endswith("_times") for name in names)
    return drawn or (reads and "gpu" not in names and any(n in SHOWN for n, _ in called("widgets")))


def test_cells_with_measured_numbers_show_every_gpu_or_are_listed():
    found = {name for name, tree, _ in cells() if shows_one_gpu(tree)}
    # the answer to a question is of one GPU or one run
    assert {name for name in found if not name.endswith("guess")} == ONE_GPU


def test_those_about_one_gpu_name_it():
    told = {name: shown for name, tree, shown in cells() if shows_one_gpu(tree)}
    assert [name for name in told if recorded.gpu.split()[-1] not in told[name]] == []


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_every_figure_is_of_the_gpu_that_is_asked_for(name, own):
    from sample_records import of_another_gpu, write

    write(own / "nvidia-l4.json", of_another_gpu())
    try:
        told = getattr(figures, name)(*NEEDED.get(name, ()), gpu="NVIDIA L4").alt
    except BadInput as error:
        told = str(error)
    assert "NVIDIA L4" in told
    assert recorded.gpu not in told
