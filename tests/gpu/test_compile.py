"""Every compilation that the registry allows, for the archs that NVRTC lists, needs no GPU."""

import sys

import pytest
from full_tables import some

from softmax_lib import kernels
from softmax_lib.engine import caches
from softmax_lib.engine.errors import CompileError, NotAvailable
from softmax_lib.engine.grids import REGISTERS_A_BLOCK
from softmax_lib.engine.source import Program, Source
from softmax_lib.gpu.compile import compile_cubin, nvrtc, resources, supported_archs

ARCHS = supported_archs()
EVERYDAY_ARCHS = (75, 90, ARCHS[-1])
"""Those of `make test`: Colab's T4, the H200 of the book's record, and the newest; the rest in `make test-all`."""

pytestmark = pytest.mark.nvrtc


def compilations():
    """Every program that the registry allows, once, with the largest block that it is launched with."""
    for kernel in kernels.values():
        if kernel.of:
            continue
        programs = {}
        for size in kernel.block_sizes:
            lengths = [size * floats for floats in kernel.per_thread] or [kernel.longer(1)]
            for cols in lengths:
                if cols <= kernel.max_cols(size):
                    program = kernel.program(size, cols)
                    programs[program.digest] = (program, size)
        for program, size in programs.values():
            values = "-".join(str(value) for _, value in program.defines)
            yield pytest.param(program, size, id=f"{kernel.name}-{values}".rstrip("-"))


def test_the_archs_reach_from_turing_to_hopper_and_on():
    assert {75, 80, 90} <= set(ARCHS)


@pytest.mark.parametrize(("program", "block_size"), some(compilations(), every=9))
@pytest.mark.parametrize(
    "archs",
    [
        pytest.param(EVERYDAY_ARCHS, id="everyday"),
        pytest.param(sorted({*ARCHS} - {*EVERYDAY_ARCHS}), id="others", marks=pytest.mark.full),
    ],
)
def test_it_compiles_without_a_spill_and_a_block_fits(program, block_size, archs):
    for arch in archs:
        for found in resources(program, arch):
            assert found.spill_bytes == found.stack_bytes == 0, (arch, found)
            assert found.registers * block_size <= REGISTERS_A_BLOCK, (arch, found)
            assert found.shared_bytes <= 48 * 1024, (arch, found)


CONTROLS = [kernel for kernel in kernels.values() if kernel.of]


@pytest.mark.parametrize("control", CONTROLS, ids=lambda kernel: kernel.name)
def test_a_control_takes_no_more_registers_than_a_block_has_where_it_was_measured(control):
    cols = min(32768, max(map(control.max_cols, control.block_sizes)))
    block_size = control.choose_block_size(cols)
    for found in resources(
        control.program(block_size, min(cols, control.max_cols(block_size))), 90
    ):
        assert found.spill_bytes == 0
        assert found.registers * block_size <= REGISTERS_A_BLOCK


def test_a_cubin_is_a_whole_elf_file_and_comes_from_the_cache_the_second_time(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = kernels["fusion"].program(256, 1000)
    first = compile_cubin(program, 90)
    assert first.startswith(b"\x7fELF")
    (path,) = tmp_path.rglob("*.cubin")
    path.unlink()
    caches.read_or_make(path, lambda: b"\0\0from the cache")
    assert compile_cubin(program, 90) == b"from the cache"


def test_what_was_compiled_before_still_has_its_report():
    program = kernels["fusion"].program(256, 1000)
    compile_cubin(program, 90)
    first, again = resources(program, 90), resources(program, 90)
    assert [entry.entry for entry in first] == ["softmax_fusion"]
    assert again == first


def test_without_cupy_one_sentence_says_what_to_install(monkeypatch):
    nvrtc.cache_clear()
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setitem(sys.modules, "cupy.cuda", None)
    with pytest.raises(NotAvailable, match="pip install cupy-cuda12x"):
        nvrtc()


def test_the_prelude_shifts_no_line():
    text = 'extern "C" __global__ void f() {\n    float top = INFINITY;\n    nonsense;\n}\n'
    with pytest.raises(CompileError, match=r"mine\.cu\(3\): error.*nonsense"):
        compile_cubin(Program(Source("mine.cu", text)), 90)


def test_the_digest_follows_code_and_macros_and_ignores_comments():
    def digest(text: str, **defines: int) -> str:
        return Program(Source("k.cu", text), tuple(defines.items())).digest

    assert digest("int a;  // one") == digest("// two\n\nint a;")
    assert digest("int a;") != digest("int b;")
    assert digest("int a;", BLOCK=32) != digest("int a;", BLOCK=64)
    assert digest('#include "block_reduce.cuh"') != digest("")
