"""Check everything that needs a GPU and write the summary, tests/gpu_run.json: `python tests/gpu_run.py`.

Runs `pytest -m gpu`, and the rungs under each tool of compute-sanitizer. A test without a GPU then
asserts that no kernel has changed since (tests/test_gpu_run.py). Wants two GPUs: with one, the tests
of the second are skipped, and the summary says so.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from softmax_lib import kernels
from softmax_lib.recording import gpu_facts, today, versions
from softmax_lib.registry import rungs

SUMMARY = Path(__file__).with_name("gpu_run.json")
TESTS = ("tests/test_kernels.py", "tests/test_launch.py")
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def run_pytest() -> dict[str, int]:
    """Run the tests marked `gpu`; how many ended in which way."""
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-q", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=SUMMARY.parent.parent)
    print(done.stdout[-3000:])
    counts = re.findall(r"(\d+) (passed|failed|skipped|errors?)", done.stdout.splitlines()[-1])
    return {outcome: int(number) for number, outcome in counts}


def run_sanitizer(tool: str) -> int:
    """Check every rung under one tool of compute-sanitizer; how many errors it reports."""
    check = [sys.executable, "-m", "softmax_lib.cli", "check", "--device", "cuda"]
    command = ["compute-sanitizer", "--tool", tool, "--kernel-regex", "kns=softmax_", *check]
    done = subprocess.run(
        [*command, *(kernel.name for kernel in rungs())], stdout=subprocess.PIPE, text=True
    )
    print(tool, done.stdout[-500:])
    errors = re.findall(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", done.stdout)
    if done.returncode or not errors:
        raise SystemExit(f"compute-sanitizer --tool {tool} did not finish:\n{done.stdout[-3000:]}")
    return sum(int(number) for pair in errors for number in pair if number)


def main() -> None:
    """Run all of it and write the summary."""
    summary = {
        "gpu": gpu_facts(),
        "date": today(),
        "software": versions(),
        "pytest": run_pytest(),
        "sanitizer_errors": {tool: run_sanitizer(tool) for tool in TOOLS},
        "kernels": {name: kernel.digest for name, kernel in kernels.items()},
    }
    SUMMARY.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
