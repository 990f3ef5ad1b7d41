"""What a GPU counts and computes of the kernels of hard_kernels.cu, from machine code that is made elsewhere.

    PYTHONPATH=.:tests python -m engine.compiled.hard_on_gpu compile FOLDER            needs no GPU
    PYTHONPATH=.:tests python -m engine.compiled.hard_on_gpu record FOLDER OUT.json    needs a GPU, ncu and CuPy
    PYTHONPATH=.:tests python -m engine.compiled.hard_on_gpu launch FOLDER [OUT.npz]   what ncu watches

With NAMES, a regular expression, as one more word the last two take a part of the kernels.
"""

import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from engine.compiled.hard_launches import HARD, Hard, inputs

from softmax_lib.engine.source import Program
from softmax_lib.gpu.compile import compile_cubin, nvrtc
from softmax_lib.records.schema import METRICS
from softmax_lib.suites.ncu import read_counters
from softmax_lib.worklog.files import write_json

ARCH = 90
MANIFEST = "manifest.json"
EVERYTHING = ".*"
_T, _SASS = "l1tex__t_{}_pipe_lsu_mem_{}", "smsp__sass_inst_executed_op_{}"
_KINDS = {"load": "ld", "store": "st", "atomic": "atom", "reduction": "red"}
_OF = {"local": ("load", "store"), "global": ("atomic", "reduction")}
_PIPES = "alu fma fmaheavy fp64 lsu xu uniform cbu adu".split()

_MORE = {
    "instructions": "smsp__inst_executed",
    "thread_instructions": "smsp__thread_inst_executed",
    "thread_instructions_on": "smsp__thread_inst_executed_pred_on",
    **{
        f"{space}_{kind}_{unit}": _T.format(unit, f"{space}_op_{_KINDS[kind]}")
        for space, kinds in _OF.items() for kind in kinds for unit in ("requests", "sectors")
    },
    **{
        f"{space}_{kind}_instructions": _SASS.format(f"{space}_{_KINDS[kind]}")
        for space, kinds in (("local", ("load", "store")), ("global", _KINDS), ("shared", ("atomic",))) for kind in kinds
    },
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared",
    "shared_atomic_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom",
    **{f"shared_{kind}_conflicts": f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{_KINDS[kind]}" for kind in ("load", "store", "atomic")},
    "async_copies": _SASS.format("ldgsts"),
    "generic_loads": "smsp__inst_executed_op_generic_ld",
    "generic_stores": "smsp__inst_executed_op_generic_st",
    "constant_loads": "smsp__inst_executed_op_ldc",
    "branches": _SASS.format("branch"),
}  # fmt: skip
_ALL = _MORE | {f"{pipe}_instructions": f"smsp__inst_executed_pipe_{pipe}" for pipe in _PIPES}
COUNTED = {name: metric for name, metric in METRICS.items() if not name.startswith("dram")} | {
    name: f"{metric}.sum" for name, metric in _ALL.items()
}
"""Counters: our names, and ncu's. Each was looked for among what an H100 (gh100) has."""


def digest(held: bytes) -> str:
    return hashlib.sha256(held).hexdigest()


def compile_all(folder: Path) -> None:
    """Machine code of each kernel, and a list of what it was made from and by."""
    folder.mkdir(parents=True, exist_ok=True)
    kernels = {}
    for name, hard in HARD.items():
        cubin = compile_cubin(Program(hard.source), ARCH)
        (folder / f"{name}.cubin").write_bytes(cubin)
        kernels[name] = {"source": digest(hard.source.text.encode()), "cubin": digest(cubin)}
    version = ".".join(map(str, nvrtc().getVersion()))
    manifest = {"arch": ARCH, "nvrtc": version, "kernels": kernels}
    write_json(folder / MANIFEST, manifest)
    print(f"{len(kernels)} kernels for sm_{ARCH} by NVRTC {version}")


def chosen(folder: Path, names: str) -> list[Hard]:
    """Those of the manifest that fit `names`, whose text and machine code are as it says."""
    kernels = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["kernels"]
    if list(kernels) != list(HARD):
        raise SystemExit(f"{folder} was compiled from other kernels: compile again.")
    found = [hard for name, hard in HARD.items() if re.fullmatch(names, name)]
    for hard in found:
        cubin = (folder / f"{hard.name}.cubin").read_bytes()
        held = {"source": digest(hard.source.text.encode()), "cubin": digest(cubin)}
        if held != kernels[hard.name]:
            raise SystemExit(f"{hard.name} is not what was compiled: compile again.")
    return found


def launch_all(folder: Path, names: str) -> dict[str, np.ndarray]:
    """Each kernel once, in order: what y is afterwards. CuPy launches nothing else."""
    import cupy

    outputs = {}
    for hard in chosen(folder, names):
        module = cupy.cuda.function.Module()
        module.load((folder / f"{hard.name}.cubin").read_bytes())
        x, y = (cupy.asarray(array) for array in inputs(hard))
        words = (x, y, np.int32(hard.rows), np.int32(hard.cols))
        module.get_function(hard.name)(hard.grid, hard.block, words, shared_mem=hard.shared_bytes)
        cupy.cuda.runtime.deviceSynchronize()
        outputs[hard.name] = cupy.asnumpy(y)
    return outputs


def count(folder: Path, names: str, kernels: list[Hard]) -> list[dict[str, int]]:
    """Counters of each of `kernels`, in one run of ncu; what it does not have is left out."""
    command = [sys.executable, __file__, "launch", str(folder), "-", names]
    watched = "|".join(hard.name for hard in kernels)
    lines = read_counters(command, f"^({watched})$", COUNTED)
    return sums_of(lines, [hard.name for hard in kernels])


def sums_of(lines: list[dict[str, str]], names: list[str]) -> list[dict[str, int]]:
    """What ncu printed of launches of kernels with these `names`, by our names; what is zero or not there is left out."""
    ours = {theirs: name for name, theirs in COUNTED.items()}
    counters: list[dict[str, int]] = [{} for _ in names]
    for line in lines:
        number, name = int(line["ID"]), re.split(r"[(<]", line["Kernel Name"])[0].split()[-1]
        if name != names[number]:
            raise SystemExit(f"launch {number} is {name}, not {names[number]}")
        try:
            value = round(float(line["Metric Value"].replace(",", "")))
        except ValueError:  # "n/a"
            continue
        if value:
            counters[number][ours[line["Metric Name"]]] = value
    return counters


def both_times(counted: dict[str, int], again: dict[str, int]) -> dict[str, dict[str, int]]:
    """Counters, and those that were another number the second time: the GPU's noise."""
    changed = {name: again.get(name, 0) for name in counted | again if counted.get(name) != again.get(name)}  # fmt: skip
    return {"counters": counted, "counted_again": changed}


def record(folder: Path, out: str, names: str = EVERYTHING) -> None:
    """Write what the GPU computes, of exact kernels y's digest, and counts, twice: what differs is the GPU's noise."""
    from softmax_lib.gpu.facts import gpu_facts, today, versions

    kernels, outputs = chosen(folder, names), launch_all(folder, names)
    print(f"{len(kernels)} kernels launched", flush=True)
    found = {}
    first, second = count(folder, names, kernels), count(folder, names, kernels)
    for hard, counted, again in zip(kernels, first, second, strict=True):
        y = outputs[hard.name]
        told = {"y": y.tolist()} if hard.approx else {"y_sha256": digest(y.tobytes())}
        found[hard.name] = {**both_times(counted, again), **told}
    counted = {name for one in found.values() for name in one["counters"]}
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    facts = {"gpu": gpu_facts(), "date": today(), "software": versions()}
    facts |= {
        "arch": manifest["arch"],
        "nvrtc_of_the_machine_code": manifest["nvrtc"],
        "not_counted": sorted(COUNTED.keys() - counted),
        "kernels": {name: manifest["kernels"][name] | one for name, one in found.items()},
    }
    write_json(Path(out), facts)
    print(f"{len(found)} kernels, {len(counted)} counters; none of {facts['not_counted']}")


def launch(folder: Path, out: str = "-", names: str = EVERYTHING) -> None:
    """What ncu watches; with a file's name, what y is afterwards is kept."""
    outputs = launch_all(folder, names)
    if out != "-":
        np.savez_compressed(out, **outputs)


def start(doc: str, **verbs: Callable[..., object]) -> None:
    """Do what the command line asks for: one of these, in a folder, with what else there is."""
    verb, *words = sys.argv[1:] or [""]
    if verb not in verbs or not words:
        raise SystemExit(doc)
    verbs[verb](Path(words[0]), *words[1:])


if __name__ == "__main__":
    start(__doc__, compile=compile_all, record=record, launch=launch)
