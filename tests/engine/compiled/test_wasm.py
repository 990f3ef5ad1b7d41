"""The interpreter as WebAssembly, in node: the native one's bits and counts."""

import json
import subprocess
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from full_tables import some
from playwright._impl._driver import compute_driver_executable

from softmax_lib import kernels
from softmax_lib.engine.compiled.carried import carry
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.running import run
from softmax_lib.worklog.errors import BadInput

BOOK = Path(__file__).parents[3] / "book"
RUNNER = Path(__file__).with_name("run_in_node.mjs")
ARCH = 90
SHAPES = ((33, 1000), (7, 77), (5, 1003), (2, 3000), (64, 4096))
LESS = 1 << 15
"""Numbers of a matrix that foils are launched on, some of which read a row for each."""


@pytest.fixture(scope="module")
def machine():
    """book/publish/machine.py."""
    spec = spec_from_file_location("machine", BOOK / "publish" / "machine.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_module_is_made_of_the_sources_as_they_are(machine):
    made = machine.section(machine.made_of())
    assert machine.MODULE.read_bytes().endswith(made), "run `make machine`"


@pytest.mark.full
@pytest.mark.skipif(not which("npm"), reason="npm is not there, which has the compiler")
def test_the_module_is_what_its_sources_make(machine):
    assert machine.compile_module() == machine.MODULE.read_bytes()


def launch(kernel, rows, cols, folder):
    """Each launch natively, and what it gave; what node is to run is left in the folder."""
    x = np.random.default_rng(0).normal(size=(rows, cols)).astype(np.float32)
    y = np.full_like(x, np.nan)
    for number, spec in enumerate(kernel.launches(x, y, kernel.choose_block_size(cols))):
        at = folder / f"{rows}-{cols}-{number}"
        at.with_suffix(".program").write_bytes(
            carry(decode_program(spec.program, ARCH, spec.kernel))
        )
        values = [None if isinstance(one, np.ndarray) else int(one) for one in spec.arguments]
        told = {"grid": spec.geometry.grid, "block": spec.geometry.block, "values": values}
        at.with_suffix(".json").write_text(json.dumps(told))
        arrays = {i: one for i, one in enumerate(spec.arguments) if isinstance(one, np.ndarray)}
        for i, one in arrays.items():
            at.with_suffix(f".{i}").write_bytes(one.tobytes())
        (counted,) = run(spec, arch=ARCH)
        yield at, [one.copy() for one in arrays.values()], counted


@pytest.mark.parametrize("name", some(list(kernels), 6))
def test_a_kernel_gives_the_native_ones_bits_and_counts(name, tmp_path):
    kernel, native = kernels[name], []
    for rows, cols in SHAPES:
        if kernel.legal_block_sizes(cols) and (rows * cols <= LESS or not kernel.foil):
            with suppress(BadInput):  # whole float4s alone
                native += launch(kernel, rows, cols, tmp_path)
    node, _ = compute_driver_executable()
    subprocess.run([node, RUNNER, BOOK / "static", *(at for at, *_ in native)], check=True)
    assert native
    for at, arrays, counted in native:
        for i, array in enumerate(arrays):
            assert at.with_suffix(f".array{i}").read_bytes() == array.tobytes(), (at.name, i)
        for name in ("counts", "executed", "barriers"):
            wanted = getattr(counted, name)
            found = np.frombuffer(at.with_suffix(f".{name}").read_bytes(), wanted.dtype)
            # behind the last instruction there is one more
            assert (found[: wanted.size].reshape(wanted.shape) == wanted).all(), (at.name, name)
