"""What a GPU counts and computes of the kernels behind `softmax()` and of cluster_kernels.cu, and the sectors of copies
to shared memory.

engine/on_gpu.py says how it is called; `launch FOLDER` wants a word more: softmaxes, clusters or copies.
"""

import ctypes
import os
from pathlib import Path

import numpy as np
from engine.compiled.fast_cases import CASES, LAUNCHES, SOURCE, arrays, copies, copy_spec, spec_of
from engine.on_gpu import (
    ARCH,
    COUNTED,
    carried,
    carry,
    count,
    count_twice,
    digest,
    facts,
    function,
    start,
)

from softmax_lib.engine.compiled.cubin import called, kernels_of
from softmax_lib.gpu.compile import compile_kernel
from softmax_lib.ops import binaries
from softmax_lib.ops.xray import arrays_for
from softmax_lib.worklog.files import write_json

SAMPLES = 64
"""Numbers of a result that are kept."""


def compile_all(folder: Path) -> None:
    """Machine code of each kernel, of `softmax()` where it looks for it once $XDG_CACHE_HOME is `folder`."""
    os.environ["XDG_CACHE_HOME"] = str(folder.resolve())
    for case in CASES:
        binaries.cubin(case.outline.build, ARCH)
    specs = {spec.kernel: spec for spec in (spec_of(name, *arrays()) for name in LAUNCHES)}
    code = {name: compile_kernel(spec.program, ARCH)[0] for name, spec in specs.items()}
    carry(folder, code, digest(SOURCE.text.encode()))


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
    import torch

    from softmax_lib.gpu.calls import launch_function

    code, _ = carried(folder, digest(SOURCE.text.encode()))
    found = {}
    for name in LAUNCHES:
        x, y = (torch.from_numpy(one).cuda() for one in arrays())
        spec = spec_of(name, x, y)
        cubin = code[spec.kernel]
        entry = function(cubin, called(spec.kernel, kernels_of(cubin)))
        words = [
            ctypes.create_string_buffer(one.data_ptr().to_bytes(8, "little"), 8) for one in (x, y)
        ]
        launch_function(entry.ptr, spec, 0, words)
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


def record(folder: Path, out: str) -> None:
    """Write what the GPU counts, and computes: as a digest, and some of it."""
    of_softmaxes, of_clusters = launch_softmaxes(folder), launch_clusters(folder)
    names = [f"softmax_{case.outline.build.stem}" for case in CASES]
    cases = {
        case.name: counters | {
            "result_sha256": digest(result.tobytes()),
            "result": result.ravel()[:: max(1, result.size // SAMPLES)][:SAMPLES].tolist(),
        }
        for case, counters in zip(CASES, count_twice(__file__, [str(folder), "softmaxes"], names), strict=True)
        for result in [of_softmaxes[case.name]]
    }  # fmt: skip
    names = [kernel for kernel, *_ in LAUNCHES.values()]
    counted = count_twice(__file__, [str(folder), "clusters"], names)
    clusters = {
        name: counters | {"y_sha256": digest(of_clusters[name].tobytes())}
        for name, counters in zip(LAUNCHES, counted, strict=True)
    }
    names, sectors = ["copies"] * len(copies()), "global_load_sectors"
    counted = count(__file__, [str(folder), "copies"], names, {sectors: COUNTED[sectors]})
    of_copies = [counters[sectors] for counters in counted]
    _, manifest = carried(folder, digest(SOURCE.text.encode()))
    made_by = {"arch": ARCH, "machine_code_by": f"NVRTC {manifest['nvrtc']}"}
    write_json(Path(out), facts(**made_by, kernels=clusters, copies=of_copies, cases=cases))
    print(f"{len(cases)} cases, {len(clusters)} kernels and {len(of_copies)} copies recorded")


if __name__ == "__main__":
    start(
        __doc__, compile=compile_all, record=record, launch=lambda folder, what: WAYS[what](folder)
    )
