"""What the tests of suites share: a shelf for made-up runs, and a GPU that takes 5 µs for anything."""

import json
from types import SimpleNamespace

import pytest
import torch

from softmax_lib.records.shelf import FOLDER
from softmax_lib.suites import cells, timing
from softmax_lib.suites.timing import REPLAYS, Timing

FACTS = {"name": "Tesla T4", "multiprocessors": 2, "l2_bytes": 1, "memory_bytes": 1}


def book_run(suite):
    """The book's own run of a suite; a new copy each time."""
    return json.loads((FOLDER / suite / "nvidia-h200-1.json").read_text())


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """Put a run of a suite on a reader's own shelf, under the name of a GPU that the book has none of."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def write(suite, run, stem="tesla-t4-1"):
        path = tmp_path / "softmax_lib" / "measurements" / suite / f"{stem}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(run if isinstance(run, str) else json.dumps(run))

    return write


@pytest.fixture
def here(monkeypatch):
    """Let suites run on the CPU and call it a Tesla T4."""
    for name in ("busy", "slowed"):
        monkeypatch.setattr(cells, name, list)
    monkeypatch.setattr(cells, "gpu_facts", lambda: FACTS)
    monkeypatch.setattr(cells, "versions", dict)
    for name in ("synchronize", "empty_cache"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")


@pytest.fixture
def cpu(here, monkeypatch):
    """The same, where anything takes 5 µs, and a copy 3, unless `us` says other; `asked` has whose calls were timed on how many inputs."""
    made = SimpleNamespace(us={}, asked=[])

    def us(case):
        return made.us.get(case.provider, 3.0 if "copy" in case.provider else 5.0)

    def time_device(calls, inputs=1, replays=REPLAYS):
        made.asked.append(({case.provider: call for case, call in calls.items()}, inputs))
        return {case: Timing(*[us(case)] * 3) for case in calls}

    monkeypatch.setattr(timing, "sample", lambda case: torch.randn(case.shape))
    monkeypatch.setattr(timing, "time_device", time_device)
    return made
