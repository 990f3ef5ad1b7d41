"""The engine's tests run whole until they pass, and as a sample from then on, until something changes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
CONFTEST = """
from pathlib import Path
from engine import sampling

sampling.TESTS = Path(__file__).parent / "tests"
sampling.ENGINE_TESTS = sampling.TESTS / "engine"
pytest_plugins = ["engine.sampling"]

def pytest_addoption(parser):
    parser.addoption("--tier", default="test")
"""
TESTS = """
import pytest

@pytest.mark.parametrize("n", range(30))
def test_number(n):
    assert n < {bound}
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "tests" / "engine").mkdir(parents=True)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    write(tmp_path, bound=30)
    (tmp_path / "tests" / "test_other.py").write_text("def test_other():\n    pass\n")
    return tmp_path


def write(project, bound):
    (project / "tests" / "engine" / "test_number.py").write_text(TESTS.format(bound=bound))


def count_passed(project, *arguments):
    """How many tests pass in a run of the project."""
    environment = os.environ | {"PYTHONPATH": str(HOME), "XDG_CACHE_HOME": str(project / "cache")}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    return int(re.search(r"(\d+) passed", done.stdout)[1])


@pytest.mark.full
def test_a_sample_follows_a_whole_run_that_passed_until_something_changes(project):
    assert count_passed(project) == 31
    assert count_passed(project) == 4
    assert count_passed(project, "--whole") == 31
    assert count_passed(project, "--tier", "all") == 31
    assert count_passed(project, "tests/engine") == 30
    write(project, bound=31)
    assert count_passed(project) == 31


@pytest.mark.full
def test_workers_take_the_sample_that_their_run_has_chosen(project):
    assert [count_passed(project, "-n", "1") for _ in range(2)] == [31, 4]


def test_a_run_of_some_tests_or_one_that_fails_vouches_for_nothing(project):
    for arguments in (["-k", "number"], ["tests"], ["--tier", "book"]):
        count_passed(project, *arguments)
    write(project, bound=29)
    assert count_passed(project) == count_passed(project) == 30
