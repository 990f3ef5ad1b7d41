"""Records that tests may damage, some of another GPU, and how to write one down."""

import copy
import json

from softmax_lib.records.record import Record
from softmax_lib.records.shelf import FOLDER
from softmax_lib.suites.peers.record import contest_runs
from softmax_lib.worklog.registry import kernels, with_copy

BOOK = FOLDER / "nvidia-h200.json"


def content(**changes):
    """What the book's record holds, as plain lists and dictionaries; a new copy each time."""
    return {**json.loads(_CONTENT), **changes}


def up_to_date(**changes):
    """The book's record as it would be had a GPU just measured every kernel: new ones take what `naive` takes."""
    whole = content(**changes)
    whole["kernels"] |= {name: kernel.digest for name, kernel in with_copy.items()}
    for new in Record(whole).unmeasured(kernels):
        for part, who in (("rows", "provider"), ("counters", "kernel")):
            whole[part] += [{**one, who: new} for one in whole[part] if one[who] == "naive"]
    return whole


def of_another_gpu():
    """A shorter record than the book's: an L4, four times as slow, 1024 float32 rows, no profiles."""
    another = content(date="2030-01-01", counters=[], probes=[], notes=["made up"])
    another["gpu"]["name"] = "NVIDIA L4"
    another["skipped"] = {"helion": "helion was never asked"}
    another["rows"] = [
        {**row, **{name: 4 * row[name] for name in _TIMES}}
        for row in another["rows"]
        if (row["rows"], row["dtype"]) == (1024, "float32")
    ]
    return another


def run_of_another_gpu():
    """A run beside the peers on that L4: one matrix, on which softmax() takes two copies."""
    run = copy.deepcopy(contest_runs()[0])
    run["gpu"]["name"] = "NVIDIA L4"
    run["rows"] = [{**row, "ours_us": 2 * row["copy_us"]} for row in run["rows"][:1]]
    return run


def write(path, changed):
    """Write this content as a record, and give back its text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(changed), encoding="utf-8")
    return path.read_text(encoding="utf-8")


_TIMES = ("median_us", "low_us", "high_us", "copy_us")
_CONTENT = BOOK.read_bytes()
