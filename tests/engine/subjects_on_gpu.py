"""Launch the kernels of subjects.py on a GPU under ncu and write what it counts: `PYTHONPATH=.:tests python -m engine.subjects_on_gpu`.

Writes tests/engine/subjects_on_gpu.json. A test without a GPU then holds the emulator's counters against it
(records/test_agreement.py). Atomics are left out: their requests have no counter of their own.
"""

import sys
from pathlib import Path

from engine import on_gpu
from engine.launched import launch_on
from engine.subjects import CASES
from engine.test_any_kernel import words_of

from softmax_lib.worklog.files import write_json

SUMMARY = Path(__file__).with_suffix(".json")


def digest(subject):
    """Of the kernel's text: what was counted."""
    return on_gpu.digest(subject.text.encode())


def launch_all():
    """What ncu watches."""
    for subject, dtype in CASES:
        launch_on("cuda", words_of(subject, dtype), subject.arguments(dtype))


def main():
    names = [subject.kernel.partition("<")[0].rpartition("::")[2] for subject, _ in CASES]
    cases = [
        {
            "subject": subject.name, "dtype": dtype, "digest": digest(subject),
            "counters": {name: counted.get(name, 0) for name in on_gpu.NCU},
        }
        for (subject, dtype), counted in zip(CASES, on_gpu.count(__file__, [], names, on_gpu.NCU), strict=True)
    ]  # fmt: skip
    write_json(SUMMARY, on_gpu.facts(cases=cases))


if __name__ == "__main__":
    launch_all() if "launch" in sys.argv else main()
