"""What a launch of machine code asked for in all, under the names that a record has for ncu's counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from softmax_lib.engine.compiled.kinds import access_of
from softmax_lib.engine.compiled.launching import Counted

_KINDS = ("load", "store", "atomic", "reduction")

COUNTERS = (
    "instructions",
    *(f"global_{kind}_{unit}" for kind in _KINDS for unit in ("requests", "sectors")),
    *(f"shared_{kind}_requests" for kind in ("load", "store")),
    *(f"shared_{kind}_{unit}" for kind in _KINDS[:3] for unit in ("wavefronts", "conflicts")),
    *(f"local_{kind}_{unit}" for kind in ("load", "store") for unit in ("requests", "sectors")),
)
"""Those that ncu counts too: instructions are those of warps."""


def add_up(steps: Iterable[Counted]) -> Counter[str]:
    """Counters of all steps together, by `COUNTERS` and a few more names."""
    found: Counter[str] = Counter()
    for counted in steps:
        found["instructions"] += int(counted.executed["warps"].sum())
        for site, number in enumerate(counted.decoded.sites):
            statement = counted.decoded.statements[number]
            gives_nothing = statement.opcode.startswith(("RED", "red"))
            access = "reduction" if gives_nothing else access_of(statement)
            for column, counts in enumerate(counted.counts[site]):
                for unit in ("requests", "sectors", "wavefronts", "conflicts"):
                    found[f"{counted.space_of(column)}_{access}_{unit}"] += int(counts[unit])
    return found
