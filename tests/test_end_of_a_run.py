"""What a run of tests ends with, in a few lines: what was not run and how to run it, and what waits for a GPU."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sample_records import content, write

ROOT = Path(__file__).parents[1]

RUN = """\
import pytest
of = pytest.mark

def test_passes(): pass
def test_fails(): assert False, "what to do: this\\nand that"
@of.gpu
def test_on_a_gpu(): pass
@of.full
def test_of_a_table(): pass
@of.site
def test_of_the_site(): pass
@of.parametrize("number", range(6))
def test_skipped(number): pytest.skip(f"reason {number}: and more")
@of.fresh
@of.parametrize("name", [f"kernel_{number}" for number in range(30)])
def test_of_a_record(name): assert False, f"{name} has changed"
"""

STAND_IN = """\
import sys
from pathlib import Path

sys.modules["torch"] = None  # quicker than to ask it for a GPU
from softmax_lib.records import shelf
shelf.FOLDER = Path(__file__).parent
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What is printed from the first failure on, on workers of pytest-xdist, beside a record of older kernels."""
    folder = tmp_path_factory.mktemp("run")
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "test_run.py").write_text(RUN)
    (folder / "stand_in.py").write_text(STAND_IN)
    old = dict.fromkeys(content()["kernels"], "0" * 64)
    write(folder / "nvidia-h200.json", content(kernels=old))
    beside = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": f"{folder}:{ROOT}"}
    words = ["-n", "1", "-p", "xdist.plugin", "-p", "stand_in", "-p", "no:cacheprovider"]
    words += ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        env=os.environ | beside,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout.partition("= FAILURES =")[2]


def test_a_failure_is_told_whole(said):
    assert "what to do: this\nE     and that" in said


def test_what_was_skipped_is_counted_by_its_reason(said):
    assert "\n7 skipped: " in said
    assert "needs a CUDA GPU, where `python tests/gpu_run.py` runs it (1)" in said
    assert "reason 1 (1); " in said
    assert "; 3 more reasons, which -rs lists." in said


def test_what_is_not_of_the_tier_is_counted_by_what_runs_it(said):
    line = "2 left out of `make test`: `make test-all` runs 1, `make test-book` runs 1."
    assert line in said


def test_what_waits_for_a_gpu_is_named_as_far_as_a_line_goes(said):
    names = r"[\w, ]{50,100} and \d+ more"
    changed = f"kernels changed since they were measured on NVIDIA H200: {names}"
    assert re.search(rf"Warning: \d\d {changed}.*; `softmax-lib record` on such a GPU", said)
    assert re.search(f"Warning: 30 xfailed.*: kernel_0, kernel_1, {names}.*; -rx", said)


def test_it_has_fifteen_lines_at_most(said):
    assert 7 <= len(said.partition("AssertionError\n")[2].splitlines()) <= 15
