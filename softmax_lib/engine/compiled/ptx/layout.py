"""Where a kernel's variables lie: shared, local, constant and global memory, and its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from softmax_lib.engine.compiled import cubin
from softmax_lib.engine.compiled.ptx.reading import Function, Variable

PARAMETERS_AT = 0x210
"""In bank 0: where parameters begin."""

CONSTANT_BANK, ADDRESS_BANK = 3, 4
_GLOBAL_ALIGNMENT, _DYNAMIC_ALIGNMENT = 256, 16


@dataclass
class Layout:
    """By name the offset of each variable in its space; of a global one the place of its address in bank 4."""

    shared_base: int
    shared: dict[str, int]
    local: dict[str, int]
    constant: dict[str, int]
    address_at: dict[str, int]
    parameters: dict[str, int]


def lay_out(
    kernel: Function, variables: Mapping[str, Variable], arch: int
) -> tuple[Layout, cubin.Cubin]:
    """Places for all `variables`, and the facts of the kernel that a cubin would have."""
    found = Layout(cubin.SHARED_BASE[arch], {}, {}, {}, {}, {})
    shared_bytes = _place(_of(variables, "shared"), found.shared)
    local_bytes = _place(_of(variables, "local"), found.local)
    constants = _of(variables, "const")
    content = bytearray(_place(constants, found.constant))
    for one in constants:
        at = found.constant[one.name]
        content[at : at + len(one.content)] = one.content
    globals_, offsets = bytearray(), {}
    for number, one in enumerate(_of(variables, "global")):
        globals_ += bytes(-len(globals_) % _GLOBAL_ALIGNMENT)
        offsets[one.name] = len(globals_)
        found.address_at[one.name] = 8 * number
        globals_ += one.content.ljust(one.size, b"\0")
    _place(kernel.parameters, found.parameters)
    parameters = tuple(cubin.Parameter(found.parameters[p.name], p.size) for p in kernel.parameters)
    named = [cubin.Variable(name, False, at, variables[name].size) for name, at in offsets.items()]
    named += [cubin.Variable(o.name, True, found.constant[o.name], o.size) for o in constants]
    addresses = tuple((found.address_at[name], at) for name, at in offsets.items())
    banks = {CONSTANT_BANK: bytes(content), ADDRESS_BANK: bytes(8 * len(offsets))}
    return found, cubin.Cubin(
        kernel.name, 0, parameters, PARAMETERS_AT, shared_bytes, local_bytes, banks, tuple(named), bytes(globals_), addresses,
    )  # fmt: skip


def _of(variables: Mapping[str, Variable], space: str) -> list[Variable]:
    """Those in a space, each under the name that it has throughout; what a launch gives comes last."""
    held = [replace(one, name=name) for name, one in variables.items() if one.space == space]
    return sorted(held, key=lambda one: one.dynamic)


def _place(variables: Iterable[Variable], offsets: dict[str, int]) -> int:
    """One behind the other, each aligned; returns where the next one would begin."""
    at = 0
    for one in variables:
        alignment = max(one.alignment, _DYNAMIC_ALIGNMENT) if one.dynamic else one.alignment
        at += -at % alignment
        offsets[one.name] = at
        at += one.size
    return at
