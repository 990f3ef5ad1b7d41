"""Random kernels on a GPU, as a record of what is right:

    PYTHONPATH=.:tests python -m engine.compiled.random_on_gpu compile FOLDER COUNT     anywhere: machine code for sm_90
    PYTHONPATH=.:tests python -m engine.compiled.random_on_gpu run FOLDER OUT.json      on a GPU, of sm_90
    PYTHONPATH=.:tests python -m engine.compiled.random_on_gpu ask OUT.json FIRST LAST  on a GPU, of sm_90: who disagrees?

FOLDER/kernels.tar.xz holds the machine code and the launches. OUT.json has, by seed, the first 16
hexadecimal digits of the SHA-256 of y's bytes, or the error that the launch ended with; of the
sources there is one such digest for all. Asked are a kernel's PTX, its machine code, both by that machine's NVRTC and
nvdisasm, and the GPU: OUT.json has by seed what they say of each of which not all say the same.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from engine.compiled.hard_on_gpu import start
from engine.compiled.machine_runs import run, run_ptx
from engine.compiled.random_kernels import Random, inputs, random_kernel

from softmax_lib.engine.compiled.nvdisasm import disassembler_version
from softmax_lib.engine.source import Program
from softmax_lib.gpu.compile import compile_cubin, nvrtc
from softmax_lib.gpu.facts import gpu_facts, today, versions
from softmax_lib.worklog.files import write_json

ARCH = 90
DIGITS = 16
LAUNCHES = "launches.json"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def digest_of_sources(kernels: list[Random]) -> str:
    """Of all texts: whether a record is of these kernels."""
    return digest("\n".join(random.source.text for random in kernels).encode())


def machine_code(seed: int) -> bytes:
    return compile_cubin(Program(random_kernel(seed).source), ARCH)


def compile_all(folder: Path, count: int) -> None:
    """Machine code of the first `count` kernels, and who compiled what."""
    kernels = [random_kernel(seed) for seed in range(count)]
    with ProcessPoolExecutor() as pool:
        cubins = list(pool.map(machine_code, range(count), chunksize=20))
    compiled = {
        "arch": ARCH,
        "nvrtc": ".".join(map(str, nvrtc().getVersion())),
        "sources": digest_of_sources(kernels),
        "count": count,
    }
    files = {LAUNCHES: json.dumps(compiled).encode()}
    files |= {f"{seed}.cubin": cubin for seed, cubin in enumerate(cubins)}
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / "kernels.tar.xz", "w:xz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def read_all(folder: Path) -> tuple[dict, list[bytes]]:
    """What `compile_all` wrote: the facts, and the machine code by seed."""
    with tarfile.open(folder / "kernels.tar.xz", "r:xz") as archive:
        files = {entry.name: archive.extractfile(entry).read() for entry in archive}
    facts = json.loads(files[LAUNCHES])
    return facts, [files[f"{seed}.cubin"] for seed in range(facts["count"])]


def run_one(random: Random, cubin: bytes) -> str:
    """The digest of y after one launch."""
    import cupy

    module = cupy.cuda.function.Module()
    module.load(cubin)
    x, y = map(cupy.asarray, inputs(random))
    block = random.block if isinstance(random.block, tuple) else (random.block,)
    n, m = random.arguments(x, y)[2:]
    arguments = (x, y, cupy.int32(n), cupy.int32(m))
    module.get_function(random.entry)((random.grid,), block, arguments)
    return digest(y.get().tobytes())


def run_all(folder: Path, out: str) -> None:
    """Every kernel once. A fault ends the context, so that the first one is the last result."""
    compiled, cubins = read_all(folder)
    kernels = [random_kernel(seed) for seed in range(compiled["count"])]
    if digest_of_sources(kernels) != compiled["sources"]:
        raise SystemExit("The machine code is of other kernels: compile them again.")
    results: dict[int, str] = {}
    for random, cubin in zip(kernels, cubins, strict=True):
        try:
            results[random.seed] = run_one(random, cubin)
        except Exception as error:
            results[random.seed] = f"{type(error).__name__}: {error}"
            break
    facts = {"gpu": gpu_facts(), "date": today(), "software": versions(), "compiled": compiled}
    write_json(Path(out), {**facts, "y": results})


# ---- witnesses

HERE = {"ptx": run_ptx, "machine code": run}

ASKED = json.loads(Path(__file__).with_name("random_witnesses.json").read_text(encoding="utf-8"))
"""What came of asking, once."""

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


def ask(out: Path, first: str, last: str) -> None:
    """Ask, and write down."""
    seeds = range(int(first), int(last))
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
            write_json(out, {**facts, "first": seeds.start, "asked": asked, "differ": differ})


if __name__ == "__main__":
    start(
        __doc__, compile=lambda folder, count: compile_all(folder, int(count)), run=run_all, ask=ask
    )
