"""The kernels as they are now are those that were checked on a GPU (see gpu_run.py)."""

import json

import pytest
from gpu_run import SUMMARY, TOOLS

from softmax_lib import kernels


@pytest.fixture(scope="module")
def summary():
    return json.loads(SUMMARY.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", list(kernels))
def test_no_kernel_has_changed_since_the_gpu_run(name, summary):
    assert summary["kernels"].get(name) == kernels[name].digest, (
        f"{name} has changed since it was checked on a GPU: run `python tests/gpu_run.py` on one."
    )


def test_everything_passed_there(summary):
    assert summary["pytest"]["passed"] > 500
    assert summary["pytest"].get("failed", 0) == summary["pytest"].get("error", 0) == 0
    assert summary["sanitizer_errors"] == dict.fromkeys(TOOLS, 0)
