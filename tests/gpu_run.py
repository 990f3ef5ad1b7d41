"""Check everything that needs a GPU and write the summary, tests/gpu_run.json: `python tests/gpu_run.py`.

Runs the tests marked `gpu`, the compilations with that machine's NVRTC, and the rungs under each
tool of compute-sanitizer. A test without a GPU then asserts that no kernel has changed since
(test_gpu_run.py). Wants two GPUs: with one, the tests of the second are counted as skipped.
"""

import json
import re
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

from softmax_lib import kernels
from softmax_lib.gpu.facts import gpu_facts, today, versions
from softmax_lib.registry import rungs

SUMMARY = Path(__file__).with_name("gpu_run.json")
TESTS = ("kernels", "launch", "compile", "benchmark", "block_size_explorer")
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def run_pytest() -> dict[str, int]:
    """Run the tests marked `gpu` or `nvrtc`; how many ended in which way."""
    command = [sys.executable, "-m", "pytest", "-m", "gpu or nvrtc", "-q", "-p", "no:cacheprovider"]
    command += [f"tests/test_{name}.py" for name in TESTS]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=SUMMARY.parent.parent)
    print(done.stdout[-3000:])
    counts = re.findall(r"(\d+) (passed|failed|skipped|errors?)", done.stdout.splitlines()[-1])
    return {outcome: int(number) for number, outcome in counts}


def run_sanitizer(tool: str) -> int:
    """Check every rung under one tool of compute-sanitizer; how many errors it reports."""
    # initcheck has to see torch's kernels too, which fill the matrices
    ours = [] if tool == "initcheck" else ["--kernel-name", "kernel_substring=softmax_"]
    check = [sys.executable, "-m", "softmax_lib.cli", "check", "--device", "cuda"]
    command = ["compute-sanitizer", "--tool", tool, *ours, *check, *(k.name for k in rungs())]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    errors = re.search(r"SUMMARY: (\d+) (errors?|hazards?)", done.stdout)
    if done.returncode or not errors:
        raise SystemExit(f"compute-sanitizer --tool {tool} did not finish:\n{done.stdout[-3000:]}")
    print(tool, done.stdout[:2000] if int(errors[1]) else "found nothing")
    return int(errors[1])


def main() -> None:
    """Run all of it and write the summary."""
    summary = {
        "gpu": gpu_facts(),
        "date": today(),
        "software": versions(),
        "pytest": run_pytest(),
        "sanitizer_errors": dict(zip(TOOLS, ThreadPool().map(run_sanitizer, TOOLS), strict=True)),
        "kernels": {name: kernel.digest for name, kernel in kernels.items()},
    }
    SUMMARY.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
