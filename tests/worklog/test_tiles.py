"""Softmax in Triton: right in the interpreter, compiled without a GPU, and precise about what is wrong."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from full_tables import some

from softmax_lib import tiles
from softmax_lib.worklog import reference
from softmax_lib.worklog.errors import (
    BadInput,
    CompileError,
    NotAvailable,
    RowTooLong,
    UnknownKernel,
    WrongType,
)
from softmax_lib.worklog.tiles import interpreter, programs
from softmax_lib.worklog.tiles.compiling import count_instructions
from softmax_lib.worklog.tiles.programs import Setting, next_power_of_two, settle

X = reference.noise(5, 33)
TEXT = tiles.kernels["simple"].source.text


def edited(old, new=""):
    assert old in TEXT
    return TEXT.replace(old, new)


@pytest.mark.parametrize("name", some(tiles.kernels, every=2))
def test_every_kernel_is_right(name):
    found = tiles.check(name, device="cpu")
    assert found.ok, found.verdict
    assert found.verdict.startswith(f"{name}: {found.launches} launches, all within")
    assert found.launches == (6 if name == "simple_no_mask" else 18)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (edited('-float("inf")', "0.0"), r"column 0 is .* and should be"),
        (edited(', mask=inside, other=-float("inf")'), "reads past the end of x"),
        (edited("x + start + at, mask", "x + start + at - 1, mask"), "reads past the end of x"),
        (edited(", mask=inside)", ")"), "wrote past the end of y"),
        (edited(" - tl.max(row, axis=0)"), r"\(both ends of float32\)|\(shifted up\)"),
    ],
    ids=["masked lanes are 0", "no mask at the load", "one before", "no mask at the store", "no maximum"],
)  # fmt: skip
def test_a_careless_kernel_is_told(text, said):
    found = tiles.check(text, device="cpu", lengths=(1000,))
    assert not found.ok
    assert re.search(said, found.verdict), found.verdict


def test_what_is_given_is_given_back():
    y = tiles.run("persistent", X, programs=2)
    assert isinstance(y, np.ndarray)
    np.testing.assert_allclose(y, reference.softmax(X), rtol=1e-5)
    of_tensor = tiles.run("simple", torch.from_numpy(X), tile=128, num_warps=32)
    assert isinstance(of_tensor, torch.Tensor)
    np.testing.assert_allclose(of_tensor.numpy(), y, rtol=1e-6)
    assert tiles.run("simple", X[:0]).shape == (0, 33)
    assert tiles.run("simple", X[:, :0].copy()).shape == (5, 0)


@pytest.mark.parametrize(
    ("error", "said", "name", "x", "words"),
    [
        (UnknownKernel, "no Triton kernel called 'naive'", "naive", X, {}),
        (RowTooLong, "65537 does not fit one tile", "simple", np.zeros((1, 65537), np.float32), {}),
        (BadInput, "num_warps is 3", "simple", X, {"num_warps": 3}),
        (BadInput, "num_warps is 64", "simple", X, {"num_warps": 64}),
        (WrongType, "num_warps is a float", "simple", X, {"num_warps": 4.0}),
        (BadInput, "num_stages is 0", "persistent", X, {"num_stages": 0}),
        (BadInput, "tile is 32; it is a power of two from 33", "simple", X, {"tile": 32}),
        (BadInput, "tile is 65;", "simple", X, {"tile": 65}),
        (BadInput, "programs is 0", "persistent", X, {"programs": 0}),
        (BadInput, "one program per row: 5, and not 2", "simple", X, {"programs": 2}),
        (BadInput, "rows that fill their tile, and not 33 in 64", "simple_no_mask", X, {}),
        (WrongType, "x is float64", "simple", X.astype(float), {}),
        (BadInput, "0 functions with @triton.jit", "x = 1\n", X, {}),
        (BadInput, "takes width; a kernel here may take x, y", "@triton.jit\ndef f(x, width): pass", X, {}),
        (CompileError, "yours.py, line 2", "@triton.jit\ndef f(x:\n", X, {}),
        (CompileError, r"interpreter stopped: yours\.py, line 19: NameError: name 'texp' is not", edited("tl.exp", "texp"), X, {}),
        (CompileError, "yours.py, line 1: there is a NUL", "x = 3\0\n" + TEXT, X, {}),
        (CompileError, "interpreter stopped: yours.py: NameError: name 'missing'", TEXT + "\nmissing\n", X, {}),
    ],
)  # fmt: skip
def test_what_cannot_run_is_said_in_a_sentence(error, said, name, x, words):
    with pytest.raises(error, match=said):
        tiles.run(name, x, **words)


def test_a_kernel_that_never_ends_or_ends_its_process_is_told_and_the_next_runs(monkeypatch):
    tiles.run("simple", X)
    with pytest.raises(CompileError, match="a kernel ended its process with status 3"):
        tiles.run(edited("tl.exp", "__import__('os')._exit(3) or tl.exp"), X)
    assert tiles.run("simple", X).shape == X.shape
    monkeypatch.setattr(interpreter, "MOST_SECONDS", 0.3)
    with pytest.raises(CompileError, match=r"it had not ended after 0\.3 s"):
        tiles.run(edited("tl.exp", "list(iter(int, 1)) or tl.exp"), X)
    monkeypatch.undo()
    assert tiles.run("simple", X).shape == X.shape


def test_what_the_interpreter_lacks_when_it_is_loaded_is_told(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('this torch is broken')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(interpreter, "_process", None)
    with pytest.raises(CompileError, match=r"interpreter stopped: ImportError: this torch is brok"):
        tiles.run("simple", X)
    interpreter._process.end()


def test_without_triton_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(programs, "find_spec", lambda name: None)
    for ask in (lambda: tiles.run("simple", X), lambda: tiles.check("simple")):
        with pytest.raises(NotAvailable, match=r'pip install "softmax-lib\[triton\]"'):
            ask()


def test_the_interpreter_leaves_this_process_alone():
    code = """
import sys, numpy as np
from softmax_lib import tiles
tiles.run("simple", np.ones((2, 3), np.float32))
assert "triton" not in sys.modules and "torch" not in sys.modules
code = tiles.compile_tile("simple", 1024)
tiles.run("simple", np.ones((2, 3), np.float32))
assert tiles.compile_tile("simple", 2048).registers
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_where_the_compiler_is_turned_off_that_is_said():
    code = """
import os
os.environ["TRITON_INTERPRET"] = "1"
from softmax_lib import errors, tiles
try:
    tiles.compile_tile("simple", 1024)
except errors.NotAvailable as error:
    print(error)
"""
    told = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert told.startswith("TRITON_INTERPRET is set")


def test_the_seeds_rule_and_the_least_tile():
    assert [tiles.seeds_warps(2**n) for n in range(9, 15)] == [4, 4, 8, 16, 16, 16]
    powers = {1: 1, 2: 2, 3: 4, 1000: 1024, 1024: 1024, 1025: 2048}
    assert {n: next_power_of_two(n) for n in powers} == powers
    assert settle(1000) == Setting(1024, 4, 2)
    assert settle(65536).values_a_thread == 128


# ---- compiled for sm_90, without a GPU


@pytest.mark.parametrize("warps", [1, 4, 32])
def test_warps_are_threads_of_the_block(warps):
    code = tiles.compile_tile("simple", 4096, num_warps=warps)
    assert code.directives == (f".reqntid {32 * warps}",)
    assert code.counts["ex2.approx.f32"] == code.setting.values_a_thread
    assert ("bar.sync" in code.counts) == (warps > 1)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_stages_are_tiles_in_shared_memory(stages):
    code = tiles.compile_tile("persistent", 4096, num_warps=8, num_stages=stages)
    advance = 4 * 4096 * (stages - 1)
    assert advance <= code.shared_bytes <= advance + 128
    assert any(name.startswith("cp.async") for name in code.counts) == (stages > 1)


def test_what_does_not_fit_and_what_spills_is_told():
    too_much = tiles.compile_tile("persistent", 32768, num_warps=16, num_stages=3)
    assert (too_much.programs, too_much.limit) == (0, "shared memory")
    assert tiles.compile_tile("simple", 65536, num_warps=16).spill_bytes > 0
    assert tiles.compile_tile("simple", 32768, num_warps=16).spill_bytes == 0


def test_triton_takes_no_cluster_for_a_tile_of_one_dimension(capfd):
    files = os.listdir("/proc/self/fd") if sys.platform == "linux" else None
    with pytest.raises(CompileError, match=r"Triton does not compile simple with .*'num_ctas': 2"):
        tiles.compile_tile("simple", 1024, num_ctas=2)
    assert files is None or os.listdir("/proc/self/fd") == files
    assert capfd.readouterr().err == ""
    with pytest.raises(BadInput, match=r"num_warps, num_stages, num_ctas, maxnreg, .* not grid"):
        tiles.compile_tile("simple", 1024, grid=2)


def test_instructions_are_counted_with_their_suffixes():
    text = "\tld.global.b32 %r1, [%rd1];\n\t@%p1 ld.global.b32 %r2, [%rd2];\n\t@!%p2 bar.sync 0;\n.reqntid 32\n"
    assert count_instructions(text) == {"bar.sync": 1, "ld.global.b32": 2}


def test_a_digest_knows_the_code_and_not_its_comments():
    simple = tiles.kernels["simple"]
    digests = {kernel.digest for kernel in tiles.kernels.values()}
    assert len(digests) == len(tiles.kernels)
    assert tiles.find(TEXT.replace("# 3. write", "# at last")).digest == simple.digest
    assert tiles.find(edited("axis=0", "axis=-1")).digest != simple.digest


@pytest.mark.gpu
@pytest.mark.parametrize("name", list(tiles.kernels))
def test_every_kernel_is_right_on_a_gpu(name):
    assert tiles.check(name, device="cuda").ok
    x = torch.randn(300, 1024, device="cuda")
    torch.testing.assert_close(tiles.run(name, x), torch.softmax(x, -1))


@pytest.mark.nvrtc
def test_the_ptx_of_triton_and_of_nvrtc_is_counted_by_kind():
    found = tiles.compare_ptx("simple", "persistent", "fusion", cols=1024, num_warps=4)
    of = {kind: numbers for kind, *numbers in found}
    assert of["loads of 16 bytes"] == [2, 0, 4]
    assert of["copies past registers"] == [0, 4, 0]
    assert of["divisions"][0] == 8 > of["divisions"][2]
    with pytest.raises(UnknownKernel):
        tiles.compare_ptx("no_such", cols=1024, num_warps=4)
