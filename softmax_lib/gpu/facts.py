"""Where numbers come from: the GPU, its driver and clocks, versions, and the date."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable
from importlib import metadata
from typing import Any

import torch

UNKNOWN = "unknown"
"""What stands where the driver, or its Python package, does not answer."""

PACKAGES = (
    "torch", "triton", "cupy-cuda12x", "cupy-cuda13x",
    "liger-kernel", "quack-kernels", "helion", "flashinfer-python", "flag-gems", "tilegym", "transformer-engine",
    "softmax-lib",
)  # fmt: skip
"""What takes part in a measurement."""


def gpu_facts() -> dict[str, str | int]:
    """The current GPU: name, compute capability, multiprocessors, bytes of L2 and of memory, driver."""
    device = torch.cuda.get_device_properties()
    return {
        "name": device.name,
        "compute_capability": f"{device.major}.{device.minor}",
        "multiprocessors": device.multi_processor_count,
        "l2_bytes": device.L2_cache_size,
        "memory_bytes": device.total_memory,
        "driver": _ask(lambda nvml, gpu: nvml.nvmlSystemGetDriverVersion()),
    }


def peak_gb_per_s() -> float | None:
    """What the memory of the current GPU moves at most, in 10^9 bytes per second; None where the driver does not say.

    That is its highest clock, on both edges of which each wire of its bus carries a bit.
    """
    mhz = _ask(lambda nvml, gpu: nvml.nvmlDeviceGetMaxClockInfo(gpu, nvml.NVML_CLOCK_MEM))
    bits = _ask(lambda nvml, gpu: nvml.nvmlDeviceGetMemoryBusWidth(gpu))
    return None if UNKNOWN in (mhz, bits) else 2 * mhz * bits / 8 / 1e3


def today() -> str:
    """The date of a record: YYYY-MM-DD."""
    return datetime.date.today().isoformat()


def versions() -> dict[str, str]:
    """Versions of Python, the driver's CUDA, NVRTC, and every package that takes part."""
    from softmax_lib.gpu.compile import nvrtc

    found = {"python": platform.python_version(), "cuda": str(torch.version.cuda)}
    found["nvrtc"] = ".".join(map(str, nvrtc().getVersion()))
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


_CLOCKS: dict[str, Callable[[Any, Any], str]] = {
    "clocks.sm": lambda nvml, gpu: f"{nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM)} MHz",
    "clocks.mem": lambda nvml, gpu: f"{nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM)} MHz",
    "clocks_event_reasons.active": lambda nvml, gpu: f"0x{nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu):016x}",
    "power.draw": lambda nvml, gpu: f"{nvml.nvmlDeviceGetPowerUsage(gpu) / 1000:.2f} W",
    "temperature.gpu": lambda nvml, gpu: str(nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU)),
}  # fmt: skip


def clocks() -> dict[str, str]:
    """Clocks and power of the current GPU as the driver reports them now; nothing is set."""
    return {name: _ask(question) for name, question in _CLOCKS.items()}


BUSY_PERCENT = 5
"""Other work that keeps the GPU busy for more of the last second than this is worth a note."""

SLOWED_BY = {
    0x8: "the hardware", 0x20: "the driver, for heat", 0x40: "the hardware, for heat",
    0x80: "the hardware, for power",
}  # fmt: skip
"""Bits of the driver's clock event reasons that say that the clock is held down (NVML's documentation)."""


def busy() -> list[str]:
    """A sentence where other work keeps the GPU busy; to be asked before any work of one's own."""
    percent = _ask(lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu)
    if percent == UNKNOWN or percent <= BUSY_PERCENT:
        return []
    return [f"Other work kept the GPU busy for {percent} % of the time before."]


def slowed() -> list[str]:
    """A sentence for each reason for which the driver holds the clock down now."""
    reasons = _ask(lambda nvml, gpu: nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu))
    bits = 0 if reasons == UNKNOWN else reasons
    return [f"The clock was held down by {by}." for bit, by in SLOWED_BY.items() if bits & bit]


def _ask(question: Callable[[Any, Any], Any]) -> Any:
    """What `question` finds by the module pynvml and a handle of the GPU that torch uses now; UNKNOWN without an answer."""
    try:
        import pynvml
    except ImportError:
        return UNKNOWN
    try:
        pynvml.nvmlInit()
        # by its identity: torch and the driver number GPUs differently under CUDA_VISIBLE_DEVICES
        identity = f"GPU-{torch.cuda.get_device_properties().uuid}"
        return question(pynvml, pynvml.nvmlDeviceGetHandleByUUID(identity))
    except pynvml.NVMLError:  # a GPU that does not tell its power, say
        return UNKNOWN
