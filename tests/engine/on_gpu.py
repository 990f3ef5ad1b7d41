"""What scripts share that record what a GPU counts and computes, of kernels whose machine code is made elsewhere.

    PYTHONPATH=.:tests python -m engine.compiled.hard_on_gpu compile FOLDER            needs no GPU
    PYTHONPATH=.:tests python -m engine.compiled.hard_on_gpu record FOLDER OUT.json    needs a GPU, ncu and CuPy
    PYTHONPATH=.:tests python -m engine.compiled.hard_on_gpu launch FOLDER             what ncu watches

and so rungs_on_gpu and fast_on_gpu.
"""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from softmax_lib.gpu.compile import nvrtc
from softmax_lib.records.schema import METRICS
from softmax_lib.suites.ncu import read_counters
from softmax_lib.worklog.files import write_json

ARCH = 90
MANIFEST = "manifest.json"
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
NCU = {name: metric for name, metric in METRICS.items() if not name.startswith("dram")}
COUNTED = NCU | {name: f"{metric}.sum" for name, metric in _ALL.items()}
"""Counters: our names, and ncu's. Each was looked for among what an H100 (gh100) has."""


def digest(held: bytes) -> str:
    return hashlib.sha256(held).hexdigest()


def nvrtc_version() -> str:
    return ".".join(map(str, nvrtc().getVersion()))


def facts(**more: Any) -> dict[str, Any]:
    """Where and when a record is made."""
    from softmax_lib.gpu.facts import gpu_facts, today, versions

    return {"gpu": gpu_facts(), "date": today(), "software": versions()} | more


# ---- machine code on its way to a GPU


def carry(folder: Path, code: Mapping[str, bytes], of: Any) -> None:
    """Write machine code by name, and a list of what it was made from and by; `of` says of which kernels."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, cubin in code.items():
        (folder / f"{name}.cubin").write_bytes(cubin)
    digests = {name: digest(cubin) for name, cubin in code.items()}
    write_json(folder / MANIFEST, {"nvrtc": nvrtc_version(), "of": of, "cubins": digests})
    print(f"{len(code)} programs for sm_{ARCH} by NVRTC {nvrtc_version()}")


def carried(folder: Path, of: Any) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Machine code by name, and the list; refused where it is damaged, or not `of` the kernels that are here."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    code = {name: (folder / f"{name}.cubin").read_bytes() for name in manifest["cubins"]}
    if manifest["of"] != of or {n: digest(one) for n, one in code.items()} != manifest["cubins"]:
        raise SystemExit(f"{folder} is of other kernels, or damaged: compile again.")
    return code, manifest


def function(cubin: bytes, entry: str) -> Any:
    """A kernel of machine code, as CuPy launches it."""
    import cupy

    module = cupy.cuda.function.Module()
    module.load(cubin)
    return module.get_function(entry)


# ---- what ncu counts


def count(
    script: str, words: Sequence[str], names: Sequence[str], metrics: Mapping[str, str] = COUNTED
) -> list[dict[str, int]]:
    """Counters of each launch of `script launch WORDS`, of kernels with these names, in one run of ncu.

    What is zero or not there is left out.
    """
    command = [sys.executable, script, "launch", *words]
    ours = {theirs: name for name, theirs in metrics.items()}
    counters: list[dict[str, int]] = [{} for _ in names]
    for line in read_counters(command, f"^({'|'.join(sorted(set(names)))})$", metrics):
        number = int(line["ID"])
        name = re.split(r"[(<]", line["Kernel Name"])[0].split()[-1].rpartition("::")[2]
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


def count_twice(*words: Any) -> list[dict[str, dict[str, int]]]:
    """What `count` gives, recorded twice."""
    return [both_times(*pair) for pair in zip(count(*words), count(*words), strict=True)]


def start(doc: str, **verbs: Callable[..., object]) -> None:
    """Do what the command line asks for: one of these, in a folder, with what else there is."""
    verb, *words = sys.argv[1:] or [""]
    if verb not in verbs or not words:
        raise SystemExit(doc)
    verbs[verb](Path(words[0]), *words[1:])
