"""A run of the suite symptoms that no GPU made: 10 us for each symptom, 4 for each cure."""

from dataclasses import asdict

from softmax_lib.records.schema import EXECUTION, METRICS
from softmax_lib.suites.symptoms.measure import SIDES
from softmax_lib.suites.symptoms.record import PROGRAMS, SYMPTOMS
from softmax_lib.worklog.registry import kernels

US = {"symptom": 10.0, "control": 6.0, "cure": 4.0}
COUNTERS = dict.fromkeys((*METRICS, *EXECUTION), 1) | {"global_load_sectors": 32, "duration_ns": 2500, "stalled_barrier": 17}  # fmt: skip
EVENTS = [("call", "aten::softmax", 0, 9.0), ("launch", "cudaLaunchKernel", 2, 3.0), ("kernel", "softmax_forward", 16, 4.0)]  # fmt: skip


def run(**changes):
    """As the suite returns it."""
    rows = [{"symptom": symptom, "times": list(map(_line, SIDES[symptom]))} for symptom in SYMPTOMS]
    events = [dict(zip(("track", "name", "at_us", "us"), one, strict=True)) for one in EVENTS]
    return {
        "gpu": {"name": "Tesla T4", "l2_bytes": 1 << 22, "multiprocessors": 40}, "date": "2030-01-01", "software": {},
        "digests": {}, "skipped": {}, "rows": rows, "timelines": [{"program": one, "events": events} for one in PROGRAMS],
        **changes,
    }  # fmt: skip


def _line(side):
    counted = side.who in kernels and side.how == "cold"
    us = US[side.role]
    return {**asdict(side), "us": [us + 9, us, us - 1], "counters": COUNTERS if counted else {}}


def write(folder, content):
    """Put it where a reader's own runs are looked for below `folder`."""
    import json

    path = folder / "softmax_lib" / "measurements" / "symptoms" / "tesla-t4-1.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
