"""The interpreter as WebAssembly, in node: the native one's bits and counts."""

import json
import random
import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
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

BOOK = Path(__file__).parents[3] / "book"
RUNNER = Path(__file__).with_name("run_in_node.mjs")
SHAPES = ((33, 1000), (7, 77), (5, 1003), (2, 3000), (64, 4096))
LESS = 1 << 15
"""Numbers of a matrix that foils are launched on, some of which read a row for each."""
DRAWN = 200


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


def runs():
    """Kernel, rows, columns, block size and arch of each launch: at every block size for one arch, at one for two more."""
    for kernel, (rows, cols) in product(kernels.values(), SHAPES):
        if rows * cols <= LESS or not kernel.foil:
            cols = kernel.longer(cols)
            for size in kernel.legal_block_sizes(cols):
                yield kernel, rows, cols, size, 90
                if size == kernel.choose_block_size(cols):
                    yield from ((kernel, rows, cols, size, arch) for arch in (75, 80))


RUNS = list(runs())


def launch(kernel, rows, cols, size, arch, folder):
    """Each launch natively, and what it gave; what node is to run is left in the folder."""
    x = np.random.default_rng(0).normal(size=(rows, cols)).astype(np.float32)
    y = np.full_like(x, np.nan)
    for number, spec in enumerate(kernel.launches(x, y, size)):
        at = folder / f"{kernel.name}-{rows}-{cols}-{size}-{arch}-{number}"
        at.with_suffix(".program").write_bytes(
            carry(decode_program(spec.program, arch, spec.kernel))
        )
        values = [None if isinstance(one, np.ndarray) else int(one) for one in spec.arguments]
        told = {"grid": spec.geometry.grid, "block": spec.geometry.block, "values": values}
        at.with_suffix(".json").write_text(json.dumps(told))
        arrays = {i: one for i, one in enumerate(spec.arguments) if isinstance(one, np.ndarray)}
        for i, one in arrays.items():
            at.with_suffix(f".{i}").write_bytes(one.tobytes())
        (counted,) = run(spec, arch=arch)
        yield at, [one.copy() for one in arrays.values()], counted


def compare(some_runs, folder):
    """Launch them natively and in node; every array and count has to be the same."""
    native = [found for one in some_runs for found in launch(*one, folder)]
    node, _ = compute_driver_executable()
    subprocess.run([node, RUNNER, BOOK / "static", *(at for at, *_ in native)], check=True)
    for at, arrays, counted in native:
        for i, array in enumerate(arrays):
            assert at.with_suffix(f".array{i}").read_bytes() == array.tobytes(), (at.name, i)
        for name in ("counts", "executed", "barriers"):
            wanted = getattr(counted, name)
            found = np.frombuffer(at.with_suffix(f".{name}").read_bytes(), wanted.dtype)
            # behind the last instruction there is one more
            assert (found[: wanted.size].reshape(wanted.shape) == wanted).all(), (at.name, name)


@pytest.mark.parametrize("name", some(list(kernels), 6))
def test_a_kernel_gives_the_native_ones_bits_and_counts(name, tmp_path):
    those = [one for one in RUNS if one[0].name == name]
    compare([one for one in those if one[3] == one[0].choose_block_size(one[2])], tmp_path)


@pytest.mark.site
def test_launches_drawn_from_all_block_sizes_give_them_too(tmp_path):
    compare(random.Random(0).sample(RUNS, DRAWN), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("name", list(kernels))
def test_a_kernel_gives_them_at_all_block_sizes(name, tmp_path):
    compare([one for one in RUNS if one[0].name == name], tmp_path)
