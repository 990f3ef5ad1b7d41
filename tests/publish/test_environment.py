"""A chapter in an environment with the versions of Colab's packages, where torch is there already.

Nobody has tried one in Colab itself.
"""

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from address import ROOT
from notebooks import chapters

pytestmark = pytest.mark.site

PACKAGES = {
    "ipykernel": "6.17.1",
    "ipython": "7.34.0",
    "ipywidgets": "7.7.1",
    "jinja2": "3.1.6",
    "markdown-it-py": "4.2.0",
    "matplotlib": "3.10.0",
    "numpy": "2.1.3",
    "platformdirs": "4.11.3",
    "rich": "13.9.4",
    "traitlets": "5.7.1",
}
"""As `pip-freeze.txt` in github.com/googlecolab/backend-info had them on 2026-08-19."""
BELOW = {
    "backcall": "0.2.0",
    "decorator": "4.4.2",
    "ipython_genutils": "0.2.0",
    "pickleshare": "0.7.5",
}
"""What these of old need, and newer ones do not."""

LAUNCH = """\
import ipywidgets, softmax_lib, torch
from softmax_lib.worklog import files
assert not hasattr(ipywidgets, "Stack")
x = torch.randn(4, 8)
torch.testing.assert_close(softmax_lib.run("naive", x), torch.softmax(x, -1))
print(files.KERNEL_FOLDER)"""

EXECUTE = """\
import sys, nbclient, nbformat
nbclient.NotebookClient(nbformat.read(sys.argv[1], 4), timeout=120).execute()"""


def pip(python: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--python", str(python), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def versions(python: Path) -> dict[str, str]:
    """Every installed package but this one, which is there before as a checkout."""
    listed = json.loads(pip(python, "list", "--format=json"))
    there = {item["name"].lower(): item["version"] for item in listed}
    return {name: version for name, version in there.items() if name != "softmax-lib"}


@pytest.fixture(scope="module")
def colab(tmp_path_factory) -> Path:
    """The Python of a new environment that sees this one's packages, but for those of Colab."""
    folder = tmp_path_factory.mktemp("colab")
    venv.create(folder)
    python = folder / "bin" / "python"
    own = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    (own / "preinstalled.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pinned = [f"{name}=={version}" for name, version in {**PACKAGES, **BELOW}.items()]
    pip(python, "install", "-qq", "--no-deps", *pinned)
    return python


@pytest.fixture(scope="module")
def moved(colab, tmp_path_factory) -> set[str]:
    """Names of the other packages that installing this one adds, changes or removes."""
    checkout = tmp_path_factory.mktemp("checkout") / "source"
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    before = versions(colab)
    assert {name: before[name] for name in PACKAGES} == PACKAGES
    pip(colab, "install", "-qq", str(checkout))
    after = versions(colab)
    return {name for name in before | after if before.get(name) != after.get(name)}


def test_installing_moves_nothing_else(moved):
    assert moved == set()


def test_kernels_come_with_the_package(colab, moved, tmp_path):
    printed = subprocess.check_output([colab, "-c", LAUNCH], cwd=tmp_path, text=True)
    folder = Path(printed.strip())
    assert folder.is_relative_to(colab.parents[1])
    shipped = sorted(path.name for path in folder.glob("*.cu*"))
    assert shipped == sorted(path.name for path in (ROOT / "kernels").glob("*.cu*"))


@pytest.mark.parametrize("chapter", chapters()[:1], ids=lambda path: path.stem)
def test_a_chapter_runs(colab, moved, chapter, tmp_path):
    shutil.copy(chapter, tmp_path)
    subprocess.run([colab, "-c", EXECUTE, chapter.name], cwd=tmp_path, check=True)
