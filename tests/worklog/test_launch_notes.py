"""A reader's kernel that is not launched as its reader may expect: that is said."""

import re

import numpy as np
import pytest
from emulated import kernel_of

from softmax_lib import check, kernels, run, trace, xray
from softmax_lib.engine.source import Source

X = np.ones((3, 8), np.float32)
NAIVE = Source("mine.cu", kernels["naive"].source.text)
BLOCK_A_ROW = Source("mine.cu", kernels["shared"].source.text)
OTHER_AXES = kernel_of(
    "    if (threadIdx.x < 8) y[threadIdx.x] = threadIdx . y + blockIdx.z;  // not blockIdx.y\n"
)
AXES = "It is launched in one dimension, where blockIdx.z and threadIdx.y are 0."


@pytest.mark.parametrize(
    ("source", "notes"),
    [
        (NAIVE, ("softmax_naive is launched as the book's kernel of that name: one thread per row.",)),
        (BLOCK_A_ROW, ()),
        ("naive", ()),
        (OTHER_AXES, (AXES,)),
    ],
)  # fmt: skip
def test_an_xray_and_a_check_say_how_a_kernel_is_launched(source, notes, monkeypatch):
    monkeypatch.setattr(
        "softmax_lib.engine.xrays.result.inspect", lambda *_: ()
    )  # which takes seconds
    found = xray(source, 3, 8, 32)
    assert found.notes == tuple(found.as_json()["notes"]) == notes
    result = check(source, X, device="cpu", block_size=32)
    assert result.notes == notes
    assert str(result).endswith("".join(f"\n{note}" for note in notes))


def test_run_and_trace_warn_of_other_axes_where_they_are_called():
    for launch in (run, trace):
        with pytest.warns(UserWarning, match=re.escape(AXES)) as heard:
            launch(OTHER_AXES, X, block_size=32)
        assert heard[0].filename == __file__
