"""Whether there is a GPU to run on, asked without needing torch."""

from __future__ import annotations


def why_no_gpu() -> str | None:
    """Why torch has no GPU here, in words; None where it has one."""
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    if torch.cuda.is_available():
        return None
    return "torch sees no CUDA GPU" if torch.version.cuda else "this torch is built without CUDA"


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
