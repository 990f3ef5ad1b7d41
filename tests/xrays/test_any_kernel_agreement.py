"""The counters of the kernels in subjects.py are those that ncu read on an H200: tests/subjects_on_gpu.json."""

import json

import pytest
from full_tables import some
from subjects import CASES
from subjects_on_gpu import SUMMARY, digest
from test_any_kernel import words_of

from softmax_lib.worklog.xray import xray_launch

RECORDED = json.loads(SUMMARY.read_text(encoding="utf-8"))["cases"]

# What the source as it is written does not know, each with what it changes: all other counters are equal.
UNKNOWN = {
    "matmul": {  # NVRTC loads neighbours in a tile at once
        "shared_load_requests", "shared_load_wavefronts",
    },
    "stencil": {"global_load_sectors"},  # lanes at the edge leave out loads of a line that others make
    "last block": {  # g++ looks at the thread's number before it reads the flag
        "shared_load_requests", "shared_load_wavefronts",
    },
    "cluster": {  # what a block reads of another's shared memory is counted elsewhere
        "shared_load_requests", "shared_load_wavefronts",
    },
    "row across blocks": {"global_load_requests", "global_load_sectors"},  # turns of a waiting loop
}  # fmt: skip

# What depends on time, in machine code too.
WAITS = "row across blocks"


NAMED = [
    pytest.param(case, recorded, id=f"{case[0].name}-{case[1]}")
    for case, recorded in zip(CASES, RECORDED, strict=True)
]


@pytest.mark.parametrize("path", [None, "written"])
@pytest.mark.parametrize(("case", "recorded"), some(NAMED, every=4))
def test_counters_are_those_of_an_h200(case, recorded, path):
    subject, dtype = case
    assert recorded["digest"] == digest(subject), "record it again: tests/subjects_on_gpu.py"
    found = xray_launch(args=subject.arguments(dtype), **words_of(subject, dtype), path=path)
    assert found.path == (path or "machine")
    differ = {name for name, count in recorded["counters"].items() if found.total[name] != count}
    is_known = path == "written" or subject.name == WAITS
    assert differ <= (UNKNOWN.get(subject.name, set()) if is_known else set())


def test_ten_subjects_are_counted_to_the_last_request_as_they_are_written():
    assert len({subject.name for subject, _ in CASES} - UNKNOWN.keys()) >= 10
