"""Machine code of a kernel, per arch: what disassembles it, the widths in its names, how many blocks fit."""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import cache
from importlib import metadata
from pathlib import Path

from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.grids import REGISTERS_A_BLOCK
from softmax_lib.engine.source import WARP

SHOWN_ARCHS = (75, 80, 90)

# CUDA C++ Programming Guide, technical specifications per compute capability
_THREADS = {75: 1024, 86: 1536, 87: 1536, 89: 1536, 120: 1536, 121: 1536}
_BLOCKS = {75: 16, 86: 16, 87: 16, 89: 24, 120: 24, 121: 24}
_SHARED_KIB = {75: 64, 80: 164, 86: 100, 87: 164, 89: 100, 120: 100, 121: 100}

_BITS = re.compile(r"\.[US]?(128|64|16|8)\b")


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


@cache
def disassembler() -> Path | None:
    """Where the package nvidia-cuda-nvdisasm has put its program; None without it."""
    try:
        files = metadata.files("nvidia-cuda-nvdisasm") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in files if f.stem == "nvdisasm"), None)


def disassembler_version() -> str:
    """The version of the package that nvdisasm comes from; "" without it."""
    try:
        return metadata.version("nvidia-cuda-nvdisasm")
    except metadata.PackageNotFoundError:
        return ""


def disassemble(cubin: bytes, arch: int, *options: str) -> str:
    """What nvdisasm prints of code for sm_`arch`. Raises `NotAvailable` when it is missing or cannot."""
    program = disassembler()
    if program is None:
        raise NotAvailable(
            "nvdisasm is missing; install it with `pip install nvidia-cuda-nvdisasm`."
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(program), *options, file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotAvailable(f"nvdisasm cannot read code for sm_{arch}: {done.stderr.strip()}")
    return done.stdout


def access_bits(name: str) -> int:
    """Width of a memory instruction by its name: 128 for LDG.E.128, 16 for LDG.E.U16."""
    said = _BITS.search(name)
    return int(said[1]) if said else 32
