"""Where numbers come from: the GPU, its driver and clocks, versions, and the date."""

from __future__ import annotations

import datetime
import platform
import subprocess
from importlib import metadata

import torch


def gpu_facts() -> dict[str, str | int]:
    """The current GPU: name, compute capability, multiprocessors, bytes of L2 cache, driver."""
    device = torch.cuda.get_device_properties()
    return {
        "name": device.name,
        "compute_capability": f"{device.major}.{device.minor}",
        "multiprocessors": device.multi_processor_count,
        "l2_bytes": device.L2_cache_size,
        "driver": _smi("driver_version"),
    }


def today() -> str:
    """The date of a record: YYYY-MM-DD."""
    return datetime.date.today().isoformat()


def versions() -> dict[str, str]:
    """Versions of Python, the driver's CUDA, NVRTC, and every package that takes part."""
    from softmax_lib.gpu.compile import nvrtc

    found = {"python": platform.python_version(), "cuda": str(torch.version.cuda)}
    found["nvrtc"] = ".".join(map(str, nvrtc().getVersion()))
    names = (
        "torch",
        "triton",
        "cupy-cuda12x",
        "cupy-cuda13x",
        "liger-kernel",
        "quack-kernels",
        "softmax-lib",
    )
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def clocks() -> dict[str, str]:
    """Clocks and power as the driver reports them now; nothing is set."""
    names = (
        "clocks.sm",
        "clocks.mem",
        "clocks_event_reasons.active",
        "power.draw",
        "temperature.gpu",
    )
    return {name: _smi(name) for name in names}


def _smi(query: str) -> str:
    command = [
        "nvidia-smi",
        f"--query-gpu={query}",
        "--format=csv,noheader",
        f"--id={torch.cuda.current_device()}",
    ]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
