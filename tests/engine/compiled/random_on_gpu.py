"""Random kernels on a GPU of sm_90.

    PYTHONPATH=.:tests python -m engine.compiled.random_on_gpu compile FOLDER COUNT     anywhere: machine code
    PYTHONPATH=.:tests python -m engine.compiled.random_on_gpu run FOLDER OUT.json      on a GPU
    PYTHONPATH=.:tests python -m engine.compiled.random_on_gpu ask OUT.json FIRST LAST  on a GPU: who disagrees?

OUT.json has, by seed, the first 16 hexadecimal digits of the SHA-256 of y's bytes, or the error that the launch ended
with; of the sources there is one such digest for all. Asked are a kernel's PTX, its machine code, both by that machine's
NVRTC and nvdisasm, and the GPU: OUT.json has by seed what they say of each of which not all say the same.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from engine import on_gpu
from engine.compiled.machine_runs import run, run_ptx
from engine.compiled.random_kernels import Random, inputs, random_kernel
from engine.on_gpu import ARCH, carried, carry, facts, function, nvrtc_version, start

from softmax_lib.engine.compiled.code import disassembler_version
from softmax_lib.engine.source import Program, Source
from softmax_lib.gpu.compile import compile_cubin
from softmax_lib.worklog.files import write_json


def digest(data: bytes) -> str:
    return on_gpu.digest(data)[:16]


def digest_of_sources(kernels: list[Random]) -> str:
    """Of all texts: whether a record is of these kernels."""
    return digest("\n".join(random.source.text for random in kernels).encode())


def machine_code(seed: int) -> bytes:
    return compile_cubin(Program(random_kernel(seed).source), ARCH)


def compile_all(folder: Path, count: str) -> None:
    """Machine code of the first `count` kernels."""
    seeds = range(int(count))
    with ProcessPoolExecutor() as pool:
        cubins = pool.map(machine_code, seeds, chunksize=20)
        code = {str(seed): cubin for seed, cubin in zip(seeds, cubins, strict=True)}
    carry(folder, code, digest_of_sources([random_kernel(seed) for seed in seeds]))


def run_one(random: Random, cubin: bytes) -> str:
    """The digest of y after one launch."""
    import cupy

    x, y = map(cupy.asarray, inputs(random))
    block = random.block if isinstance(random.block, tuple) else (random.block,)
    n, m = random.arguments(x, y)[2:]
    arguments = (x, y, cupy.int32(n), cupy.int32(m))
    function(cubin, random.entry)((random.grid,), block, arguments)
    return digest(y.get().tobytes())


def run_all(folder: Path, out: str) -> None:
    """Every kernel once. A fault ends the context, so that the first one is the last result."""
    count = len(list(folder.glob("*.cubin")))
    kernels = [random_kernel(seed) for seed in range(count)]
    sources = digest_of_sources(kernels)
    code, manifest = carried(folder, sources)
    results: dict[int, str] = {}
    for random in kernels:
        try:
            results[random.seed] = run_one(random, code[str(random.seed)])
        except Exception as error:
            results[random.seed] = f"{type(error).__name__}: {error}"
            break
    compiled = {"arch": ARCH, "nvrtc": manifest["nvrtc"], "sources": sources, "count": count}
    write_json(Path(out), facts(compiled=compiled, y=results))


# ---- witnesses

HERE = {"ptx": run_ptx, "machine code": run}

ASKED = json.loads(Path(__file__).with_name("random_witnesses.json").read_text(encoding="utf-8"))
"""What came of asking, once."""

MISCOMPILED = {4403, 4605, 4951, 5080, 6387, 7953, 8763, 9543}
"""What the PTX ISA says is not what the assembler of NVRTC 13.0 makes: it folds cvt.rni.u64.f64 of 2^52 + 1 into 2^52 + 2,
and takes the opposite of -32768 in 16 bits for 32768. PTX is right, and the GPU does what the machine code says."""

REFUSED = {2021: "ptx", **dict.fromkeys((4133, 8278, 9608, 9968), "machine code")}
"""More registers than there are rows, and a form that says H0_NH1."""


def digest_by(how: Callable, kernel: Random, source: Source, **more: int) -> str:
    """The digest of y after a kernel's launch in one of these ways; it is in a `source`, alone or with others."""
    x, y = inputs(kernel)
    how(source, kernel.entry, kernel.grid, kernel.block, kernel.arguments(x, y), **more)
    return digest(y.tobytes())


def witness(seed: int) -> tuple[dict[str, str], bytes]:
    """What each witness but the GPU says of y, and the machine code."""
    kernel = random_kernel(seed)
    found = {}
    for name, how in HERE.items():
        try:
            found[name] = digest_by(how, kernel, kernel.source, arch=ARCH)
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
    about = facts(
        nvrtc=nvrtc_version(),
        nvdisasm=disassembler_version(),
        sources=digest_of_sources([random_kernel(seed) for seed in seeds]),
    )
    differ = {}
    for asked, (seed, found) in enumerate(ask_all(seeds), 1):
        if len(set(found.values())) > 1:
            differ[seed] = found
        if not asked % 100:
            print(asked, "asked,", len(differ), "differ", flush=True)
            write_json(out, {**about, "first": seeds.start, "asked": asked, "differ": differ})


if __name__ == "__main__":
    start(__doc__, compile=compile_all, run=run_all, ask=ask)
