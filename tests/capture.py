"""Run on a GPU what pages show the output of, and keep it: `python tests/capture.py [FOLDER]`.

Writes NAME.txt for each of `COMMANDS` (the command line, then its output as it came, machine paths replaced) and
provenance.json into book/measurements/captured, or into FOLDER. Needs ncu, compute-sanitizer and `softmax-lib` on the PATH.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from softmax_lib.drawings.captures import CAPTURED
from softmax_lib.drawings.ncu_names import MORE
from softmax_lib.files import write_json
from softmax_lib.gpu.facts import gpu_facts, today, versions
from softmax_lib.records.schema import EXECUTION, METRICS

ROOT = Path(__file__).parent.parent
SECONDS = 120
TOOLS = ("ncu", "compute-sanitizer", "softmax-lib")

_SHUFFLE = "-k softmax_shuffle -c 1 --kill yes softmax-lib ladder"
_METRICS = dict.fromkeys([*METRICS.values(), *EXECUTION.values(), *MORE.values()])
_STALLS = "issue_stalled_[a-z_]*"
_OF_MEMORY = (
    "Bytes Per Sector For Global Loads|Hit Rate For Loads|requests_pipe_lsu_mem_global_op_ld.sum |"
    "sectors_pipe_lsu_mem_global_op_ld.sum |conflicts_pipe_lsu_mem_shared_op_ld.sum |dram__bytes_read.sum "
)
COMMANDS = {
    "ncu_speed_of_light": f"ncu --section SpeedOfLight {_SHUFFLE}",
    "ncu_memory": f"ncu --section MemoryWorkloadAnalysis_Tables --print-details all {_SHUFFLE} | grep -E '{_OF_MEMORY}'",
    "ncu_warp_states": f"ncu --section WarpStateStats --print-details all {_SHUFFLE}",
    "ncu_occupancy": f"ncu --section Occupancy {_SHUFFLE}",
    "ncu_source": "ncu --section SourceCounters --import-source yes --source-folders kernels --page source "
    f"--print-source cuda,sass {_SHUFFLE} | cut -c1-102 | grep -E '^[0-9]+ +[^ ].* [0-9]+ '",
    "ncu_counters": f"ncu --print-units base --metrics {','.join(_METRICS)} {_SHUFFLE}",
    "ncu_sections": f"ncu --set full --print-details all --print-metric-name name {_SHUFFLE} | "
    f"grep -E 'Section:|Table Name|({'|'.join(_METRICS)}|{_STALLS}) '",
}
"""What bash runs in the root of the checkout, by the name of what is kept."""


def capture(command: str) -> str:
    """The command line and all that it prints. Raises where it takes too long."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=SECONDS,
    )  # fmt: skip
    return f"$ {command}\n{without_paths(done.stdout)}"


def without_paths(text: str) -> str:
    """Nothing of this machine: its folders, the numbers of processes, and spaces at the ends of lines."""
    for folder, name in ((Path(sys.prefix), "…"), (ROOT, "."), (Path.home(), "~")):
        text = re.sub(rf"{re.escape(str(folder))}(?=[/\s:])", name, text)
    text = re.sub(
        r"(process|PID:?|pid=?) ?\d+|^\[\d+\](?=.*@)",
        lambda at: f"{at[1]} 1" if at[1] else "[1]",
        text,
        flags=re.MULTILINE,
    )
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def provenance() -> dict:
    """Of all that is kept: GPU, driver, CUDA, date, and the version of each tool."""
    gpu = gpu_facts()
    tools = {name: _version(name) for name in TOOLS[:2]}
    cuda = versions()["cuda"]
    return {"gpu": gpu["name"], "driver": gpu["driver"], "cuda": cuda, "date": today(), "tools": tools}  # fmt: skip


def _version(tool: str) -> str:
    told = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    return re.search(r"[Vv]ersion (\d+\.\d+\.\d+)", told)[1]


def main(folder: Path = CAPTURED) -> None:
    """All of them, and where they come from."""
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        sys.exit(f"Not on the PATH: {', '.join(missing)}.")
    os.makedirs(folder, exist_ok=True)
    for name, command in COMMANDS.items():
        print(name, flush=True)
        (folder / f"{name}.txt").write_text(capture(command), encoding="utf-8")
    write_json(folder / "provenance.json", provenance())


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
