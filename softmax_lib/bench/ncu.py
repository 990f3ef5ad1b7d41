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
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from softmax_lib.errors import NotAvailable
from softmax_lib.launch import run
from softmax_lib.records.measurement import Case, Profile
from softmax_lib.records.schema import METRICS
from softmax_lib.registry import kernels

_OURS = {theirs: ours for ours, theirs in METRICS.items()}


def profile(cases: Sequence[Case]) -> list[Profile]:
    """Counters of each case, a kernel on a float32 matrix.

    Raises `NotAvailable` when ncu is not there or may not read the counters.
    """
    if shutil.which("ncu") is None:
        raise NotAvailable(
            "ncu (Nsight Compute) is not on the PATH, so no hardware counters are read."
        )
    launches = json.dumps([asdict(case) for case in cases])
    command = ["ncu", "--clock-control", "none", "--csv", "--print-units", "base"]
    command += ["--kernel-name", "regex:^softmax_", "--metrics", ",".join(METRICS.values())]
    command += [sys.executable, "-m", __spec__.name, launches]
    done = subprocess.run(command, capture_output=True, text=True)
    table = done.stdout[done.stdout.find('"ID"') :]
    if done.returncode or not table.startswith('"ID"'):
        complaint = next(
            (line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr.strip()
        )
        raise NotAvailable(f"ncu read no counters: {complaint.removeprefix('==ERROR== ')}")
    return add_up(cases, csv.DictReader(io.StringIO(table)))


def add_up(cases: Sequence[Case], lines: Iterable[dict[str, str]]) -> list[Profile]:
    """ncu numbers the launches from 0; a case is as many of them as its kernel has steps."""
    owner = [index for index, case in enumerate(cases) for _ in kernels[case.provider].steps]
    sums: dict[int, dict[str, int]] = defaultdict(lambda: dict.fromkeys(METRICS, 0))
    for line in lines:
        value = round(float(line["Metric Value"].replace(",", "")))
        sums[owner[int(line["ID"])]][_OURS[line["Metric Name"]]] += value
    return [Profile(case, sums[index]) for index, case in enumerate(cases)]


def launch_all(cases: Sequence[Case]) -> None:
    """What ncu watches: each case's kernel once, on a matrix of normal noise."""
    import torch

    for case in cases:
        run(case.provider, torch.randn(case.shape, device="cuda"), block_size=case.block_size)
        torch.cuda.synchronize()


if __name__ == "__main__":
    launch_all([Case(**facts) for facts in json.loads(sys.argv[1])])
