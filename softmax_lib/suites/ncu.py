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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict

from softmax_lib.records.measurement import Case, Profile
from softmax_lib.records.schema import EXECUTION, METRICS
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.launch import run
from softmax_lib.worklog.registry import kernels

Note = Callable[[str], None]
"""Hears a sentence about what could not be counted."""


def profile(cases: Sequence[Case], note: Note) -> list[Profile]:
    """Counters of each case, a kernel on a float32 matrix.

    ncu empties the caches before each launch; where the launches of a kernel feed each other it
    leaves them. Where ncu counts only what a kernel asked of memory, `note` hears that, and how it
    ran is missing. Raises `NotAvailable` when ncu is not there or may not read the counters.
    """
    if shutil.which("ncu") is None:
        raise NotAvailable(
            "ncu (Nsight Compute) is not on the PATH, so no hardware counters are read."
        )
    alone = [case for case in cases if len(kernels[case.provider].steps) == 1]
    fed = [case for case in cases if case not in alone]
    found: dict[Case, dict[str, int]] = {case: {} for case in cases}
    for some, options in ((alone, ()), (fed, ("--cache-control", "none"))):
        for metrics in (METRICS, EXECUTION) if some else ():
            try:
                for one in _count(some, metrics, *options):
                    found[one.case] |= one.counters
            except NotAvailable as error:
                if metrics is METRICS:
                    raise
                # an older GPU has other names for these
                note(f"how kernels ran was not counted: {error}")
    return [Profile(case, found[case]) for case in cases]


def _count(cases: Sequence[Case], metrics: Mapping[str, str], *options: str) -> list[Profile]:
    """One run of ncu. Raises `NotAvailable` with its own complaint."""
    launches = json.dumps([asdict(case) for case in cases])
    command = [sys.executable, "-m", __spec__.name, launches]
    return add_up(cases, read_counters(command, "^softmax_", metrics, *options), metrics)


def read_counters(
    command: Sequence[str], kernels_like: str, metrics: Mapping[str, str], *options: str
) -> list[dict[str, str]]:
    """What ncu prints while it watches `command`: a line for each launch and metric.

    Kernels are those whose name fits the regular expression `kernels_like`. Raises `NotAvailable`
    with ncu's own complaint.
    """
    told = ["ncu", "--clock-control", "none", "--csv", "--print-units", "base", *options]
    told += ["--kernel-name", f"regex:{kernels_like}", "--metrics", ",".join(metrics.values())]
    done = subprocess.run([*told, *command], capture_output=True, text=True)
    table = done.stdout[done.stdout.find('"ID"') :]
    if done.returncode or not table.startswith('"ID"'):
        complaint = next(
            (line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr.strip()
        )
        raise NotAvailable(f"ncu read no counters: {complaint.removeprefix('==ERROR== ')}")
    return list(csv.DictReader(io.StringIO(table)))


def add_up(
    cases: Sequence[Case], lines: Iterable[dict[str, str]], metrics: Mapping[str, str] = METRICS
) -> list[Profile]:
    """ncu numbers the launches from 0; a case is as many of them as its kernel has steps.

    Raises `NotAvailable` for a metric that this GPU does not have.
    """
    ours = {theirs: name for name, theirs in metrics.items()}
    owner = [index for index, case in enumerate(cases) for _ in kernels[case.provider].steps]
    sums: dict[int, dict[str, int]] = defaultdict(lambda: dict.fromkeys(metrics, 0))
    for line in lines:
        try:
            value = round(float(line["Metric Value"].replace(",", "")))
        except ValueError:
            raise NotAvailable(f"ncu has no {line['Metric Name']} on this GPU.") from None
        sums[owner[int(line["ID"])]][ours[line["Metric Name"]]] += value
    return [Profile(case, sums[index]) for index, case in enumerate(cases)]


def launch_all(cases: Sequence[Case]) -> None:
    """What ncu watches: each case's kernel once, on a matrix of normal noise."""
    import torch

    for case in cases:
        run(case.provider, torch.randn(case.shape, device="cuda"), block_size=case.block_size)
        torch.cuda.synchronize()


if __name__ == "__main__":
    launch_all([Case(**facts) for facts in json.loads(sys.argv[1])])
