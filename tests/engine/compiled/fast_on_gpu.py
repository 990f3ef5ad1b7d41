"""What a GPU counts and computes of the kernels behind `softmax()` and of cluster_kernels.cu, from machine code that is
made elsewhere; and the sectors of copies to shared memory.

    PYTHONPATH=.:tests python -m engine.compiled.fast_on_gpu compile FOLDER            needs no GPU
    PYTHONPATH=.:tests python -m engine.compiled.fast_on_gpu record FOLDER OUT.json    needs a GPU and ncu
    PYTHONPATH=.:tests python -m engine.compiled.fast_on_gpu launch FOLDER WHAT        what ncu watches

WHAT is softmaxes, clusters or copies.
"""

import ctypes
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from engine.compiled.cluster_launches import LAUNCHES, arrays, copies, copy_spec, spec_of
from engine.compiled.fast_cases import CASES
from engine.compiled.hard_on_gpu import COUNTED, both_times, digest, start, sums_of

from softmax_lib.gpu.compile import compile_kernel, nvrtc
from softmax_lib.ops import binaries
from softmax_lib.ops.xray import arrays_for
from softmax_lib.suites.ncu import read_counters
from softmax_lib.worklog.files import write_json

ARCH = 90
SAMPLES = 64
"""Numbers of a result that are kept."""


def compile_all(folder: Path) -> None:
    """Machine code of each kernel, of `softmax()` where it looks for it once $XDG_CACHE_HOME is `folder`."""
    os.environ["XDG_CACHE_HOME"] = str(folder.resolve())
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        binaries.cubin(case.outline.build, ARCH)
    for name in LAUNCHES:
        spec = spec_of(name, *arrays())
        code, entry = compile_kernel(spec.program, ARCH)
        (folder / f"{spec.kernel}.code").write_bytes(entry.encode() + b"\n" + code)
    version = ".".join(map(str, nvrtc().getVersion()))
    (folder / "made_by.json").write_text(json.dumps(f"NVRTC {version}"), encoding="utf-8")
    print(
        f"{len(CASES)} softmaxes and {len(LAUNCHES)} more kernels for sm_{ARCH} by NVRTC {version}"
    )


def launch_softmaxes(folder: Path) -> dict[str, np.ndarray]:
    """Each case once, in order: the bits of its result. Nothing else is launched that ncu is told of."""
    os.environ["XDG_CACHE_HOME"] = str(folder.resolve())
    import torch

    from softmax_lib.ops.plans import compute

    found = {}
    for case in CASES:
        kept = list(folder.rglob("*.cubin"))
        first, second, result = (
            None if one is None else torch.from_numpy(one).cuda().view(getattr(torch, case.task.of))
            for one in arrays_for(case.task, case.inner)
        )
        compute(first, second, result, 1, case.task.log)
        torch.cuda.synchronize()
        if list(folder.rglob("*.cubin")) != kept:
            raise SystemExit(f"{case.name} was compiled here: its machine code was not carried")
        bits = result.view(torch.int32 if case.task.size == 4 else torch.int16)
        found[case.name] = bits.cpu().numpy()
    return found


def launch_clusters(folder: Path) -> dict[str, np.ndarray]:
    """The kernels of cluster_kernels.cu: what y is afterwards."""
    import cupy
    import torch

    from softmax_lib.gpu.driver import launch_function

    found = {}
    for name in LAUNCHES:
        x, y = (torch.from_numpy(one).cuda() for one in arrays())
        spec = spec_of(name, x, y)
        entry, _, code = (folder / f"{spec.kernel}.code").read_bytes().partition(b"\n")
        module = cupy.cuda.function.Module()
        module.load(code)
        words = [
            ctypes.create_string_buffer(one.data_ptr().to_bytes(8, "little"), 8) for one in (x, y)
        ]
        launch_function(module.get_function(entry.decode()).ptr, spec, 0, words)
        torch.cuda.synchronize()
        found[name] = y.cpu().numpy()
    return found


def launch_copies(folder: Path) -> dict[str, np.ndarray]:
    """Each request of `copies`; what one instruction counts does not depend on who compiled it."""
    import torch

    from softmax_lib.gpu.calls import launch

    x, y = (torch.from_numpy(one).cuda() for one in arrays())
    for copy in copies():
        spec = copy_spec(x, y, *copy)
        launch(spec.source, spec.grid, spec.block, spec.arguments, kernel=spec.kernel)
    torch.cuda.synchronize()
    return {}


WAYS = {"softmaxes": launch_softmaxes, "clusters": launch_clusters, "copies": launch_copies}


def count(
    folder: Path, what: str, names: list[str], metrics: Mapping[str, str] = COUNTED
) -> list[dict[str, int]]:
    """Counters of each launch, in one run of ncu; what is zero or not there is left out."""
    command = [sys.executable, __file__, "launch", str(folder), what]
    return sums_of(read_counters(command, f"^({'|'.join(sorted(set(names)))})$", metrics), names)


def twice(folder: Path, what: str, names: list[str]) -> Iterator[dict[str, dict[str, int]]]:
    """The same, recorded twice."""
    pairs = zip(count(folder, what, names), count(folder, what, names), strict=True)
    return itertools.starmap(both_times, pairs)


def record(folder: Path, out: str) -> None:
    """Write what the GPU counts, and computes: as a digest, and some of it."""
    from softmax_lib.gpu.facts import gpu_facts, today, versions

    facts = {"gpu": gpu_facts(), "date": today(), "software": versions(), "arch": ARCH}
    facts["machine_code_by"] = json.loads((folder / "made_by.json").read_text(encoding="utf-8"))
    results = launch_softmaxes(folder)
    softmaxes = twice(folder, "softmaxes", [f"softmax_{case.stem}" for case in CASES])
    found = {
        case.name: counters | {
            "result_sha256": digest(results[case.name].tobytes()),
            "result": results[case.name].ravel()[:: max(1, results[case.name].size // SAMPLES)][:SAMPLES].tolist(),
        }
        for case, counters in zip(CASES, softmaxes, strict=True)
    }  # fmt: skip
    results = launch_clusters(folder)
    clusters = twice(folder, "clusters", [kernel for kernel, *_ in LAUNCHES.values()])
    facts["kernels"] = {
        name: counters | {"y_sha256": digest(results[name].tobytes())}
        for name, counters in zip(LAUNCHES, clusters, strict=True)
    }
    sectors = {"global_load_sectors": COUNTED["global_load_sectors"]}
    of_copies = count(folder, "copies", ["copies"] * len(copies()), sectors)
    facts["copies"] = [one["global_load_sectors"] for one in of_copies]
    write_json(Path(out), facts | {"cases": found})
    print(f"{len(found)} cases, {len(LAUNCHES)} kernels and {len(of_copies)} copies recorded")


if __name__ == "__main__":
    start(
        __doc__, compile=compile_all, record=record, launch=lambda folder, what: WAYS[what](folder)
    )
