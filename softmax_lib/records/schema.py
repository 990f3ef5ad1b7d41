"""What a record must hold: checked when it is read, so that a damaged one is refused in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from softmax_lib.records.measurement import KNOWN, PEERS
from softmax_lib.records.reading import LARGEST, is_possible
from softmax_lib.worklog.registry import with_copy

SCHEMA = 2

METRICS = {
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}
"""Hardware counters: our names, which `xray` uses too, and ncu's.

Shared requests are instructions with a thread that takes part (sass_inst): inst_executed would count
the ones that every thread of a warp sits out too. Wavefronts carry some noise of the arbiter.
"""

STALLS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
    "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
"""ncu's reasons why a warp does not issue in a cycle; in "selected" it does."""

EXECUTION = {
    "duration_ns": "gpu__time_duration.sum",
    "instructions": "smsp__inst_executed.sum",
    "instructions_issued": "smsp__inst_issued.sum",
    "scheduler_cycles": "smsp__cycles_active.sum",
    "multiprocessor_cycles": "sm__cycles_active.sum",
    "warp_cycles": "sm__warps_active.sum",
    "global_load_hit_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    **{f"stalled_{reason}": f"smsp__warps_issue_stalled_{reason}.sum" for reason in STALLS},
}
"""Counters of how a kernel ran, beside those of what it asked of memory: ours, and ncu's."""

_CONTENT: dict[str, Any] = {
    "schema": int, "gpu": dict, "date": str, "software": dict, "clocks": dict, "notes": list, "protocol": dict,
    "kernels": dict, "skipped": dict, "rows": list, "counters": list, "probes": list,
}  # fmt: skip
_GPU: dict[str, Any] = {
    "name": str, "compute_capability": str, "multiprocessors": int, "l2_bytes": int, "memory_bytes": int,
    "driver": str,
}  # fmt: skip
_ROW: dict[str, Any] = {
    "provider": str, "rows": int, "cols": int, "dtype": str, "block_size": int | None, "l2": str,
    "data": str, "step": str, "median_us": int | float, "low_us": int | float, "high_us": int | float, "copy_us": int | float,
    "host_us": int | float | None,
}  # fmt: skip
_COUNTERS: dict[str, Any] = {
    "kernel": str, "rows": int, "cols": int, "block_size": int, **dict.fromkeys(METRICS, int),
}  # fmt: skip
_PROBE: dict[str, Any] = {"name": str, "at": dict, "found": dict}
_PROBES = {
    "block starts": ({"blocks", "threads"}, {"us"}),
    "latency": ({"kib"}, {"cycles", "ns"}),
    "read bandwidth": ({"threads", "loads", "width", "bytes"}, {"gb_per_s"}),
    "scattered request": ({"lines", "stores"}, {"cycles"}),
}
"""What each probe has among `at` and `found`."""

LEAST = 1e-9
"""No number of a record that is measured is smaller; those that are counted may be 0."""


LONGEST_WORD = 100
"""Letters that are shown of a GPU's name, a date or a version."""


def rules() -> dict[str, Any]:
    """All of this as JSON has it, for what reads a record where Python does not run; `find_fault` says in which order."""
    shapes = {"content": _CONTENT, "gpu": _GPU, "row": _ROW, "counters": _COUNTERS, "probe": _PROBE}
    return {
        "schema": SCHEMA,
        "least": LEAST,
        "largest": LARGEST,
        "longest_word": LONGEST_WORD,
        "shapes": {
            shape: {
                name: [one.__name__ for one in get_args(kind) or (kind,)]
                for name, kind in wanted.items()
            }
            for shape, wanted in shapes.items()
        },
        "execution": {name: ["int"] for name in EXECUTION},
        "counted": [*METRICS, *EXECUTION],
        "probes": {name: [sorted(part) for part in parts] for name, parts in _PROBES.items()},
        "known": {name: list(options) for name, options in KNOWN.items()},
        "kernels": {
            name: {
                "block_sizes": list(kernel.block_sizes),
                "steps": list(kernel.entries),
                "digest": kernel.digest,
            }
            for name, kernel in with_copy.items()
        },
        "peers": list(PEERS),
    }


def find_fault(content: Any) -> str | None:
    """The first thing wrong with a record's content, in words; None when there is nothing."""
    return next(_faults(content), None)


def _faults(content: Any) -> Iterator[str]:
    """Each looks only at what those before it have let pass, so that the first alone can be told."""
    if not isinstance(content, dict):
        yield "it is no JSON object"
    yield from _mistyped(content, _CONTENT, "the record")
    yield from _mistyped(content["gpu"], _GPU, "gpu")
    yield from _impossible(content["gpu"], "gpu")
    yield from _no_texts(content)
    for where, wanted in {"rows": _ROW, "counters": _COUNTERS, "probes": _PROBE}.items():
        for at, entry in _numbered(content, where):
            ran = isinstance(entry, dict) and entry.keys() & EXECUTION.keys()
            more = dict.fromkeys(EXECUTION, int) if ran and where == "counters" else {}
            yield from _mistyped(entry, {**wanted, **more}, at)
            yield from _impossible(entry, at)
        for at, entry in _numbered(content, where):
            yield from _odd_probe(entry, at) if where == "probes" else _unknown(entry, at)
    for at, note in _numbered(content, "notes"):
        if not isinstance(note, str):
            yield f"{at} is no text"


def _numbered(content: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    """What a sentence calls each entry of a list, and the entry."""
    return ((f"{where}[{index}]", entry) for index, entry in enumerate(content[where]))


def _mistyped(entry: Any, wanted: Mapping[str, Any], where: str) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"{where} is no JSON object"
    for name, kind in wanted.items():
        if name not in entry:
            yield f"{where} lacks {name}"
        if isinstance(entry[name], bool) or not isinstance(entry[name], kind):
            yield f"{name} of {where} is {entry[name]!r:.40}, which has the wrong type"
    for unknown in sorted(entry.keys() - wanted.keys()):
        yield f"{where} has {unknown}, which is not known here"


def _impossible(entry: Mapping[str, Any], where: str) -> Iterator[str]:
    for name, value in entry.items():
        least = 0 if name in METRICS or name in EXECUTION else LEAST
        if isinstance(value, int | float) and not is_possible(value, least):
            yield f"{name} of {where} is {value!r:.40}, which cannot be"
    for name, options in KNOWN.items():
        if entry.get(name, options[0]) not in options:
            yield f"{name} of {where} is {entry[name]!r:.40} and not one of {', '.join(options)}"
    low, median, high = (entry.get(name, 0) for name in ("low_us", "median_us", "high_us"))
    if not low <= median <= high:
        yield f"median_us of {where} is {median}, which is not between its quartiles"
    version = entry.get("compute_capability", "9.0")
    if not re.fullmatch(r"\d\d?\.\d", version):
        yield f"compute_capability of {where} is {version!r:.40}, which cannot be"


def _no_texts(content: Mapping[str, Any]) -> Iterator[str]:
    """Versions, digests, reasons of `skipped`, and answers of the driver among `clocks` that are no text."""
    parts = {name: content[name] for name in ("software", "kernels", "skipped")}
    clocks = {f"clocks {when}": told for when, told in content["clocks"].items()}
    for where, entry in {**parts, **clocks}.items():
        if not isinstance(entry, dict):
            yield f"{where} is no JSON object"
        for name, value in entry.items():
            if not isinstance(value, str):
                yield f"{name:.40} of {where} is no text"


def _unknown(entry: Mapping[str, Any], at: str) -> Iterator[str]:
    """A kernel or peer that is not known here, or a block size or step that it has not."""
    who = "provider" if "provider" in entry else "kernel"
    name, size, step = entry[who], entry["block_size"], entry.get("step", "")
    kernel = with_copy.get(name)
    if kernel is None and (name not in PEERS or who == "kernel"):
        yield f"{who} of {at} is {name:.40}, which is not known here"
    if size not in (kernel.block_sizes if kernel else (None,)):
        yield f"block_size of {at} is {size}, which {name} is not launched with"
    if step and (kernel is None or step not in kernel.entries):
        yield f"step of {at} is {step:.40}, which {name} does not have"


def _odd_probe(probe: Mapping[str, Any], at: str) -> Iterator[str]:
    """A probe that is not known, or whose settings or findings lack one or are no numbers that can be."""
    if probe["name"] not in _PROBES:
        yield f"{at} is {probe['name']:.40}, which is not known here"
    for part, least, wanted in zip(
        ("at", "found"), (0, LEAST), _PROBES[probe["name"]], strict=True
    ):
        for lacking in sorted(wanted - probe[part].keys()):
            yield f"{part} of {at} lacks {lacking}"
        for name, value in probe[part].items():
            if not is_possible(value, least):
                yield f"{name:.40} of {at} is {value!r:.40}, which cannot be"
