"""Launch the kernels of subjects.py on a GPU under ncu and write what it counts: `PYTHONPATH=.:tests python -m engine.subjects_on_gpu`.

Writes tests/engine/subjects_on_gpu.json. A test without a GPU then holds the emulator's counters against it
(records/test_agreement.py). Atomics are left out: their requests have no counter of their own.
"""

import hashlib
import sys
from pathlib import Path

from engine.launch_on import launch_on
from engine.subjects import CASES
from engine.test_any_kernel import words_of

from softmax_lib.gpu.facts import gpu_facts, today, versions
from softmax_lib.records.schema import METRICS
from softmax_lib.suites.ncu import read_counters
from softmax_lib.worklog.files import write_json

SUMMARY = Path(__file__).with_suffix(".json")
NAMES = sorted({subject.kernel.partition("<")[0].rpartition("::")[2] for subject, _ in CASES})
COUNTED = {name: metric for name, metric in METRICS.items() if not name.startswith("dram")}


def digest(subject):
    """Of the kernel's text: what was counted."""
    return hashlib.sha256(subject.text.encode()).hexdigest()


def launch_all():
    """What ncu watches."""
    for subject, dtype in CASES:
        launch_on("cuda", words_of(subject, dtype), subject.arguments(dtype))


def main():
    lines = read_counters([sys.executable, __file__, "launch"], f"^({'|'.join(NAMES)})$", COUNTED)
    ours = {theirs: name for name, theirs in COUNTED.items()}
    counters = [{} for _ in CASES]
    for line in lines:
        value = round(float(line["Metric Value"].replace(",", "")))
        counters[int(line["ID"])][ours[line["Metric Name"]]] = value
    cases = [
        {"subject": subject.name, "dtype": dtype, "digest": digest(subject), "counters": counted}
        for (subject, dtype), counted in zip(CASES, counters, strict=True)
    ]
    facts = {"gpu": gpu_facts(), "date": today(), "software": versions()}
    write_json(SUMMARY, {**facts, "cases": cases})


if __name__ == "__main__":
    launch_all() if "launch" in sys.argv else main()
