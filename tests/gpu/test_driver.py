"""What the CUDA driver is told of a launch, by a driver that only takes notes."""

import ctypes
import threading

import pytest

from softmax_lib.engine.errors import BadInput, BlockSizeNotAllowed
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.gpu import calls, driver_api

TEXT = "__global__ void own(int n) {}"


class Notes:
    """Answers each launch with `status`, and each status with a word; a block has room for 64 threads."""

    def __init__(self, status=0):
        self.status = status
        self.attributes = {}
        self.config = None

    def cuFuncSetAttribute(self, function, attribute, value):
        self.attributes[attribute] = value
        return 0

    def cuFuncGetAttribute(self, value, attribute, function):
        value._obj.value = {0: 64, 4: 255}[attribute]
        return 0

    def cuLaunchKernelEx(self, config, function, addresses, extra):
        self.config = config._obj
        self.first = ctypes.c_int.from_address(addresses[0]).value
        return self.status

    def cuGetErrorString(self, status, text):
        text._obj.value = b"too many blocks"
        return 0


def launch(monkeypatch, notes, grid=4, block=(32, 2), **words):
    for module in (calls, driver_api):
        monkeypatch.setattr(module, "driver", lambda: notes)
    spec = LaunchSpec.of(TEXT, grid, block, [7], **words)
    seven = ctypes.create_string_buffer((7).to_bytes(4, "little"), 4)
    calls.launch_function(1, spec, 2, [seven])
    return notes


def test_the_structures_are_as_large_as_cudas():
    assert ctypes.sizeof(driver_api.Config) == 56
    assert ctypes.sizeof(driver_api.Attribute) == 72


def test_a_plain_launch_has_its_sizes_and_arguments_and_no_attribute(monkeypatch):
    notes = launch(monkeypatch, Notes(), shared_bytes=100)
    config = notes.config
    assert (list(config.grid), list(config.block)) == ([4, 1, 1], [32, 2, 1])
    assert (config.shared_bytes, config.stream, config.count) == (100, 2, 0)
    assert notes.first == 7
    assert notes.attributes == {}


def test_what_is_more_is_said_by_attributes(monkeypatch):
    config = launch(monkeypatch, Notes(), cooperative=True, cluster=(2, 1, 1)).config
    said = {config.attributes[i].id: list(config.attributes[i].value[:3]) for i in range(2)}
    assert config.count == 2
    assert said == {2: [1, 0, 0], 4: [2, 1, 1]}


def test_much_shared_memory_and_large_clusters_are_asked_for(monkeypatch):
    notes = launch(monkeypatch, Notes(), grid=16, shared_bytes=100_000, cluster=16)
    assert notes.attributes == {8: 100_000, 14: 1}
    assert launch(monkeypatch, Notes(), grid=16, shared_bytes=48 * 1024, cluster=8).attributes == {}


@pytest.mark.parametrize("status", [1, 701, 720, 912])
def test_a_launch_that_this_gpu_does_not_take_is_told_in_the_drivers_words(monkeypatch, status):
    with pytest.raises(BadInput, match=rf"launch of own: too many blocks \({status}\)"):
        launch(monkeypatch, Notes(status))


def test_a_block_that_does_not_fit_the_registers_is_refused_before_the_launch(monkeypatch):
    notes = Notes()
    with pytest.raises(
        BlockSizeNotAllowed, match=r"at most 64 threads.*255 registers each.*has 65"
    ):
        launch(monkeypatch, notes, block=65)
    assert notes.config is None


def test_each_thread_keeps_its_own_launches_and_begins_anew_where_there_are_too_many():
    kept = driver_api.OfThisThread()
    kept.keep(("a",), 1, at_most=4)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(dict(kept.table)))
    thread.start()
    thread.join()
    assert (seen, kept.table) == ([{}], {("a",): 1})
    for number in range(9):
        kept.keep((number,), number, at_most=4)
        assert len(kept.table) <= 4
        assert kept.table[number,] == number
