"""Kernels of these tests run by their machine code or PTX, and counted by the names that the recorders use."""

import numpy as np
from emulated import emulate

from softmax_lib import emulator
from softmax_lib.engine.compiled import running
from softmax_lib.engine.compiled.launching import Counted, launch
from softmax_lib.engine.compiled.listing import read_listing
from softmax_lib.engine.compiled.memory import Memory
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.ptx.program import translate
from softmax_lib.engine.geometry import Geometry
from softmax_lib.engine.grids import axes_of
from softmax_lib.engine.source import Program, Source
from softmax_lib.worklog.reference import noise


def listing(*lines, places=()):
    """What nvdisasm would print of a kernel of these statements, which all come from `places`; a label ends in a colon."""
    text = [
        "//-- .text.made --",
        "made:",
        *(f'//## File "{file}", line {line}' for file, line in places),
    ]
    at = 0
    for line in map(str.strip, lines):
        text.append(line if line.endswith(":") else f"/*{at:04x}*/ {line} ;")
        at += 0 if line.endswith(":") else 16
    return read_listing("\n".join([*text, ""]), "made")


def together(sources) -> Source:
    """One source of all of these, each in a namespace: compilers and the disassembler start once for them."""
    includes, parts = {}, []
    for number, source in enumerate(sources):
        lines = source.text.splitlines()
        includes |= {line: None for line in lines if line.startswith("#include")}
        own = ["" if line in includes else line for line in lines]
        undone = [
            f"#undef {line.split()[1].partition('(')[0]}"
            for line in own
            if line.startswith("#define")
        ]
        parts += [f"namespace of_{number} {{", f'#line 1 "{source.file_name}"', *own, *undone, "}"]
    return Source("together.cu", "\n".join([*includes, *parts, ""]))


def run(
    source, entry, grid, block, arguments, *, arch=90, shared_bytes=0, decoder=decode_program
) -> Counted:
    """Launch `entry` of a source on arrays, which it writes in place, and whole numbers of 32 bits."""
    decoded = decoder(Program(source), arch, entry)
    return launch_decoded(decoded, grid, block, arguments, shared_bytes)


def launch_decoded(decoded, grid, block, arguments, shared_bytes=0) -> Counted:
    """The same of a kernel that is decoded."""
    memory = Memory()
    placed = [
        memory.place(f"array {n}", one)
        if isinstance(one, np.ndarray)
        else one.to_bytes(4, "little")
        for n, one in enumerate(arguments)
    ]
    geometry = Geometry(axes_of(grid, "grid"), axes_of(block, "block"), shared_bytes=shared_bytes)
    return launch(decoded, geometry, placed, memory)


def requests(counted, of) -> list[int]:
    """How often each place in memory was asked for by a statement that is `of` a kind, in the order of the text."""
    return [
        int(counted.counts[site]["requests"].sum())
        for site, number in enumerate(counted.decoded.sites)
        if of(counted.decoded.statements[number])
    ]


def run_ptx(*words, **how) -> Counted:
    """The same of the PTX."""
    return run(*words, **how, decoder=translate)


def run_source(source, entry, grid, block, arguments, *, shared_bytes=0):
    """The same of the source, as the emulator runs it."""
    emulator.launch(source, grid, block, arguments, kernel=entry, shared_bytes=shared_bytes)


WITNESSES = {"source": run_source, "ptx": run_ptx, "machine code": run}
"""Who says what a kernel computes."""


EMULATOR_ULPS = 8
"""Of y, against the emulator, whose exponential function is that of the C library: a GPU's own has an error of 2."""


def assert_agreed(kernel, rows, cols):
    """A kernel of the book gives the same bits by PTX and by machine code, and nearly these by the emulator."""
    x = noise(rows, cols)
    block_size = kernel.settle_block_size(None, cols)
    source, ptx, code = (np.full_like(x, np.nan) for _ in range(3))
    emulate(kernel, x, source, block_size)
    running.run(*kernel.launches(x, ptx, block_size), arch=90, decoder=translate)
    running.run(*kernel.launches(x, code, block_size), arch=90)
    assert (ptx.view(np.uint32) == code.view(np.uint32)).all(), (rows, cols)
    assert (np.isnan(ptx) == np.isnan(source)).all(), (rows, cols)
    apart = np.abs(source - ptx) / np.spacing(np.maximum(np.abs(ptx), 1e-37))
    assert np.nanmax(apart, initial=0) <= EMULATOR_ULPS, (rows, cols)
