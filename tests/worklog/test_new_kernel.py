"""What CONTRIBUTING says of adding a kernel, done to the letter in a copy: nothing fails where no GPU has measured it."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from softmax_lib import recorded
from softmax_lib.worklog.registry import kernels

ROOT = Path(__file__).parents[2]
USED = ("softmax_lib", "kernels", "book/measurements")
LAST_OF_CHAPTER_3 = '    _one_step("04_online",'

DRAW = """
from softmax_lib import explore, figures, recorded
for draw in (figures.ladder, figures.bandwidth_by_cols, figures.traffic_ledger):
    draw()
print(figures.ladder().alt)
print(figures.traffic_ledger().alt)
print(explore("mine").fallback["text/plain"])
print(*(f"{what}: {', '.join(names)}." for what, names in recorded.waiting().items()))
"""


def entry():
    """The entry of the registry that CONTRIBUTING shows, as it would be pasted."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"```\n( *_one_step\(.*?\n) *```", text, re.DOTALL)
    return textwrap.indent(textwrap.dedent(found), "    ")


@pytest.fixture(params=[pytest.param("foil", marks=pytest.mark.full), "rung"])
def checkout(request, tmp_path):
    """What a contributor has after step 2, with the kernel as a foil or as a rung, and as which."""
    for name in USED:
        shutil.copytree(ROOT / name, tmp_path / name)
    text = (ROOT / "kernels" / "04_online.cu").read_text(encoding="utf-8")
    (tmp_path / "kernels" / "04_mine.cu").write_text(text.replace("online", "mine"), "utf-8")
    path = tmp_path / "softmax_lib" / "worklog" / "registry.py"
    registry = path.read_text(encoding="utf-8")
    assert LAST_OF_CHAPTER_3 in registry
    mine = entry() if request.param == "foil" else entry().replace(", foil=True", "")
    path.write_text(registry.replace(LAST_OF_CHAPTER_3, mine + LAST_OF_CHAPTER_3), "utf-8")
    return tmp_path, request.param


def run(folder, *words):
    beside = {**os.environ, "PYTHONPATH": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    done = subprocess.run(
        [sys.executable, *words], env=beside, cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pictures_and_the_command_line_show_it_as_not_yet_measured(checkout):
    pytest.importorskip("ipywidgets")
    assert "mine" not in kernels
    folder, kind = checkout
    told = run(folder, "-c", DRAW)
    ladder, ledger, explorer, waiting = told.strip().splitlines()
    assert ("mine not yet measured" in ladder) == (kind == "rung")
    assert waiting_in(ledger) == waiting_in(waiting) == {*recorded.unmeasured(kernels), "mine"}
    assert explorer.startswith("mine was not yet measured on NVIDIA H200")
    words = ("-m", "softmax_lib", "ladder", "mine", "--rows", "1024", "--cols", "512", "--json")
    found = json.loads(run(folder, *words))
    (line,) = (one for one in found["kernels"] if one["name"] == "mine")
    assert line["ok"]
    assert line["time_us"] is None
    assert found["skipped"] == {"mine": "not yet measured on NVIDIA H200"}


def waiting_in(told):
    """The kernels that a sentence calls not yet measured."""
    (names,) = re.findall(r"not yet measured on NVIDIA H200: ([\w, ]+)[.;]", told)
    return set(names.split(", "))
