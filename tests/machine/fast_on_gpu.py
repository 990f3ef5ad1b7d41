"""What a GPU counts and computes of the kernels behind `softmax()`, from machine code that is made elsewhere.

python tests/machine/fast_on_gpu.py compile FOLDER            needs no GPU
python tests/machine/fast_on_gpu.py record FOLDER OUT.json    needs a GPU and ncu
python tests/machine/fast_on_gpu.py launch FOLDER             what ncu watches
"""

import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from fast_cases import CASES  # noqa: E402
from hard_on_gpu import COUNTED, lines_of, sums_of  # noqa: E402

from softmax_lib.bench.ncu import read_counters  # noqa: E402
from softmax_lib.gpu.compile import nvrtc  # noqa: E402
from softmax_lib.ops import binaries  # noqa: E402
from softmax_lib.xrays.fast import arrays_for  # noqa: E402

ARCH = 90
SAMPLES = 64
"""Numbers of a result that are kept."""


def compile_all(folder: Path) -> None:
    """Machine code of each kernel, where softmax() looks for it once $XDG_CACHE_HOME is `folder`."""
    os.environ["XDG_CACHE_HOME"] = str(folder.resolve())
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        binaries.cubin(case.outline.build, ARCH)
    version = ".".join(map(str, nvrtc().getVersion()))
    (folder / "made_by.json").write_text(json.dumps(f"NVRTC {version}"), encoding="utf-8")
    print(f"{len(CASES)} kernels for sm_{ARCH} by NVRTC {version}")


def launch_all(folder: Path) -> dict[str, np.ndarray]:
    """Each case once, in order: the bits of its result. softmax() launches nothing else that ncu is told of."""
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


def count(folder: Path) -> list[dict[str, int]]:
    """Counters of each case, in one run of ncu; what is zero or not there is left out."""
    command = [sys.executable, __file__, "launch", str(folder)]
    return sums_of(
        read_counters(command, "^softmax_", COUNTED), [f"softmax_{case.stem}" for case in CASES]
    )


def record(folder: Path, out: Path) -> None:
    """Write what the GPU computes, as a digest and some of it, and what it counts, twice: what differs is its noise."""
    from softmax_lib.gpu.facts import gpu_facts, today, versions

    results = launch_all(folder)
    first, second = count(folder), count(folder)
    found = {}
    for case, counted, again in zip(CASES, first, second, strict=True):
        bits = results[case.name]
        changed = {name: again.get(name, 0) for name in counted | again if counted.get(name) != again.get(name)}  # fmt: skip
        found[case.name] = {
            "counters": counted, "counted_again": changed,
            "result_sha256": hashlib.sha256(bits.tobytes()).hexdigest(),
            "result": bits.ravel()[:: max(1, bits.size // SAMPLES)][:SAMPLES].tolist(),
        }  # fmt: skip
    facts = {"gpu": gpu_facts(), "date": today(), "software": versions(), "arch": ARCH}
    facts["machine_code_by"] = json.loads((folder / "made_by.json").read_text(encoding="utf-8"))
    out.write_text(lines_of(facts | {"cases": found}, "cases"), encoding="utf-8")
    print(f"{len(found)} cases recorded")


def main(words: list[str]) -> None:
    match words:
        case ["compile", folder]:
            compile_all(Path(folder))
        case ["record", folder, out]:
            record(Path(folder), Path(out))
        case ["launch", folder]:
            launch_all(Path(folder))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
