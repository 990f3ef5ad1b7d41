"""What the compiler made of a kernel: widths in the machine code, registers, and how many blocks fit."""

import pytest

from softmax_lib import kernels
from softmax_lib.engine.compiled.inspection import inspect
from softmax_lib.engine.compiled.nvdisasm import occupancy

pytestmark = pytest.mark.nvrtc


@pytest.mark.parametrize("arch", [75, 80, 90])
def test_vector_loads_are_128_bits_wide_in_the_machine_code(arch):
    (scalar,) = inspect(kernels["shuffle"].program(256, 4096), 256, [arch])
    (vector,) = inspect(kernels["float4"].program(256, 4096), 256, [arch])
    assert set(scalar.accesses) == {"LDG 32", "LDS 32", "STG 32", "STS 32"}
    assert vector.accesses["LDG 128"] >= 2
    assert vector.accesses["STG 128"] >= 1


def test_a_row_in_registers_stays_there():
    (code,) = inspect(kernels["fusion"].program(1024, 32768), 1024, [75])
    assert code.registers <= 64
    assert code.spill_bytes == 0
    assert not {"LDL 32", "STL 32"} & set(code.accesses)
    assert (code.blocks_a_multiprocessor, code.limit) == (1, "threads")


@pytest.mark.parametrize(
    ("arch", "block_size", "registers", "shared_bytes", "wanted"),
    [
        (90, 1024, 32, 0, (2, "threads")),
        (90, 1024, 64, 0, (1, "registers")),
        (90, 32, 16, 0, (32, "blocks")),
        (90, 128, 32, 50 * 1024, (4, "shared memory")),
        (75, 1024, 32, 0, (1, "threads")),
    ],
)
def test_occupancy_is_what_the_scarcest_resource_allows(
    arch, block_size, registers, shared_bytes, wanted
):
    assert occupancy(arch, block_size, registers, shared_bytes) == wanted
