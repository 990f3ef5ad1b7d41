"""Every compilation that the registry allows, for every arch that NVRTC lists, needs no GPU."""

import sys

import pytest

from softmax_lib import kernels
from softmax_lib.errors import CompileError, NotAvailable
from softmax_lib.gpu.compile import compile_cubin, nvrtc, resources, supported_archs
from softmax_lib.registry import REGISTERS_A_BLOCK
from softmax_lib.source import Program, Source

ARCHS = supported_archs()

pytestmark = pytest.mark.nvrtc


def compilations():
    for kernel in kernels.values():
        largest_block: dict[str, tuple] = {}
        for (block_size, bucket), program in kernel.programs().items():
            largest_block[program.digest] = (block_size, bucket, program)
        for block_size, bucket, program in largest_block.values():
            size = f"-{block_size}" if program.defines else ""
            yield pytest.param(
                program, block_size, id=kernel.name + size + (f"-{bucket}" if bucket else "")
            )


def test_the_archs_reach_from_turing_to_hopper_and_on():
    assert {75, 80, 90} <= set(ARCHS)


@pytest.mark.parametrize(("program", "block_size"), list(compilations()))
def test_it_compiles_without_a_spill_and_a_block_fits(program, block_size, record_property):
    for arch in ARCHS:
        entries = resources(program, arch)
        shown = (f"{found.registers}/{found.shared_bytes}" for found in entries)
        record_property(f"sm_{arch}", ",".join(shown))
        for found in entries:
            assert found.spill_bytes == found.stack_bytes == 0, (arch, found)
            assert found.registers * block_size <= REGISTERS_A_BLOCK, (arch, found)
            assert found.shared_bytes <= 48 * 1024, (arch, found)


def test_a_cubin_is_a_whole_elf_file_and_comes_from_the_cache_the_second_time(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = kernels["fusion"].program(256, 1000)
    first = compile_cubin(program, 90)
    assert first.startswith(b"\x7fELF")
    (path,) = tmp_path.rglob("*.cubin")
    path.write_bytes(b"from the cache")
    assert compile_cubin(program, 90) == b"from the cache"


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
