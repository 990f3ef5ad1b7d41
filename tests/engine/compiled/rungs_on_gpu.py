"""What a GPU counts of every kernel of the registry, from the machine code that comes along: book/measurements/counters.

engine/on_gpu.py says how it is called; `compile` needs the NVRTC of the listings.
"""

from collections import Counter
from pathlib import Path

from engine.on_gpu import ARCH, COUNTED, both_times, carried, carry, count, facts, function, start

from softmax_lib.engine.compiled.code import find_code, key_of
from softmax_lib.engine.compiled.counters import COUNTERS
from softmax_lib.gpu.compile import compile_cubin
from softmax_lib.worklog.files import write_json
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import kernels

SHAPES = ((64, 4096), (100, 1001), (5, 1030))
"""Rows of whole sectors, one or two blocks of a kernel with a thread per row; rows that each start elsewhere in a
sector, and more of them than a warp has lanes; fewer rows than that, of 8 bytes more than whole sectors."""

SMALL = ((8, 512), (10, 101), (5, 130))
"""The same of a kernel that reads each row again for each of its elements."""

METRICS = {name: COUNTED[name] for name in COUNTERS if name in COUNTED}


def launches() -> list[tuple[Kernel, int, int, int]]:
    """Every kernel on each of its matrices, with the next length that it takes: kernel, rows, cols, block size."""
    found = []
    for kernel in kernels.values():
        for rows, least in SMALL if kernel.steps[0].grid == "thread an element" else SHAPES:
            cols = kernel.longer(least)
            found.append((kernel, rows, cols, kernel.choose_block_size(cols)))
    return found


def rows_of_record() -> list[dict]:
    """What is launched: of each launch the facts that a record has."""
    return [
        {"kernel": kernel.name, "rows": rows, "cols": cols, "block_size": size, "program": key_of(kernel.program(size, cols))}
        for kernel, rows, cols, size in launches()
    ]  # fmt: skip


def compile_all(folder: Path) -> None:
    """Machine code of each program."""
    programs = [kernel.program(size, cols) for kernel, _, cols, size in launches()]
    carry(folder, {key_of(one): compile_cubin(one, ARCH) for one in programs}, rows_of_record())


def launch_all(folder: Path) -> None:
    """Each launch once, in order. CuPy launches nothing else."""
    import cupy
    import numpy as np

    code, manifest = carried(folder, rows_of_record())
    for (kernel, rows, cols, size), row in zip(launches(), manifest["of"], strict=True):
        x = cupy.asarray(noise(rows, cols))
        values = {"x": x, "y": cupy.empty_like(x), "rows": np.int32(rows), "cols": np.int32(cols)}
        values |= {name: cupy.empty(rows, np.float32) for name in kernel.scratch}
        for step in kernel.steps:
            words = tuple(values[name] for name in step.arguments)
            blocks = step.blocks(rows, cols, size)
            function(code[row["program"]], step.entry)((blocks, 1, 1), (size, 1, 1), words)
        cupy.cuda.runtime.deviceSynchronize()


def count_all(folder: Path) -> list[Counter[str]]:
    """Counters of each launch, its steps together."""
    counters: list[Counter[str]] = [Counter() for _ in launches()]
    steps = [(n, step.entry) for n, (kernel, *_) in enumerate(launches()) for step in kernel.steps]
    found = count(__file__, [str(folder)], [entry for _, entry in steps], METRICS)
    for (n, _), counted in zip(steps, found, strict=True):
        counters[n].update(counted)
    return counters


def record(folder: Path, out: str) -> None:
    """Count everything twice and write it: what differs is the GPU's noise."""
    (made_by,) = {find_code(k.program(size, cols), ARCH).made_by for k, _, cols, size in launches()}
    _, manifest = carried(folder, rows_of_record())
    pairs = zip(manifest["of"], count_all(folder), count_all(folder), strict=True)
    rows = [row | both_times(counted, again) for row, counted, again in pairs]
    write_json(Path(out), facts(made_by=made_by, arch=ARCH, rows=rows))
    print(f"{len(rows)} launches counted twice")


if __name__ == "__main__":
    start(__doc__, compile=compile_all, record=record, launch=launch_all)
