"""What this machine has, and what will run where: the facts behind `softmax-lib info`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from softmax_lib import __version__
from softmax_lib.cli.problems import cupys, find_problems
from softmax_lib.engine import written as emulator
from softmax_lib.gpu import compile
from softmax_lib.records.shelf import available
from softmax_lib.worklog.errors import NotAvailable, SoftmaxLibError


def gather() -> dict[str, object]:
    """GPU, versions, C++ compiler, records, problems, and a sentence on where kernels run; None for what is missing."""
    torch_version, gpus = _torch()
    facts: dict[str, object] = {
        "softmax_lib": __version__,
        "torch": torch_version,
        "gpus": gpus,
        "cupy": cupys(),
        "nvrtc": _nvrtc(),
        "softmax_table": _softmax_table() if gpus else None,
        "cpp_compiler": _cpp_compiler(),
        "records": list(available()),
        "problems": [asdict(problem) for problem in find_problems()],
    }
    return {**facts, "runs": _runs(facts)}


def print_information(found: Mapping[str, object]) -> None:
    """A line for each fact."""
    table = Table(show_header=False, box=None)
    for name, value in found.items():
        if isinstance(value, list):
            value = "\n".join(map(_in_words, value))
        table.add_row(name.replace("_", " "), str(value or "none"))
    Console(markup=False).print(table)


def _in_words(value: object) -> str:
    return f"{value['what']} {value['mend']}" if isinstance(value, dict) else str(value)


def _torch() -> tuple[str | None, list[str]]:
    """Its version, and the GPUs that it sees."""
    try:
        import torch
    except ImportError:
        return None, []
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return torch.__version__, names


def _nvrtc() -> str | None:
    try:
        archs = compile.supported_archs()
        version = ".".join(map(str, compile.nvrtc().getVersion()))
    except SoftmaxLibError:
        return None
    return f"{version}, for sm_{archs[0]} to sm_{archs[-1]}"


def _softmax_table() -> str:
    """Where it is written which kernel `softmax()` takes on the current GPU, and who measured it."""
    from softmax_lib.ops.tables import table_of

    try:
        table = table_of(0)
    except NotAvailable as error:
        return str(error)
    return f"{table.name}, {f'measured on {table.measured_on}' if table.measured_on else 'not measured'}"


def _cpp_compiler() -> str | None:
    try:
        return emulator.compiler()[1]
    except NotAvailable:
        return None


def _runs(facts: dict[str, object]) -> str:
    if facts["gpus"] and facts["nvrtc"]:
        return "CUDA tensors run on the GPU, CPU tensors in the emulator."
    if facts["gpus"]:
        return f"There is a GPU, but {_missing_nvrtc()}"
    if facts["cpp_compiler"]:
        return (
            "No GPU here: kernels run in the emulator, and times are those recorded on other GPUs."
        )
    return (
        "Nothing can run here: there is no GPU, and no C++ compiler for the emulator (install g++)."
    )


def _missing_nvrtc() -> str:
    try:
        compile.nvrtc()
    except NotAvailable as error:
        return str(error)
    return "NVRTC answers."
