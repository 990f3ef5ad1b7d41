"""What the compiler made of a kernel, per arch: registers, shared memory, spills, widths, occupancy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from softmax_lib.engine.compiled.code import Code, compile_code, find_code
from softmax_lib.engine.compiled.listing import read_listing
from softmax_lib.engine.compiled.registers import bytes_moved
from softmax_lib.engine.compiler import Resources, nvrtc
from softmax_lib.engine.errors import BlockSizeNotAllowed, NotAvailable
from softmax_lib.engine.grids import REGISTERS_A_BLOCK
from softmax_lib.engine.source import WARP, Program

SHOWN_ARCHS = (75, 80, 90)

# CUDA C++ Programming Guide, technical specifications per compute capability
_THREADS = {75: 1024, 86: 1536, 87: 1536, 89: 1536, 120: 1536, 121: 1536}
_BLOCKS = {75: 16, 86: 16, 87: 16, 89: 24, 120: 24, 121: 24}
_SHARED_KIB = {75: 64, 80: 164, 86: 100, 87: 164, 89: 100, 120: 100, 121: 100}

_ACCESSES = ("LDG", "STG", "LDS", "STS", "LDL", "STL")


@dataclass(frozen=True)
class MachineCode:
    """One entry compiled for one arch.

    `accesses` counts instructions by name and width in bits, {"LDG 128": 3}; it is empty without
    nvdisasm. `blocks_a_multiprocessor` is how many fit at once, and `limit` what keeps more out.
    """

    entry: str
    arch: int
    registers: int
    shared_bytes: int
    spill_bytes: int
    accesses: dict[str, int]
    blocks_a_multiprocessor: int
    limit: str


def inspect(
    program: Program, block_size: int, archs: Sequence[int] = SHOWN_ARCHS
) -> tuple[MachineCode, ...]:
    """Compile `program` for each of `archs` that this NVRTC knows and read what came out.

    Needs no GPU. Raises `NotAvailable` without NVRTC and `CompileError`.
    """
    found = []
    for arch in (arch for arch in archs if arch in nvrtc().supported_archs()):
        widths = _accesses(program, arch)
        for entry in _taken(program, arch):
            blocks, limit = occupancy(arch, block_size, entry.registers, entry.shared_bytes)
            sizes = (entry.registers, entry.shared_bytes, entry.spill_bytes)
            accesses, name = widths.get(entry.entry, {}), program.entry or entry.entry
            found.append(MachineCode(name, arch, *sizes, accesses, blocks, limit))
    return tuple(found)


def check_registers(program: Program, block_size: int) -> None:
    """Raises `BlockSizeNotAllowed` where an H100 or H200 has not the registers for a block of `program`, as NVRTC compiles it.

    Blocks of up to 256 threads always fit. Raises `NotAvailable` without NVRTC and `CompileError`.
    """
    if block_size <= REGISTERS_A_BLOCK // 256:
        return
    for entry in _taken(program, SHOWN_ARCHS[-1]):
        most = warps_of_registers(entry.registers) * WARP
        if block_size > most:
            raise BlockSizeNotAllowed(
                f"{program.entry or entry.entry} has {entry.registers} registers per thread, so that a block takes at "
                f"most {most} threads (sm_{SHOWN_ARCHS[-1]}); this one has {block_size}."
            )


def _came_along(program: Program, arch: int) -> Code | None:
    """The machine code that came along, where this NVRTC would make the same."""
    code = find_code(program, arch)
    return code if code and code.compiler == nvrtc().compiler() else None


def _taken(program: Program, arch: int) -> tuple[Resources, ...]:
    """Of a kernel with a stack only the assembler says how much of it is spilt."""
    code = _came_along(program, arch)
    if not code or any(one.stack_bytes for one in code.cubins.values()):
        return nvrtc().resources(program, arch)
    cubins = sorted(code.cubins.values(), key=lambda one: code.text.index(f".text.{one.kernel}:"))
    return tuple(Resources(one.kernel, one.registers, one.shared_bytes, 0, 0) for one in cubins)


def _accesses(program: Program, arch: int) -> dict[str, dict[str, int]]:
    """By entry: how many memory instructions of each name and width; nothing where nvdisasm cannot say."""
    try:
        code = _came_along(program, arch) or compile_code(program, arch)
        listings = [read_listing(code.text, name) for name in code.cubins]
    except NotAvailable:
        return {}
    found = {}
    for listing in listings:
        accesses = (one for one in listing.statements if one.opcode in _ACCESSES)
        widths = Counter(f"{one.opcode} {8 * bytes_moved(one)}" for one in accesses)
        found[listing.name] = dict(sorted(widths.items()))
    return found


def occupancy(arch: int, block_size: int, registers: int, shared_bytes: int) -> tuple[int, str]:
    """Blocks of `block_size` threads that one multiprocessor holds, and what sets that limit.

    Registers are given to warps by 256, and shared memory has 1 KiB a block for the system from
    sm_80 on (CUDA C++ Programming Guide).
    """
    warps = -(-block_size // WARP)
    system_bytes = 1024 if arch >= 80 else 0
    limits = {
        "threads": _THREADS.get(arch, 2048) // (warps * WARP),
        "blocks": _BLOCKS.get(arch, 32),
        "registers": warps_of_registers(registers) // warps,
        "shared memory": _SHARED_KIB.get(arch, 228) * 1024 // max(1, shared_bytes + system_bytes),
    }
    limit = min(limits, key=lambda name: limits[name])
    return limits[limit], limit


def warps_of_registers(registers: int) -> int:
    """Warps that the registers of a multiprocessor, or of one block, are enough for: as many for each of its four quarters."""
    return 4 * (REGISTERS_A_BLOCK // 4 // (-(-registers * WARP // 256) * 256))
