"""The kernels as they are now are those that were checked on a GPU (see gpu_run.py)."""

import json

import gpu_run
import pytest
from gpu_run import CHECKED, GPU_TESTS, SUMMARY, TESTS, TOOLS, digest_fast_kernels, run_pytest


@pytest.fixture(scope="module")
def summary():
    return json.loads(SUMMARY.read_text(encoding="utf-8"))


@pytest.mark.fresh
@pytest.mark.parametrize("name", list(CHECKED))
def test_no_kernel_has_changed_since_the_gpu_run(name, summary):
    assert summary["kernels"].get(name) == CHECKED[name].digest, (
        f"{name} has changed since it was checked on a GPU: run `python tests/gpu_run.py` on one."
    )


@pytest.mark.fresh
def test_no_kernel_of_softmax_has_changed_since_the_gpu_run(summary):
    assert summary["fast_kernels"] == digest_fast_kernels(), (
        "A file of kernels/fast has changed since it was checked on a GPU: run `python tests/gpu_run.py` on one."
    )


@pytest.mark.parametrize(
    ("part", "least"), [("pytest", 500), ("functions", 150), ("ops", 800), ("alone", 0)]
)
def test_everything_passed_there(summary, part, least):
    assert summary[part]["passed"] > least
    assert summary[part]["failed"] == summary[part]["errors"] == 0


def test_no_sanitizer_found_anything(summary):
    assert summary["sanitizer_errors"] == dict.fromkeys(TOOLS, 0)


def test_every_test_that_needs_a_gpu_is_run_there():
    # those on the site's pages and their environments need packages that such a machine lacks
    left_out = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("test_*.py")
        if ("mark.gpu" in (text := path.read_text(encoding="utf-8")) or "mark.nvrtc" in text)
        and not any(path.is_relative_to(TESTS / name) for name in GPU_TESTS)
    }
    assert left_out == {"test_gpu_run.py"}


def test_what_the_run_needs_is_asked_for_before_it_starts(monkeypatch):
    monkeypatch.setattr(gpu_run, "find_spec", lambda module: None)
    monkeypatch.setattr(gpu_run, "disassembler", lambda: None)
    monkeypatch.setattr(gpu_run.shutil, "which", lambda tool: None)
    with pytest.raises(
        SystemExit, match=r"pytest-xdist, .*compute-sanitizer, nvidia-cuda-nvdisasm"
    ):
        gpu_run.main()
    monkeypatch.undo()
    for name in ("pytest-xdist", "hypothesis", "expecttest", "ipywidgets"):
        assert gpu_run.find_spec(gpu_run.NEEDED[name])


def test_the_next_run_does_what_is_left(monkeypatch, tmp_path):
    ran, found = [], {"passed": 1, "failed": 0, "errors": 0, "skipped": 0}
    outcomes = {name: dict(found) for name in gpu_run.RUNS}

    def run():
        ran.clear()
        gpu_run.main()
        return set(ran)

    for name in ("require_all", "gpu_facts", "versions", "digest_kernels", "digest_fast_kernels"):
        monkeypatch.setattr(gpu_run, name, dict)
    monkeypatch.setattr(gpu_run, "SUMMARY", tmp_path / "run.json")
    gpu_run.SUMMARY.write_text("{}")
    for name in gpu_run.RUNS:
        monkeypatch.setitem(
            gpu_run.RUNS, name, lambda name=name: ran.append(name) or outcomes[name]
        )
    outcomes["ops"]["failed"] = 1
    with pytest.raises(SystemExit, match="Some tests failed"):
        run()
    assert ran[-1] == "alone"  # by itself
    outcomes["ops"]["failed"] = 0
    assert run() == {"ops"}
    assert run() == set(gpu_run.RUNS)
    monkeypatch.setattr(gpu_run, "digest_fast_kernels", lambda: {"block": "changed"})
    assert run() == {"ops", "sanitizer_errors"}
    monkeypatch.setattr(gpu_run, "digest_kernels", lambda: {"naive": "changed"})
    assert run() == set(gpu_run.RUNS)
    assert json.loads(gpu_run.SUMMARY.read_text())["kernels"] == {"naive": "changed"}


OUTCOMES = """\
import pytest

@pytest.fixture
def broken():
    raise RuntimeError

def test_passes(): pass
def test_passes_too(): pass
def test_fails(): assert False
@pytest.mark.skip
def test_skipped(): pass
def test_has_an_error(broken): pass
def test_has_an_error_too(broken): pass
"""


def test_errors_and_failures_are_counted_each_by_its_name(tmp_path):
    path = tmp_path / "test_outcomes.py"
    path.write_text(OUTCOMES)
    counts = run_pytest("--rootdir", str(tmp_path), "-c", "/dev/null", str(path))
    assert counts == {"passed": 2, "failed": 1, "errors": 2, "skipped": 1}
