"""Random kernels by their PTX, their machine code and a GPU: who disagrees?

    PYTHONPATH=.:tests python -m machine.random_witnesses FIRST LAST OUT.json      on a GPU, of sm_90

runs the kernels from FIRST on, up to but without LAST, with NVRTC and nvdisasm of that machine. OUT.json has by seed the
digests of y of each kernel of which not all are the same, or the error that a witness ended with, and how many there were.
"""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from machine.machine_runs import run, run_ptx
from machine.random_kernels import inputs, random_kernel
from machine.random_on_gpu import ARCH, digest, digest_of_sources, run_one

from softmax_lib.engine.compiled.nvdisasm import disassembler_version
from softmax_lib.engine.source import Program
from softmax_lib.gpu.compile import compile_cubin, nvrtc
from softmax_lib.gpu.facts import gpu_facts, today, versions
from softmax_lib.worklog.files import write_json

HERE = {"ptx": run_ptx, "machine code": run}

RECORD = Path(__file__).with_suffix(".json")
ASKED = json.loads(RECORD.read_text(encoding="utf-8"))
"""What came of it, once."""

MISCOMPILED = {4403, 4605, 4951, 5080, 6387, 7953, 8763, 9543}
"""What the PTX ISA says is not what the assembler of NVRTC 13.0 makes: it folds cvt.rni.u64.f64 of 2^52 + 1 into 2^52 + 2,
and takes the opposite of -32768 in 16 bits for 32768. PTX is right, and the GPU does what the machine code says."""

REFUSED = {2021: "ptx", **dict.fromkeys((4133, 8278, 9608, 9968), "machine code")}
"""More registers than there are rows, and a form that says H0_NH1."""


def witness(seed: int) -> tuple[dict[str, str], bytes]:
    """What each witness but the GPU says of y, and the machine code."""
    kernel = random_kernel(seed)
    found = {}
    for name, how in HERE.items():
        x, y = (np.array(one) for one in inputs(kernel))
        arguments = [x, y, *(int(one) for one in kernel.arguments(x, y)[2:])]
        try:
            how(kernel.source, kernel.entry, kernel.grid, kernel.block, arguments, arch=ARCH)
            found[name] = digest(y.tobytes())
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found, compile_cubin(Program(kernel.source), ARCH)


def ask_all(seeds: range) -> Iterator[tuple[int, dict[str, str]]]:
    """By seed what all witnesses say, the GPU among them."""
    with ProcessPoolExecutor() as pool:
        for seed, (found, cubin) in zip(seeds, pool.map(witness, seeds, chunksize=8), strict=True):
            yield seed, {**found, "gpu": run_one(random_kernel(seed), cubin)}


def main(first: int, last: int, out: Path) -> None:
    """Ask, and write down."""
    seeds = range(first, last)
    facts = {
        "gpu": gpu_facts(),
        "date": today(),
        "software": versions(),
        "nvrtc": ".".join(map(str, nvrtc().getVersion())),
        "nvdisasm": disassembler_version(),
        "sources": digest_of_sources([random_kernel(seed) for seed in seeds]),
    }
    differ = {}
    for asked, (seed, found) in enumerate(ask_all(seeds), 1):
        if len(set(found.values())) > 1:
            differ[seed] = found
        if not asked % 100:
            print(asked, "asked,", len(differ), "differ", flush=True)
            write_json(out, {**facts, "first": first, "asked": asked, "differ": differ})


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
