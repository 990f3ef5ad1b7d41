"""The page Your own kernel: what its folds hold solves its steps, and its operator of torch has the right gradient."""

import re
from types import SimpleNamespace

import nbformat
import pytest
from chapter_cells import body_of
from full_tables import some
from glossary import markdown_of
from notebooks import BOOK

from softmax_lib.suites.rmsnorm import measure as rmsnorm
from softmax_lib.worklog.files import KERNEL_FOLDER

torch = pytest.importorskip("torch")
pytest.importorskip("ipywidgets")
shell_module = pytest.importorskip("IPython.core.interactiveshell")

PAGE = BOOK / "rmsnorm.ipynb"
CELLS = nbformat.read(PAGE, 4).cells
SHOWN = re.findall(r"```cuda\n(.*?)```", markdown_of(PAGE), re.DOTALL)
STEPS = [cell.source.partition("\n") for cell in CELLS if cell.source.startswith("%%cuda")]


def test_each_fold_holds_the_kernel_that_was_timed():
    files = [
        KERNEL_FOLDER / "rmsnorm" / f"{name}.cu"
        for steps in rmsnorm.STEPS.values()
        for name in steps
    ]
    assert [one.strip() for one in SHOWN] == [body_of(file) for file in files]


@pytest.mark.parametrize("at", some(range(4), every=2))
def test_a_cell_is_content_with_what_its_fold_holds_and_not_with_what_stands_there(at, capsys):
    shell = shell_module.InteractiveShell.instance()
    shell.run_line_magic("load_ext", "softmax_lib")
    shell.user_ns["np"] = __import__("numpy")
    exec(next(cell.source for cell in CELLS if "def rmsnorm(" in cell.source), shell.user_ns)
    line, _, begun = STEPS[at]
    told = []
    for text in (begun, SHOWN[at]):
        capsys.readouterr()
        shell.run_cell_magic("cuda", line.removeprefix("%%cuda "), text)
        told.append(capsys.readouterr().out)
    shell_module.InteractiveShell.clear_instance()
    assert " wrong, first" in told[0]
    assert "all within the bound of float32\nno hazard found" in told[1]
    assert shell.user_ns[re.search(r"--name (\w+)", line)[1]].text == SHOWN[at]


def test_the_operator_has_torchs_gradient_and_is_traced():
    (source,) = (cell.source for cell in CELLS if "torch.library.custom_op" in cell.source)

    def forward(x, weight, eps):
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps)

    names = {
        "torch": torch,
        "fused": SimpleNamespace(text=""),
        "built": SimpleNamespace(forward=forward),
    }
    made = source.partition("\n\n\n")[2].partition("if torch.cuda.is_available")[0]
    exec(made.replace(', device_types="cuda"', ""), names)
    x, weight = (torch.randn(n, requires_grad=True) for n in ((2, 3, 512), (512,)))
    torch.library.opcheck(names["rmsnorm_op"], (x, weight, 1e-6))
    asked = torch.randn_like(x)
    ours, theirs = (
        torch.autograd.grad(function(x, weight, 1e-6), (x, weight), asked)
        for function in (names["rmsnorm_op"], forward)
    )
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, other)
    with pytest.raises(ValueError, match="rows of 512, 1,024"):
        names["rmsnorm_op"](x[..., :100], weight[:100], 1e-6)
    with pytest.raises(TypeError, match="in float32"):
        names["rmsnorm_op"](x.double(), weight, 1e-6)
