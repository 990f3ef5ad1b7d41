"""What a GPU counts of every kernel of the registry, from the machine code that comes along: book/measurements/counters.

PYTHONPATH=.:tests python -m engine.compiled.rungs_on_gpu compile FOLDER            needs no GPU, but the NVRTC of the listings
PYTHONPATH=.:tests python -m engine.compiled.rungs_on_gpu record FOLDER OUT.json    needs a GPU, ncu and CuPy
PYTHONPATH=.:tests python -m engine.compiled.rungs_on_gpu launch FOLDER             what ncu watches
"""

import json
import sys
from collections import Counter
from pathlib import Path

from engine.compiled.hard_on_gpu import ARCH, COUNTED, both_times, digest, start, sums_of

from softmax_lib.engine.compiled.code import find_code, key_of
from softmax_lib.engine.compiled.counters import COUNTERS
from softmax_lib.gpu.compile import compile_cubin
from softmax_lib.suites.ncu import read_counters
from softmax_lib.worklog.files import write_json
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import kernels

SHAPES = ((64, 4096), (100, 1001), (5, 1030))
"""Rows of whole sectors, one or two blocks of a kernel with a thread per row; rows that each start elsewhere in a
sector, and more of them than a warp has lanes; fewer rows than that, of 8 bytes more than whole sectors."""

SMALL = ((8, 512), (10, 101), (5, 130))
"""The same of a kernel that reads each row again for each of its elements."""

MANIFEST = "manifest.json"
METRICS = {name: COUNTED[name] for name in COUNTERS if name in COUNTED}


def shapes_of(kernel: Kernel) -> tuple[tuple[int, int], ...]:
    """Matrices on which a kernel is counted, where it loads whole vectors with the next length that it takes."""
    shapes = SMALL if kernel.steps[0].grid == "thread an element" else SHAPES
    return tuple((rows, kernel.longer(cols)) for rows, cols in shapes)


def launches() -> list[tuple[Kernel, int, int, int]]:
    """Every kernel on each of its matrices: kernel, rows, cols, block size."""
    return [
        (kernel, rows, cols, kernel.choose_block_size(cols))
        for kernel in kernels.values()
        for rows, cols in shapes_of(kernel)
    ]


def compile_all(folder: Path) -> None:
    """Machine code of each program, and a list of what is launched from which."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    made_by = set()
    for kernel, height, cols, size in launches():
        program = kernel.program(size, cols)
        made_by.add(find_code(program, ARCH).made_by)
        cubin = compile_cubin(program, ARCH)
        name = f"{key_of(program)}.cubin"
        (folder / name).write_bytes(cubin)
        facts = {"kernel": kernel.name, "rows": height, "cols": cols, "block_size": size}
        rows.append(facts | {"program": key_of(program), "cubin": digest(cubin)})
    (one,) = made_by
    write_json(folder / MANIFEST, {"made_by": one, "rows": rows})
    print(f"{len(rows)} launches")


def read_manifest(folder: Path) -> dict:
    """What was compiled; refused where the kernels here are others."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    for (kernel, rows, cols, size), row in zip(launches(), manifest["rows"], strict=True):
        program = kernel.program(size, cols)
        here = (kernel.name, rows, cols, key_of(program))
        if here != (row["kernel"], row["rows"], row["cols"], row["program"]):
            raise SystemExit(f"{kernel.name} is not what was compiled: compile again.")
        if digest((folder / f"{row['program']}.cubin").read_bytes()) != row["cubin"]:
            raise SystemExit(f"{row['program']}.cubin is damaged.")
    return manifest


def launch_all(folder: Path) -> None:
    """Each launch once, in order. CuPy launches nothing else."""
    import cupy
    import numpy as np

    read_manifest(folder)
    for kernel, rows, cols, size in launches():
        module = cupy.cuda.function.Module()
        module.load((folder / f"{key_of(kernel.program(size, cols))}.cubin").read_bytes())
        x = cupy.asarray(noise(rows, cols))
        values = {"x": x, "y": cupy.empty_like(x), "rows": np.int32(rows), "cols": np.int32(cols)}
        values |= {name: cupy.empty(rows, np.float32) for name in kernel.scratch}
        for step in kernel.steps:
            words = tuple(values[name] for name in step.arguments)
            blocks = step.blocks(rows, cols, size)
            module.get_function(step.entry)((blocks, 1, 1), (size, 1, 1), words)
        cupy.cuda.runtime.deviceSynchronize()


def count(folder: Path) -> list[Counter[str]]:
    """Counters of each launch, its steps together, in one run of ncu; what it does not have is left out."""
    counters: list[Counter[str]] = [Counter() for _ in launches()]
    steps = [(n, step.entry) for n, (kernel, *_) in enumerate(launches()) for step in kernel.steps]
    command = [sys.executable, __file__, "launch", str(folder)]
    found = sums_of(read_counters(command, "^softmax_", METRICS), [entry for _, entry in steps])
    for (n, _), counted in zip(steps, found, strict=True):
        counters[n].update(counted)
    return counters


def record(folder: Path, out: str) -> None:
    """Count everything twice and write it: what differs is the GPU's noise."""
    from softmax_lib.gpu.facts import gpu_facts, today, versions

    manifest = read_manifest(folder)
    rows = []
    for row, counted, again in zip(manifest["rows"], count(folder), count(folder), strict=True):
        kept = {name: row[name] for name in ("kernel", "rows", "cols", "block_size", "program")}
        rows.append(kept | both_times(counted, again))
    facts = {"gpu": gpu_facts(), "date": today(), "software": versions()}
    facts |= {"made_by": manifest["made_by"], "arch": ARCH}
    write_json(Path(out), facts | {"rows": rows})
    print(f"{len(rows)} launches counted twice")


if __name__ == "__main__":
    start(__doc__, compile=compile_all, record=record, launch=launch_all)
