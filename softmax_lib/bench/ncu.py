"""Hardware counters of the kernels, read by Nsight Compute (ncu) on a GPU.

`profile` starts ncu on this module as a program, which launches each kernel once.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from softmax_lib.errors import NotAvailable
from softmax_lib.launch import run
from softmax_lib.registry import kernels

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
"""Our names, which `xray` uses too, and ncu's.

Shared requests are instructions with a thread that takes part (sass_inst): inst_executed would count
the ones that every thread of a warp sits out too. Wavefronts carry some noise of the arbiter.
"""


@dataclass(frozen=True)
class Launch:
    """A kernel on a (rows, cols) matrix, to be profiled."""

    kernel: str
    rows: int
    cols: int
    block_size: int


def profile(launches: Sequence[Launch]) -> list[dict]:
    """Counters of each launch: its four facts and one value for each of `METRICS`; steps are added up.

    Raises `NotAvailable` when ncu is not there or may not read the counters.
    """
    if shutil.which("ncu") is None:
        raise NotAvailable(
            "ncu (Nsight Compute) is not on the PATH, so no hardware counters are read."
        )
    command = ["ncu", "--clock-control", "none", "--csv", "--print-units", "base"]
    command += ["--kernel-name", "regex:^softmax_", "--metrics", ",".join(METRICS.values())]
    command += [
        sys.executable,
        "-m",
        __spec__.name,
        json.dumps([vars(launch) for launch in launches]),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    table = done.stdout[done.stdout.find('"ID"') :]
    if done.returncode or not table.startswith('"ID"'):
        complaint = next(
            (line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr.strip()
        )
        raise NotAvailable(f"ncu read no counters: {complaint.removeprefix('==ERROR== ')}")
    return _add_up(launches, csv.DictReader(io.StringIO(table)))


def _add_up(launches: Sequence[Launch], lines: csv.DictReader) -> list[dict]:
    """ncu numbers the launches from 0; one of ours is as many of them as its kernel has steps."""
    owner = [index for index, launch in enumerate(launches) for _ in kernels[launch.kernel].steps]
    name_of = {metric: name for name, metric in METRICS.items()}
    sums: dict[int, dict[str, int]] = defaultdict(lambda: dict.fromkeys(METRICS, 0))
    for line in lines:
        value = round(float(line["Metric Value"].replace(",", "")))
        sums[owner[int(line["ID"])]][name_of[line["Metric Name"]]] += value
    return [{**vars(launch), **sums[index]} for index, launch in enumerate(launches)]


def _launch_all(launches: list[dict]) -> None:
    for launch in launches:
        x = torch.randn(launch["rows"], launch["cols"], device="cuda")
        run(launch["kernel"], x, block_size=launch["block_size"])
        torch.cuda.synchronize()


if __name__ == "__main__":
    _launch_all(json.loads(sys.argv[1]))
