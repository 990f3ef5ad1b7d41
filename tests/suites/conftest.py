"""What the tests of suites share: a shelf for made-up runs, and a GPU that takes 5 µs for anything."""

import json
from types import SimpleNamespace

import pytest
import torch

from softmax_lib.records.shelf import FOLDER
from softmax_lib.suites import cells, timing
from softmax_lib.suites.plan import plan
from softmax_lib.suites.timing import REPLAYS, Timing

FACTS = {"name": "Tesla T4", "multiprocessors": 2, "l2_bytes": 1, "memory_bytes": 1}


def book_run(suite):
    """The book's own run of a suite; a new copy each time."""
    return json.loads((FOLDER / suite / "nvidia-h200-1.json").read_text())


def planned(quick=False):
    """Every timing of the plan."""
    return {case for job in plan(quick) for case in job}


@pytest.fixture
def keep(own):
    """Put a run of a suite on a reader's own shelf, under the name of a GPU that the book has none of."""

    def write(suite, run, stem="tesla-t4-1"):
        path = own / suite / f"{stem}.json"
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
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))


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


HOST_US, DEVICE_US = 9.0, 100.0


class Clock:
    """A host that takes 9 us to queue a call, and a device that takes 100 us for each, one after the other."""

    def __init__(self):
        self.host_us = self.device_us = 0.0
        self.first_us = 0.0

    def perf_counter(self):
        return self.host_us / 1e6

    def queue(self, us):
        self.host_us += HOST_US
        self.device_us = max(self.device_us, self.host_us) + us

    def softmax(self, *_):
        """The first call keeps the host `first_us` longer."""
        self.host_us += self.first_us
        self.first_us = 0.0
        self.queue(DEVICE_US)

    def synchronize(self):
        self.host_us = max(self.host_us, self.device_us)

    def event(self, enable_timing):
        return Event(self)


class Event:
    """Notes when the device reaches it, which is at once where the device has nothing to do."""

    def __init__(self, clock):
        self.clock = clock

    def record(self):
        self.at_us = self.clock.device_us = max(self.clock.device_us, self.clock.host_us)

    def synchronize(self):
        self.clock.synchronize()

    def elapsed_time(self, end):
        return (end.at_us - self.at_us) / 1e3


class Graph:
    """What is called within `capture` is queued by each replay, in one call of the host."""

    def __init__(self, clock):
        self.clock = clock

    def replay(self):
        self.clock.queue(self.queued_us)


class Capture:
    def __init__(self, graph):
        self.graph, self.clock = graph, graph.clock

    def __enter__(self):
        self.before = self.clock.host_us, self.clock.device_us
        self.clock.host_us = self.clock.device_us = 0.0

    def __exit__(self, *_):
        self.graph.queued_us = self.clock.device_us
        self.clock.host_us, self.clock.device_us = self.before


@pytest.fixture
def clock(monkeypatch):
    """A host and a device that take as long as this clock says."""
    found = Clock()
    monkeypatch.setattr(torch.cuda, "synchronize", found.synchronize)
    monkeypatch.setattr(torch.cuda, "Event", found.event)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: Graph(found))
    monkeypatch.setattr(torch.cuda, "graph", Capture)
    return found
