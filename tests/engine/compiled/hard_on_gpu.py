"""What a GPU counts and computes of the kernels of hard_kernels.cu; engine/on_gpu.py says how it is called."""

from pathlib import Path

import numpy as np
from engine.compiled.hard_launches import HARD, inputs
from engine.on_gpu import ARCH, COUNTED, carried, carry, count_twice, digest, facts, function, start

from softmax_lib.engine.source import Program
from softmax_lib.gpu.compile import compile_cubin
from softmax_lib.worklog.files import write_json

TEXTS = {name: digest(hard.source.text.encode()) for name, hard in HARD.items()}


def compile_all(folder: Path) -> None:
    """Machine code of each kernel."""
    carry(folder, {n: compile_cubin(Program(hard.source), ARCH) for n, hard in HARD.items()}, TEXTS)


def launch_all(folder: Path) -> dict[str, np.ndarray]:
    """Each kernel once, in order: what y is afterwards. CuPy launches nothing else."""
    import cupy

    code, _ = carried(folder, TEXTS)
    outputs = {}
    for name, hard in HARD.items():
        x, y = (cupy.asarray(array) for array in inputs(hard))
        words = (x, y, np.int32(hard.rows), np.int32(hard.cols))
        function(code[name], name)(hard.grid, hard.block, words)
        outputs[name] = cupy.asnumpy(y)
    return outputs


def record(folder: Path, out: str) -> None:
    """Write what the GPU computes, of exact kernels y's digest, and counts, twice: what differs is the GPU's noise."""
    _, manifest = carried(folder, TEXTS)
    outputs, found = launch_all(folder), {}
    counters = count_twice(__file__, [str(folder)], list(HARD))
    for (name, hard), counted in zip(HARD.items(), counters, strict=True):
        y = outputs[name]
        told = {"y": y.tolist()} if hard.approx else {"y_sha256": digest(y.tobytes())}
        found[name] = {"source": TEXTS[name], "cubin": manifest["cubins"][name], **counted, **told}
    counted = {name for one in counters for name in one["counters"]}
    about = {"arch": ARCH, "nvrtc_of_the_machine_code": manifest["nvrtc"]}
    missing = sorted(COUNTED.keys() - counted)
    write_json(Path(out), facts(**about, not_counted=missing, kernels=found))
    print(f"{len(found)} kernels, {len(counted)} counters; none of {missing}")


if __name__ == "__main__":
    start(__doc__, compile=compile_all, record=record, launch=launch_all)
