"""Any kernel's machine code or PTX, launched by the words of `emulator.launch`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from softmax_lib.arrays import host_bytes
from softmax_lib.errors import BadInput, NotAvailable
from softmax_lib.launch_spec import LaunchSpec
from softmax_lib.machine.cubin import Cubin, Variable
from softmax_lib.machine.launching import (
    FIRST_WITH_CLUSTERS,
    VARIABLES,
    Argument,
    Counted,
    Progress,
    Threads,
    launch,
)
from softmax_lib.machine.memory import Memory
from softmax_lib.machine.program import Decoder, decode_program
from softmax_lib.signature import ROW, Signature, read_signature


def run_call(
    spec: LaunchSpec,
    arch: int,
    progress: Progress | None = None,
    decoder: Decoder = decode_program,
) -> Counted:
    """Run what `spec` says for sm_`arch`; arrays are written in place, also where the kernel faults.

    `decoder` says what is run, PTX in place of machine code.

    Raises `WrongType` or `BadInput` for arguments that do not fit, `CompileError`, `KernelFault`, and
    `NotAvailable` without NVRTC or nvdisasm, or for what the interpreter does not have.
    """
    if spec.cluster != (1, 1, 1) and arch < FIRST_WITH_CLUSTERS:
        raise NotAvailable(f"GPUs of sm_{arch} have no clusters; those from sm_90 on do.")
    decoded = decoder(spec.program, arch, "")
    filled = _fill(decoded.cubin, spec.symbols)
    memory = Memory()
    signature = _signature(spec, decoded.cubin)
    pairs = zip(signature.parameters, signature.bind(spec.arguments), strict=True)
    arguments = [_place(memory, parameter.name, bound) for parameter, bound in pairs]
    threads = Threads(spec.grid, spec.block, spec.shared_bytes, spec.cluster, spec.cooperative)
    counted = launch(replace(decoded, cubin=filled), threads, arguments, memory, progress)
    _fetch(counted, filled, spec.symbols)
    return counted


def _signature(spec: LaunchSpec, cubin: Cubin) -> Signature:
    rows, _ = _content(cubin, "softmax_lib_counts").view(np.int32)
    held = _content(cubin, "softmax_lib_signature").view(np.int32)[:rows].reshape(-1, ROW)
    declared = spec.source.kernel(spec.kernel)
    written = (declared.parameters, declared.parameter_names) if declared else ((), ())
    return read_signature(spec.kernel, *written, held)


def _content(cubin: Cubin, name: str) -> np.ndarray:
    variable = _find(cubin, name)
    return np.frombuffer(cubin.globals, np.uint8, variable.bytes, variable.offset)


def _find(cubin: Cubin, name: str) -> Variable:
    """The variable of this name, which is part of a longer one where it is in a namespace."""
    *spaces, last = name.split("::")
    mangled = "".join(f"{len(part)}{part}" for part in (*spaces, last))
    for variable in cubin.variables:
        if variable.name == last or variable.name.endswith(f"{mangled}E"):
            return variable
    raise BadInput(f"The machine code has no variable {name}: nothing reads it.")


def _place(memory: Memory, name: str, argument: Any) -> Argument:
    if argument is None or isinstance(argument, bytes):
        return argument
    if isinstance(argument, list):
        return memory.place_addresses(name, [memory.place(name, one) for one in argument])
    return memory.place(name, argument)


def _fill(cubin: Cubin, symbols: Mapping[str, Any]) -> Cubin:
    """With the symbols' arrays in place of what the source gives its variables."""
    held, constants = bytearray(cubin.globals), bytearray(cubin.constants.get(3, b""))
    for name, array in symbols.items():
        variable, content = _find(cubin, name), host_bytes(array)
        if content.nbytes > variable.bytes:
            raise BadInput(
                f"The symbol {name} is given {content.nbytes} bytes; it has {variable.bytes}."
            )
        into = constants if variable.is_constant else held
        into[variable.offset : variable.offset + content.nbytes] = content.tobytes()
    return replace(cubin, globals=bytes(held), constants={**cubin.constants, 3: bytes(constants)})


def _fetch(counted: Counted, cubin: Cubin, symbols: Mapping[str, Any]) -> None:
    """Write what the kernel left in `__device__` variables into the symbols' arrays."""
    held = next(one.host for one in counted.arrays if one.name == VARIABLES)
    for name, array in symbols.items():
        variable, content = _find(cubin, name), host_bytes(array)
        if not variable.is_constant:
            content[:] = held[variable.offset : variable.offset + content.nbytes]
