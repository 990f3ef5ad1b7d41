"""The kernels of hard_kernels.cu: each compiles, keeps to its arrays and has no race, and its launch is small."""

import numpy as np
import pytest
from engine.compiled.hard_launches import HARD, inputs
from engine.compiled.machine_runs import together
from full_tables import some

from softmax_lib.engine.compiled.cubin import kernels_of
from softmax_lib.engine.source import Program
from softmax_lib.gpu.compile import compile_cubin
from softmax_lib.worklog.xray import xray_launch

EMULATED = [name for name, hard in HARD.items() if hard.emulated]
STORE = 4
"""The line of a kernel of SHARED that stores. Lanes that meet there bring the same element of x."""


def x_ray(hard, x, y):
    arguments = [x, y, hard.rows, hard.cols]
    how = {"shared_bytes": hard.shared_bytes, "path": "written"}
    return xray_launch(hard.source, hard.grid, hard.block, arguments, **how)


@pytest.mark.parametrize("arch", [75, 80, 90])
@pytest.mark.parametrize("names", some([[*HARD][start::8] for start in range(8)], every=8))
def test_each_compiles_for_what_it_says(names, arch):
    names = [name for name in names if arch >= HARD[name].needs]
    cubin = compile_cubin(Program(together(HARD[name].source for name in names)), arch)
    assert set(names) <= set(kernels_of(cubin))


@pytest.mark.parametrize("name", some(EMULATED, every=17))
def test_none_has_a_hazard_and_each_writes_something(name):
    hard = HARD[name]
    x, y = inputs(hard)
    given, before = x.copy(), y.copy()
    hazards = x_ray(hard, x, y).hazards
    if name.startswith("shared_") and hard.threads == 32:  # lanes store one value at one address
        hazards = [one for one in hazards if (one.kind, one.line) != ("race", STORE)]
    assert not hazards
    assert (x == given).all()
    assert (y.view(np.uint32) != before.view(np.uint32)).any()
    if hard.approx:
        assert np.isfinite(y).all()  # they are recorded as numbers
