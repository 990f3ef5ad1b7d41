"""%%triton: a kernel in a cell gets its verdict and what the compiler makes of it, and never a traceback."""

import pytest

from softmax_lib import tiles

shell_module = pytest.importorskip("IPython.core.interactiveshell")
pytest.importorskip("triton")
TEXT = tiles.kernels["simple"].source.text


@pytest.fixture(scope="module")
def shell():
    made = shell_module.InteractiveShell.instance()
    made.run_line_magic("load_ext", "softmax_lib")
    yield made
    shell_module.InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        ("", TEXT, "softmax_simple: 18 launches, all within the bound of float32 1,024 columns, 4 warps:"
                   " each thread has 2 loads of 16 bytes, and 22 registers"),
        ("--cols 1000 --num-warps 8", TEXT, "1,000 columns, 8 warps: each thread has 4 loads of 4 bytes"),
        ("", TEXT.replace("share, mask=inside", "share"), "12 wrong, first rows of 33 with 1 warp: it wrote past the end of y"),
        ("", TEXT.replace("= power", "= pwer"), "line 20: NameError: name 'pwer' is not defined"),
        ("", "x = 1", "has 0 functions with @triton.jit, not one"),
        ("--num-warps 3", TEXT, "num_warps is 3; it is a power of two from 1 to 32."),
        ("--cols many", TEXT, "%%triton: argument --cols: invalid int value"),
    ],
)  # fmt: skip
def test_a_cell_is_checked_compiled_and_told_what_is_wrong(shell, capsys, line, text, said):
    capsys.readouterr()
    shell.run_cell_magic("triton", line, text)
    assert said in " ".join(capsys.readouterr().out.split())
