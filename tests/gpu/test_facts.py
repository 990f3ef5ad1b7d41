"""Provenance: what the driver says of the GPU in use, in the words that records have; unknown where it is silent."""

import datetime
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from sample_records import content

from softmax_lib.gpu import facts, presence


class NVMLError(Exception):
    pass


CLOCKS, MOST_CLOCKS = {"sm": 345, "mem": 3201}, {"sm": 1980, "mem": 3201}
ANSWERS = {
    "nvmlInit": lambda: None,
    "nvmlDeviceGetHandleByUUID": lambda identity: {"GPU-7": identity}.get(identity) or silent(),
    "nvmlSystemGetDriverVersion": lambda: "580.159.04",
    "nvmlDeviceGetClockInfo": lambda gpu, clock: CLOCKS[clock],
    "nvmlDeviceGetMaxClockInfo": lambda gpu, clock: MOST_CLOCKS[clock],
    "nvmlDeviceGetMemoryBusWidth": lambda gpu: 6144,
    "nvmlDeviceGetCurrentClocksEventReasons": lambda gpu: 1,  # idle
    "nvmlDeviceGetUtilizationRates": lambda gpu: SimpleNamespace(gpu=3),
    "nvmlDeviceGetPowerUsage": lambda gpu: 79_480,
    "nvmlDeviceGetTemperature": lambda gpu, sensor: {"core": 31}[sensor],
}

silent = Mock(side_effect=NVMLError)


def driver(**other):
    """Stands in for pynvml, on a machine whose GPU of identity GPU-7 draws 79.48 W."""
    words = {"NVML_CLOCK_SM": "sm", "NVML_CLOCK_MEM": "mem", "NVML_TEMPERATURE_GPU": "core"}
    return SimpleNamespace(NVMLError=NVMLError, **words, **{**ANSWERS, **other})


@pytest.fixture
def gpu(monkeypatch):
    """What torch says of its current GPU."""
    found = SimpleNamespace(
        name="Test GPU", major=9, minor=0, multi_processor_count=132, L2_cache_size=1 << 20,
        total_memory=1 << 33, uuid="7",
    )  # fmt: skip
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: found)
    monkeypatch.setitem(sys.modules, "pynvml", driver())
    return found


def test_clocks_are_in_the_words_of_the_records(gpu):
    assert facts.clocks() == {
        "clocks.sm": "345 MHz", "clocks.mem": "3201 MHz", "clocks_event_reasons.active": "0x0000000000000001",
        "power.draw": "79.48 W", "temperature.gpu": "31",
    }  # fmt: skip
    assert facts.clocks().keys() == content()["clocks"]["before"].keys()


def test_memory_moves_two_bits_a_clock_on_each_wire(gpu, monkeypatch):
    assert facts.peak_gb_per_s() == 2 * 3201e6 * 6144 / 8 / 1e9
    monkeypatch.setitem(sys.modules, "pynvml", driver(nvmlDeviceGetMemoryBusWidth=silent))
    assert facts.peak_gb_per_s() is None


def test_a_gpu_has_the_facts_that_a_record_needs(gpu):
    found = facts.gpu_facts()
    assert found == {
        "name": "Test GPU", "compute_capability": "9.0", "multiprocessors": 132, "l2_bytes": 1 << 20,
        "memory_bytes": 1 << 33, "driver": "580.159.04",
    }  # fmt: skip
    assert found.keys() == content()["gpu"].keys()


def test_the_driver_is_asked_about_the_gpu_that_torch_uses(gpu):
    gpu.uuid = "8"  # not the one that the driver numbers first
    assert set(facts.clocks().values()) == {"unknown"}


def test_one_silent_sensor_leaves_the_others(gpu, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", driver(nvmlDeviceGetPowerUsage=silent))
    assert facts.clocks()["power.draw"] == "unknown"
    assert facts.clocks()["clocks.sm"] == "345 MHz"


def test_a_gpu_at_rest_and_at_its_own_clock_is_not_worth_a_note(gpu):
    assert facts.busy() == facts.slowed() == []


def test_other_work_and_a_clock_held_down_are_noted(gpu, monkeypatch):
    said = driver(
        nvmlDeviceGetUtilizationRates=lambda gpu: SimpleNamespace(gpu=97),
        nvmlDeviceGetCurrentClocksEventReasons=lambda gpu: 0x1 | 0x20 | 0x80,
    )
    monkeypatch.setitem(sys.modules, "pynvml", said)
    assert facts.busy() == ["Other work kept the GPU busy for 97 % of the time before."]
    assert facts.slowed() == [
        "The clock was held down by the driver, for heat.",
        "The clock was held down by the hardware, for power.",
    ]


def test_without_the_drivers_package_all_is_unknown(gpu, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert set(facts.clocks().values()) == {"unknown"}
    assert facts.busy() == facts.slowed() == []
    assert facts.gpu_facts()["driver"] == "unknown"
    assert facts.gpu_facts()["multiprocessors"] == 132


def test_versions_are_of_what_is_installed_and_a_date_is_a_date():
    pytest.importorskip("cupy")
    found = facts.versions()
    assert found["torch"] in (torch.__version__, torch.__version__.partition("+")[0])
    assert found["nvrtc"].count(".") == 1
    assert all(found.values())
    datetime.date.fromisoformat(facts.today())


@pytest.mark.gpu
def test_the_driver_answers_on_a_gpu():
    assert "unknown" not in {*facts.gpu_facts().values(), *facts.clocks().values()}
    assert float(facts.clocks()["clocks.mem"].split()[0]) > 0


@pytest.mark.parametrize(
    ("driver", "cuda", "hip", "available", "words"),
    [
        (False, None, None, True, "this torch is built without CUDA"),
        (False, "13.0", None, True, "torch sees no CUDA GPU"),
        (False, None, "7.2", True, None),  # AMD's, which needs no driver of NVIDIA's
        (True, None, None, False, "this torch is built without CUDA"),
        (True, "13.0", None, False, "torch sees no CUDA GPU"),
        (True, "13.0", None, True, None),
    ],
)
def test_torch_is_loaded_only_where_it_may_see_a_gpu_and_a_missing_one_has_its_reason(
    monkeypatch, tmp_path, driver, cuda, hip, available, words
):
    stand_in = tmp_path / "torch"
    stand_in.mkdir()
    (stand_in / "version.py").write_text(f"cuda, hip = {cuda!r}, {hip!r}\n")
    (stand_in / "__init__.py").write_text(
        f"class version:\n    cuda = {cuda!r}\nclass cuda:\n    is_available = lambda: {available}\n"
    )
    monkeypatch.setitem(sys.modules, "torch", None)  # whatever is there comes back
    del sys.modules["torch"]
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(presence, "_may_have_driver", lambda: driver)
    assert presence.why_no_gpu() == words
    assert ("torch" in sys.modules) == bool(driver or hip)
    assert presence.has_gpu() == (words is None)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert presence.why_no_gpu() == "torch is not installed"


def test_a_driver_is_known_by_its_library_or_its_device(monkeypatch, tmp_path):
    def load(name):
        if name not in installed:
            raise OSError(name)

    installed = set()
    monkeypatch.setattr(presence, "ctypes", SimpleNamespace(CDLL=load))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(presence, "_DEVICES", (tmp_path / "nvidiactl",))
    assert not presence._may_have_driver()
    (tmp_path / "nvidiactl").touch()
    assert presence._may_have_driver()
    monkeypatch.setattr(presence, "_DEVICES", ())
    assert not presence._may_have_driver()
    installed.add("libcuda.so.1")
    assert presence._may_have_driver()
