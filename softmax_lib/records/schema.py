"""What a record must hold: checked when it is read, so that a damaged one is refused in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from softmax_lib.records.measurement import KNOWN

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


def find_fault(content: Any) -> str | None:
    """The first thing wrong with a record's content, in words; None when there is nothing."""
    if not isinstance(content, dict):
        return "it is no JSON object"
    return (
        _mistyped(content, _CONTENT, "the record")
        or _mistyped(content["gpu"], _GPU, "gpu")
        or _first_no_text(content)
        or _first_fault(content["rows"], _ROW, "rows")
        or _first_fault(content["counters"], _COUNTERS, "counters", dict.fromkeys(EXECUTION, int))
        or _first_fault(content["probes"], _PROBE, "probes")
        or _first_odd_number(content["probes"])
        or _first_odd_note(content["notes"])
    )


def _first_odd_number(probes: list[dict[str, dict]]) -> str | None:
    """The first setting or finding of a probe that is no number, or a finding that cannot be."""
    for index, probe in enumerate(probes):
        for part, least in (("at", 0), ("found", 1e-9)):
            for name, value in probe[part].items():
                number = isinstance(value, int | float) and not isinstance(value, bool)
                if not (number and least <= value and math.isfinite(value)):
                    return f"{name:.40} of probes[{index}] is {value!r:.40}, which cannot be"
    return None


def _first_odd_note(notes: list) -> str | None:
    odd = [index for index, note in enumerate(notes) if not isinstance(note, str)]
    return f"notes[{odd[0]}] is no text" if odd else None


def _first_no_text(content: Mapping[str, Any]) -> str | None:
    """The first reason of `skipped`, or answer of the driver among `clocks`, that is no text."""
    clocks = {f"clocks {when}": told for when, told in content["clocks"].items()}
    for where, entry in {"skipped": content["skipped"], **clocks}.items():
        if not isinstance(entry, dict):
            return f"{where} is no JSON object"
        for name, value in entry.items():
            if not isinstance(value, str):
                return f"{name:.40} of {where} is no text"
    return None


def _first_fault(
    entries: list,
    wanted: Mapping[str, Any],
    name: str,
    optional: Mapping[str, Any] = MappingProxyType({}),
) -> str | None:
    for index, entry in enumerate(entries):
        where = f"{name}[{index}]"
        there = optional if isinstance(entry, dict) and entry.keys() & optional.keys() else {}
        fault = _mistyped(entry, {**wanted, **there}, where) or _impossible(entry, where)
        if fault:
            return fault
    return None


def _mistyped(entry: Any, wanted: Mapping[str, Any], where: str) -> str | None:
    if not isinstance(entry, dict):
        return f"{where} is no JSON object"
    for name, kind in wanted.items():
        if name not in entry:
            return f"{where} lacks {name}"
        if isinstance(entry[name], bool) or not isinstance(entry[name], kind):
            return f"{name} of {where} is {entry[name]!r:.40}, which has the wrong type"
    unknown = sorted(entry.keys() - wanted.keys())
    return f"{where} has {unknown[0]}, which is not known here" if unknown else None


def _impossible(entry: Mapping[str, Any], where: str) -> str | None:
    for name, value in entry.items():
        least = 0 if name in METRICS or name in EXECUTION else 1e-9
        if isinstance(value, int | float) and not (least <= value and math.isfinite(value)):
            return f"{name} of {where} is {value}, which cannot be"
    for name, options in KNOWN.items():
        if entry.get(name, options[0]) not in options:
            return f"{name} of {where} is {entry[name]!r:.40} and not one of {', '.join(options)}"
    return None
