"""Every cell with measured numbers shows all GPUs that have a record, or is listed here and names the one that it is about."""

import ast
import inspect
import json

import pytest
from notebooks import chapters

from softmax_lib import figures, recorded
from softmax_lib.engine.errors import BadInput

ONE_GPU = {
    "02_pytorch guess": "the answer to a question",
    "03_naive guess": "the answer to a question",
    "03_naive lines": "a cause, by a probe",
    "04_online guess": "the answer to a question",
    "05_shared guess": "the answer to a question",
    "06_shuffle guess": "the answer to a question",
    "07_float4 guess": "the answer to a question",
    "08_fusion guess": "the answer to a question",
    "09_unroll guess": "the answer to a question",
    "10_warp guess": "the answer to a question",
    "11_topk guess": "the answer to a question",
    "12_triton guess": "the answer to a question",
    "batches guess": "the answer to a question",
    "clocks guess": "the answer to a question",
    "gpu guess": "the answer to a question",
    "lies clock-guess": "the answer to a question about a run",
    "lies graph-guess": "the answer to a question about a run",
    "lies flush-guess": "the answer to a question about a run",
    "lies mean-guess": "the answer to a question about a run",
    "lies rival-guess": "the answer to a question about a run",
    "lies shape-guess": "the answer to a question about a run",
    "lies data-guess": "the answer to a question about a run",
    "rmsnorm verdict-guess": "the answer to a question about a run",
    "xray guess": "the answer to a question",
}
"""Cells about one GPU, and why."""

READERS = {"recorded", "hardware", "measure", "contests"}
SHOWN = {"table", "explorer", "plain"}


def of_gpus(name):
    return (
        inspect.isfunction(made := getattr(figures, name))
        and "gpu" in inspect.signature(made).parameters
    )


FIGURES = {name for name in figures.__all__ if of_gpus(name)}
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
    assert {name for name, tree, _ in cells() if shows_one_gpu(tree)} == set(ONE_GPU)


def test_those_about_one_gpu_name_it():
    outputs = {name: shown for name, _, shown in cells()}
    silent = {name for name in ONE_GPU if recorded.gpu.split()[-1] not in outputs[name]}
    assert silent == set()


@pytest.mark.parametrize("source", ["figures.ladder()", "widgets.table([], recorded.times(8, 8))"])
def test_a_new_cell_that_forgets_other_gpus_is_found(source):
    assert shows_one_gpu(ast.parse(source))
    assert not shows_one_gpu(ast.parse("figures.over_records(figures.ladder)"))


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_every_figure_is_of_the_gpu_that_is_asked_for(name, tmp_path, monkeypatch):
    from sample_records import of_another_gpu, write

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    write(tmp_path / "softmax_lib" / "measurements" / "nvidia-l4.json", of_another_gpu())
    try:
        told = getattr(figures, name)(*NEEDED.get(name, ()), gpu="NVIDIA L4").alt
    except BadInput as error:
        told = str(error)
    assert "NVIDIA L4" in told
    assert recorded.gpu not in told
