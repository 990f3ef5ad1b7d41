"""Random kernels on a GPU, as a record of what is right:

    PYTHONPATH=.:tests python -m machine.random_on_gpu compile FOLDER COUNT     anywhere: machine code for sm_90
    PYTHONPATH=.:tests python -m machine.random_on_gpu run FOLDER OUT.json      on a GPU, of sm_90

FOLDER/kernels.tar.xz holds the machine code and the launches. OUT.json has, by seed, the first 16
hexadecimal digits of the SHA-256 of y's bytes, or the error that the launch ended with; of the
sources there is one such digest for all.
"""

import hashlib
import io
import json
import tarfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from machine.hard_on_gpu import start
from machine.random_kernels import Random, inputs, random_kernel

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


if __name__ == "__main__":
    start(__doc__, compile=lambda folder, count: compile_all(folder, int(count)), run=run_all)
