"""Whether there is a GPU to run on, asked without needing torch; and without loading it where there is no driver."""

from __future__ import annotations

import ctypes
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvmap")
"""What the driver makes on Linux, under Windows (WSL), and on a Jetson."""


def why_no_gpu() -> str | None:
    """Why torch has no GPU here, in words; None where it has one."""
    try:
        version: Any = None if "torch" in sys.modules or _may_have_driver() else _version_of_torch()
        if version is None or version.hip:
            import torch

            if torch.cuda.is_available():
                return None
            version = torch.version
    except ImportError:
        return "torch is not installed"
    return "torch sees no CUDA GPU" if version.cuda else "this torch is built without CUDA"


def _may_have_driver() -> bool:
    """Whether CUDA could find a driver: its library may be on a path of torch's own, its device not there yet."""
    if sys.platform != "linux" or any(Path(device).exists() for device in _DEVICES):
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _version_of_torch() -> SimpleNamespace:
    """What `torch.version` holds, read from its file: loading torch takes seconds."""
    found = find_spec("torch")
    if found is None or found.origin is None:
        raise ImportError("torch is not installed")
    return SimpleNamespace(**runpy.run_path(str(Path(found.origin).with_name("version.py"))))


def has_gpu() -> bool:
    """Whether torch has a GPU here; to launch kernels takes CuPy too, and `run` says so."""
    return why_no_gpu() is None


def gpu_name(device: int | None = None) -> str:
    """The name of CUDA device number `device`, or of the current one: "NVIDIA H200"; "" where there is none."""
    if not has_gpu():
        return ""
    import torch

    return torch.cuda.get_device_name(device)


def arch_of(device: int | None = None) -> int:
    """Of CUDA device number `device`, or of the current one: 90 for sm_90."""
    import torch

    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor
