"""%%cuda: a kernel in a cell gets its verdict, its hazards and its counters, and never a traceback."""

import re

import pytest

from softmax_lib import kernels

pytest.importorskip("ipywidgets")
shell_module = pytest.importorskip("IPython.core.interactiveshell")


@pytest.fixture(scope="module")
def shell():
    made = shell_module.InteractiveShell.instance()
    yield made
    shell_module.InteractiveShell.clear_instance()


def run_cell(shell, capsys, line, text):
    shell.run_line_magic("load_ext", "softmax_lib")
    capsys.readouterr()
    shell.run_cell_magic("cuda", line, text)
    return capsys.readouterr().out


def test_a_good_cell_gets_a_verdict_and_its_counters(shell, capsys):
    out = run_cell(shell, capsys, "--rows 4 --cols 64 --name mine", kernels["shuffle"].source.text)
    lines = out.splitlines()
    assert re.fullmatch(r"shuffle: \d+ launches, all within the bound of float32", lines[0])
    assert lines[1] == "no hazard found"
    assert "4 blocks of" in out


def test_a_broken_cell_gets_its_hazard_with_its_line(shell, capsys):
    text = kernels["naive"].source.text.replace("col < cols", "col <= cols")
    out = run_cell(shell, capsys, "--rows 4 --cols 64 --block-size 32 --name mine", text)
    assert "a launch did not come to its end" in out
    assert "past the end of its 256 elements at mine.cu:18." in out.replace("\n", " ")


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        ("", "float sum;", "kernel.cu needs exactly one __global__"),
        ("--rows many", "float sum;", "%%cuda: argument --rows: invalid int value"),
        ("--name mine", kernels["naive"].source.text.replace("row_max = ", "row_man = ", 1),
         "mine.cu:18:"),
        ("--block-size 33", kernels["naive"].source.text, "not built for 33"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_said_in_words_and_not_raised(shell, capsys, line, text, words):
    out = run_cell(shell, capsys, line, text)
    assert words in out
    assert "Traceback" not in out


def test_any_kernel_is_launched_in_words(shell, capsys):
    text = "__global__ void fill(int* n, int by) {\n    n[blockIdx.x * blockDim.x + threadIdx.x] = by;\n}"
    out = run_cell(shell, capsys, "--grid 2 --block 32 --arg n:i32:64 --arg 7", text)
    assert out.startswith("no hazard found\n")
    assert "fill, 2 blocks of 32 threads: 256 bytes asked for, 256 moved" in out
    out = run_cell(shell, capsys, "--grid 3 --block 32 --arg n:i32:64 --arg 7 --name mine", text)
    assert "past the end of its 64 elements at mine.cu:2." in out.replace("\n", " ")
    out = run_cell(shell, capsys, "--grid 3 --block 32 --arg n:f32:64 --arg 7", text)
    assert out.startswith(
        "Argument 1 of fill is an array of float32; `int* n` takes an array of int32."
    )
