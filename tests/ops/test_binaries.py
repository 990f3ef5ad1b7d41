"""Machine code of the fast kernels: compiled once, kept on disk, whatever happens to processes and disks."""

import logging
import os
import subprocess
import sys

import pytest

from softmax_lib.ops import binaries
from softmax_lib.ops.binaries import cubin, path_of
from softmax_lib.ops.outlines import Build

pytestmark = pytest.mark.nvrtc

SMALL = Build(
    "warp", "softmax_warp<Forward<float, float, 8, 1, 0, false, false, PLAIN, PLAIN>, 8, 64, 4>"
)

CALL = f"""
import sys
from softmax_lib.ops.binaries import cubin, path_of
from softmax_lib.ops.outlines import Build
code, name = cubin({SMALL!r}, 75)
print(len(code), name, "cupy" in sys.modules)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    binaries._tell.cache_clear()
    return tmp_path / "softmax_lib" / "fast"


def start(warnings="error", **environment):
    """A process that asks for the kernel."""
    return subprocess.Popen(
        [sys.executable, "-W", warnings, "-c", CALL], env=os.environ | environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_it_is_compiled_once_and_says_so_once(cache, caplog):
    with caplog.at_level(logging.WARNING, "softmax_lib"):
        made = cubin(SMALL, 75)
        cubin(Build("warp", SMALL.expression.replace("64, 4", "128, 4")), 75)
        assert cubin(SMALL, 75) == made
    (said,) = caplog.messages
    assert said == f"softmax_lib compiles kernels for sm_75, once; they are kept in {cache}."
    code, name = made
    assert code.startswith(b"\x7fELF")
    assert name.startswith("_Z12softmax_warp")


def test_what_lies_on_disk_needs_no_compiler(cache):
    first, second = start().communicate()[0], start().communicate()[0]
    assert first.split()[:2] == second.split()[:2]
    assert (first.split()[2], second.split()[2]) == ("True", "False")


def test_flags_and_archs_are_kept_apart(cache):
    other = Build(SMALL.stem, SMALL.expression, ("-ftz=true",))
    paths = {path_of(SMALL, 75), path_of(SMALL, 90), path_of(other, 75)}
    assert len(paths) == 3


@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.full)])
def test_processes_that_start_at_once_agree(cache, count):
    processes = [start() for _ in range(count)]
    said = {process.communicate()[0].rpartition(" ")[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * count
    assert len(said) == 1
    assert list(cache.iterdir()) == [path_of(SMALL, 75)]


@pytest.mark.full
def test_a_home_that_cannot_be_written_leaves_it_working(tmp_path):
    (tmp_path / "file").write_text("")
    process = start("default", XDG_CACHE_HOME=str(tmp_path / "file" / "below"))
    assert "are built anew each time" in process.communicate()[1]
    assert process.returncode == 0
