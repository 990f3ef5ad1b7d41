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

from softmax_lib.gpu.facts import gpu_facts, today, versions
from softmax_lib.records.schema import EXECUTION, METRICS
from softmax_lib.show.drawings.profilers import CAPTURED, MORE
from softmax_lib.worklog.files import write_json

ROOT = Path(__file__).parent.parent
SECONDS = 120
TOOLS = ("ncu", "compute-sanitizer", "softmax-lib")

_SHUFFLE = "-k softmax_shuffle -c 1 --kill yes softmax-lib ladder"
_SECTIONS = "SpeedOfLight MemoryWorkloadAnalysis_Tables ComputeWorkloadAnalysis InstructionStats SchedulerStats WarpStateStats LaunchStats Occupancy SourceCounters"
_MORE = (
    "sass__inst_executed_per_opcode",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum",
)
_METRICS = [*METRICS.values(), *EXECUTION.values(), *_MORE]
_NAMES = "illegal misaligned asserted resources configuration argument image dynamic trap"
_ALL = f"for name in {_NAMES}; do"
_BROKEN = "python tests/broken.py {0} && compute-sanitizer --tool {1} build/{0}".format
COMMANDS = {
    "ncu_speed_of_light": f"ncu --section SpeedOfLight {_SHUFFLE}",
    "ncu_memory": f"ncu --section MemoryWorkloadAnalysis_Tables --print-details all {_SHUFFLE}",
    "ncu_warp_states": f"ncu --section WarpStateStats --print-details all {_SHUFFLE}",
    "ncu_occupancy": f"ncu --section Occupancy {_SHUFFLE}",
    "ncu_source": "ncu --set full --import-source yes --source-folders kernels --page source --print-source cuda,sass "
    f"{_SHUFFLE}",
    "ncu_sections": f"for section in {_SECTIONS}; do echo $section:; ncu --section $section --list-metrics; done",
    "ncu_counters": f"ncu --print-units base --metrics {','.join(_METRICS)} {_SHUFFLE}",
    "errors_cuda": f"{_ALL} python tests/broken.py $name & done; wait; {_ALL} echo $name; build/$name; done",
    "errors_torch": f"{_ALL} python tests/broken.py $name torch & done; wait; tail -n +1 build/*.torch",
    "errors_hang": "python tests/broken.py hang && timeout 10 build/hang; echo status $?",
    "errors_first": "XDG_CACHE_HOME=$(mktemp -d) python tests/broken.py first",
    **{f"errors_{name}": _BROKEN(name, "memcheck") for name in ("illegal", "misaligned", "dynamic", "trap")},
    "errors_barrier": _BROKEN("barrier", "synccheck"),
    "errors_race": _BROKEN("race", "racecheck"),
    "errors_unwritten": _BROKEN("unwritten", "initcheck"),
}  # fmt: skip
"""What bash runs in the root of the checkout, by the name of what is kept."""
_OURS = "|".join([*_METRICS, *MORE.values(), "[a-z_]*issue_stalled_barrier[a-z_.]*"])
KEPT = {
    "ncu_memory": rf" +(Table Name|L2 Hit Rate For Loads|Average Bytes Per Sector For Global Loads|{_OURS}) .*",
    "ncu_source": r"\d+ {2,}\S.*?\s\d+ +\d+(?= )",
    "errors_torch": r"(torch\.|Search|CUDA kernel|For debugging|Compile with).*",
    "ncu_sections": rf"(\w+:|{_OURS})$",
}
"""Of what prints thousands of lines: which part of which lines is kept, as regular expressions."""


def capture(command: str, kept: str = ".*") -> str:
    """The command line and all that it prints, or what `kept` fits of its lines. Raises where it takes too long."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=SECONDS,
    )  # fmt: skip
    return f"$ {command}\n{shortened(once(without_paths(done.stdout)), kept)}"


def once(text: str) -> str:
    """Without reports of compute-sanitizer and assertions that differ from one before in thread and address alone."""
    parts = re.findall(r"={9} COMPUTE-SANITIZER\n|(?:={9} .*\n)+={9}\n|.*\n", text)
    found: dict[object, str] = {}
    for i, part in enumerate(parts):
        alike = re.sub(r"thread: \[[\d,]+\]", "", "".join(part.splitlines()[:2]))
        is_report = part.endswith("=========\n") or "Assertion" in part
        found.setdefault(alike if is_report else i, part)
    return "".join(found.values())


def shortened(text: str, kept: str) -> str:
    """The beginnings of lines that the regular expression `kept` fits."""
    found = [re.match(kept, line) for line in text.splitlines()]
    return "".join(f"{one[0]}\n" for one in found if one)


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
        text = capture(command, KEPT.get(name, ".*"))
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    write_json(folder / "provenance.json", provenance())


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
