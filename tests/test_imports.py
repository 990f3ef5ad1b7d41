"""Which part of the package may know which other, and what loads when: the house's plan, kept by a test."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import softmax_lib

pytestmark = pytest.mark.quick

PACKAGE = Path(softmax_lib.__file__).parent

# Each part, and what it may import from: the lower ones come first, and nothing runs back up.
PARTS = (
    "engine", "gpu", "worklog", "widgets", "records", "ops", "distributed", "suites", "grading", "show", "cli", "__main__",
)  # fmt: skip

# Whatever stands above in it: these never, not through others either.
NEVER = [
    ("records", "ops"),
    ("ops", "records"),
    ("grading", "suites"),
    ("grading", "records"),
    ("widgets", "gpu"),
]

# And within the engine: modules beside the folders below all of them; the two paths do not know each other.
IN_ENGINE = {"written": set(), "compiled": set(), "xrays": {"written", "compiled"}}

NO_TORCH = ["engine", "records", "cli", "worklog"]


def part_of(path):
    """The trunk's module, or the subpackage, that a file belongs to."""
    inside = path.relative_to(PACKAGE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def names_imported(path):
    """Modules of the package, and names in them, that a file imports anywhere, also within functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "softmax_lib":
            names = [f"softmax_lib.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            first, _, rest = name.partition(".")
            if first == "softmax_lib" and rest and not rest.startswith("__"):
                yield rest


def parts_imported(path):
    """Parts that a file imports from."""
    return {name.partition(".")[0] for name in names_imported(path)}


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_from_parts_below_its_own(path):
    own = PARTS.index(part_of(path))
    assert parts_imported(path) <= {*PARTS[: own + 1]}


def test_no_modules_need_each_other_in_a_circle():
    modules = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in FILES}
    needs = {name: modules.keys() & {*names_imported(path)} for name, path in modules.items()}
    assert [*TopologicalSorter(needs).static_order()]


def test_nothing_lies_loose_beside_the_parts():
    beside = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert beside == {"__init__.py", "__init__.pyi", "__main__.py", "py.typed"}
    assert {part_of(path) for path in FILES} == {*PARTS}


def test_the_two_paths_of_the_engine_do_not_know_each_other():
    for path in (PACKAGE / "engine").rglob("*.py"):
        own = path.relative_to(PACKAGE / "engine").parts[0]
        seen = set(re.findall(r"softmax_lib\.engine\.(\w+)", path.read_text(encoding="utf-8")))
        assert seen & IN_ENGINE.keys() <= {own, *IN_ENGINE.get(own, ())}, path


@pytest.mark.parametrize(("part", "other"), NEVER)
def test_what_must_never_know_each_other_does_not(part, other):
    reached, ways = set(), {part}
    while ways:
        here = ways.pop()
        reached.add(here)
        files = [path for path in FILES if part_of(path) == here]
        ways |= {name for path in files for name in parts_imported(path)} - reached
    assert other not in reached


def test_no_module_has_the_name_of_a_function_beside_it():
    # the module would take the function's place as soon as somebody imports it
    for init in [*PACKAGE.rglob("__init__.pyi"), *PACKAGE.glob("*/__init__.py")]:
        tree = ast.parse(init.read_text(encoding="utf-8"))
        taken = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) and node.module
                 for alias in node.names]  # fmt: skip
        modules = {path.stem for path in init.parent.iterdir()}
        assert modules.isdisjoint(taken), init


# ---- what is loaded


def loaded_by(code, *names):
    """Which of `names` are loaded once `code` has run in a new Python."""
    told = f"import sys; {code}; print(*[n for n in {names!r} if n in sys.modules])"
    return subprocess.check_output([sys.executable, "-c", told], text=True).split()


def modules_of(part):
    inside = [path for path in FILES if part_of(path) == part and path.stem != "on_gpu"]
    dotted = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in inside]
    return [name.removesuffix(".__init__") for name in dotted]


def test_importing_the_package_loads_nothing_else():
    heavy = ("torch", "numpy", "cupy", "matplotlib", "ipywidgets", "elftools", "rich", "jinja2")
    assert loaded_by("import softmax_lib", *heavy, "softmax_lib.worklog.launch") == []


def test_softmax_is_there_without_the_compiler_of_torch():
    assert loaded_by("from softmax_lib import softmax", "torch._dynamo", "sympy") == []


@pytest.mark.parametrize("part", NO_TORCH)
def test_torch_stays_at_the_edges(part):
    # one that cannot be imported: whoever tries it fails
    code = f"sys.modules['torch'] = None; import {', '.join(modules_of(part))}"
    assert loaded_by(code, "cupy", "matplotlib", "ipywidgets", "triton") == []


def test_the_command_line_answers_for_help_without_loading_numpy():
    code = "import io; sys.stdout = io.StringIO(); from softmax_lib.cli import main\n"
    code += "try: main(['--help'])\nexcept SystemExit: pass\nsys.stdout = sys.__stdout__"
    assert loaded_by(code, "numpy", "torch") == []


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
from softmax_lib import check, kernels, measure, recorded, run, trace, xray
from softmax_lib.cli import main
x = np.ones((3, 5), np.float32)
assert (run("shared", x) == np.float32(0.2)).all()
assert check("online", device="auto", lengths=(33,)).ok
assert len(trace("naive", x)) == 60
assert xray("naive", 4, 64).hazards == ()
assert measure("shared", 1024, 32768) in recorded.select(provider="shared")
assert main(["ladder", "--rows", "3", "--cols", "5", "--json"]) == 0
assert main(["info"]) == main(["xray", "naive", "--cols", "64"]) == main(["check", "naive"]) == 0
assert main(["record"]) == 2
assert main(["check", "naive", "--device", "cuda"]) == 2
"""


def test_what_needs_no_gpu_works_where_torch_is_not_installed():
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "No GPU to run on: torch is not installed" in done.stderr


def test_names_of_the_package_are_found_when_they_are_asked_for():
    for name in softmax_lib.__all__:
        assert getattr(softmax_lib, name) is getattr(softmax_lib, name)
        assert name in vars(softmax_lib)  # kept after the first time
    with pytest.raises(AttributeError, match="no_such_name"):
        softmax_lib.no_such_name  # noqa: B018


def test_who_asks_for_what_needs_torch_is_told_how_to_get_it():
    asked = "import sys; sys.modules['torch'] = None; import softmax_lib; softmax_lib.softmax"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    said = "softmax_lib.softmax needs torch, which is not installed: `pip install torch`."
    assert done.stderr.endswith(f"ModuleNotFoundError: {said}\n")


WITHOUT_WIDGETS = """
import inspect
import sys
sys.modules["ipywidgets"] = sys.modules["matplotlib"] = None
import softmax_lib
from softmax_lib import *
told = [name for package in (softmax_lib, widgets, drawings) for name, _ in inspect.getmembers(package)]
assert {"explore", "figures", "predict", "explorer", "tree"}.isdisjoint(told), told
assert {"run", "table", "source"} <= set(told)
assert "__restrict__" in drawings.source("naive").html
assert widgets.table([], [["a", 1]]).text == "a 1"

class Shell:
    def register_magic_function(self, function, kind, name):
        print(name)

softmax_lib.load_ipython_extension(Shell())
try:
    softmax_lib.explore
except ModuleNotFoundError as error:
    print(error.name)
"""


def test_without_widgets_and_matplotlib_what_needs_none_works_and_the_rest_is_not_listed():
    out = subprocess.check_output([sys.executable, "-c", WITHOUT_WIDGETS], text=True)
    assert out.split() == ["cuda", "triton", "ipywidgets"]
