"""`softmax-lib info`: what this machine has, what will run where, what is wrong with its installation, what mends it."""

from __future__ import annotations

import argparse
import ctypes
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from softmax_lib import __version__
from softmax_lib.cli.answer import Answer
from softmax_lib.engine import written as emulator
from softmax_lib.engine.caches import cache_folder, cache_root
from softmax_lib.gpu import compile
from softmax_lib.gpu.driver_api import driver
from softmax_lib.records.shelf import available
from softmax_lib.worklog.errors import SoftmaxLibError

T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """Two sentences: `what` is wrong, and how to `mend` it."""

    what: str
    mend: str


@dataclass(frozen=True)
class Driver:
    """NVIDIA's driver: the newest CUDA that it runs, (12, 8), and how many GPUs it has."""

    cuda: tuple[int, int]
    gpus: int


def run(options: argparse.Namespace) -> Answer:
    """GPU, versions, C++ compiler, records, problems, and a sentence on where kernels run; None for what is missing."""
    found = _gather()
    return Answer(found, lambda: _print(found))


def _gather() -> dict[str, object]:
    versions, gpus = torch_versions(), _gpus()
    archs, no_nvrtc = _ask(compile.supported_archs)
    compiler, _ = _ask(emulator.compiler)
    version = ".".join(map(str, nvrtc_version())) if archs else ""
    return {
        "softmax_lib": __version__,
        "torch": versions and versions[0],
        "gpus": gpus,
        "cupy": cupys(),
        "nvrtc": f"{version}, for sm_{archs[0]} to sm_{archs[-1]}" if archs else None,
        "softmax_table": _softmax_table() if gpus else None,
        "cpp_compiler": compiler and compiler[1],
        "records": list(available()),
        "problems": [asdict(problem) for problem in find_problems()],
        "runs": _runs(bool(gpus), no_nvrtc, bool(compiler)),
    }


def _print(found: Mapping[str, Any]) -> None:
    """A line for each fact."""
    table = Table(show_header=False, box=None)
    for name, value in found.items():
        if name == "problems":
            value = [f"{one['what']} {one['mend']}" for one in value]
        if isinstance(value, list):
            value = "\n".join(map(str, value))
        table.add_row(name.replace("_", " "), str(value or "none"))
    Console(markup=False).print(table)


def _ask(question: Callable[[], T]) -> tuple[T | None, str]:
    """The answer, or why there is none."""
    try:
        return question(), ""
    except SoftmaxLibError as error:
        return None, str(error)


def _gpus() -> list[str]:
    """Those that torch sees."""
    if torch_versions() is None:
        return []
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def _softmax_table() -> str:
    """Where it is written which kernel `softmax()` takes on the current GPU, and who measured it."""
    from softmax_lib.ops.tables import table_of

    table, missing = _ask(lambda: table_of(0))
    if table is None:
        return missing
    return f"{table.name}, {f'measured on {table.measured_on}' if table.measured_on else 'not measured'}"


def _runs(has_gpu: bool, no_nvrtc: str, has_compiler: bool) -> str:
    if has_gpu:
        there = f"There is a GPU, but {no_nvrtc}"
        return there if no_nvrtc else "CUDA tensors run on the GPU, CPU tensors in the emulator."
    if has_compiler:
        times = "times are those recorded on other GPUs"
        return f"No GPU here: kernels run in the emulator, and {times}."
    missing = "no C++ compiler for the emulator (install g++)"
    return f"Nothing can run here: there is no GPU, and {missing}."


def find_problems() -> list[Problem]:
    """All that can be told without running a kernel."""
    there = ask_driver()
    return [*_with_gpus(there if there and there.gpus else None), *_with_emulator()]


def ask_driver() -> Driver | None:
    """The driver that is installed here; None where there is none."""
    try:
        library = driver()
        version, gpus = ctypes.c_int(), ctypes.c_int()
        library.cuDriverGetVersion(ctypes.byref(version))
        if library.cuInit(0) == 0:
            library.cuDeviceGetCount(ctypes.byref(gpus))
    except (OSError, AttributeError):
        return None
    return Driver((version.value // 1000, version.value % 1000 // 10), gpus.value)


def torch_versions() -> tuple[str, str | None] | None:
    """torch's version, and that of the CUDA that it is built for; None without torch."""
    try:
        import torch
    except ImportError:
        return None
    return torch.__version__, torch.version.cuda


def cupys() -> list[str]:
    """The packages that bring a CuPy, with their versions."""
    names = metadata.packages_distributions().get("cupy", [])
    return [f"{name} {metadata.version(name)}" for name in dict.fromkeys(names)]


def nvrtc_version() -> tuple[int, int]:
    """Raises `NotAvailable` when CuPy or NVRTC is missing."""
    return compile.nvrtc().getVersion()


def _with_gpus(there: Driver | None) -> Iterator[Problem]:
    """Without a GPU NVRTC is not needed; a CuPy that does not find it is wrong all the same."""
    installed = cupys()
    if len(installed) > 1:
        yield Problem(
            f"Two CuPys are installed ({', '.join(installed)}), and break each other.",
            "Uninstall all of them, and install one: `pip install cupy-cuda12x`, or cupy-cuda13x "
            "where the driver is for CUDA 13.",
        )
    if there:
        yield from _with_torch(there)
    version, missing = _ask(nvrtc_version)
    if missing and (there or installed):
        mend = 'Install CuPy with NVRTC: `pip install "cupy-cuda12x[ctk]"`.'
        yield Problem(f"Nothing can be compiled for a GPU. {missing}", mend)
    if version and there and version[0] > there.cuda[0]:
        yield _too_old(there, "CuPy's NVRTC", ".".join(map(str, version)), "a CuPy")


def _with_torch(there: Driver) -> Iterator[Problem]:
    version, cuda = torch_versions() or ("", None)
    if not version:
        yield Problem("There is a GPU, and torch is not installed.", "`pip install torch`.")
    elif cuda is None:
        yield Problem(
            f"There is a GPU, and torch {version} is built for the CPU alone.",
            "Install torch as pytorch.org/get-started says for CUDA.",
        )
    elif int(cuda.partition(".")[0]) > there.cuda[0]:
        yield _too_old(there, f"torch {version}", cuda, "a torch")


def _too_old(there: Driver, who: str, cuda: str, other: str) -> Problem:
    major, minor = there.cuda
    return Problem(
        f"The driver runs CUDA up to {major}.{minor}, and {who} is built for CUDA {cuda}.",
        f"Bring the driver up to date, or install {other} for CUDA {major}.",
    )


def _with_emulator() -> Iterator[Problem]:
    _, missing = _ask(emulator.compiler)
    if missing:
        yield Problem("No kernel can run on the CPU: no C++ compiler answers.", missing)
    if find_spec("elftools") is None:
        yield Problem(
            "The package pyelftools is missing, without which there is no x-ray and no trace.",
            "`pip install pyelftools`.",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which says the same
        is_kept = cache_folder("emulator").is_relative_to(cache_root())
    if not is_kept:
        yield Problem(
            f"Nothing can be written to {cache_root()}: kernels are built anew each time Python starts.",
            "Set XDG_CACHE_HOME to a folder that can be written.",
        )
