"""A decoded kernel as one file, which the interpreter in a page takes: what a launch needs beside its arguments."""

from __future__ import annotations

import json
from typing import Any

from softmax_lib.engine.compiled.cubin import SHARED_BASE
from softmax_lib.engine.compiled.launching import bank_0
from softmax_lib.engine.compiled.program import Decoded

ALIGNMENT = 8


def carry(decoded: Decoded, **more: Any) -> bytes:
    """The length of a JSON text in four bytes, the text, and behind it the tables that it gives the places of.

    `code`, `fixed`, `globals` and each of `constants` are [place, bytes] among the tables. Of bank 0 a
    launch writes the first 24 bytes, the sides of its blocks and its grid, and each of `parameters`, [offset, bytes].
    `more` is in the text as it is.
    """
    cubin, tables = decoded.cubin, bytearray()

    def add(content: bytes) -> list[int]:
        at = len(tables)
        tables.extend(content + bytes(-len(content) % ALIGNMENT))
        return [at, len(content)]

    at = cubin.parameters_at
    told = {
        "kernel": decoded.kernel,
        "code": add(decoded.code.tobytes()),
        "fixed": add(decoded.fixed.tobytes()),
        "globals": add(cubin.globals),
        "constants": {0: add(bank_0(decoded)), **{n: add(held) for n, held in cubin.constants.items() if n}},
        "parameters": [[at + one.offset, one.bytes] for one in cubin.parameters],
        "addresses": cubin.addresses,
        "counts": {
            "code": len(decoded.code), "fixed": len(decoded.fixed), "sites": len(decoded.sites), "rows": decoded.rows,
            "cleared": decoded.cleared, "predicates": decoded.predicates,
        },
        "shared_base": SHARED_BASE[decoded.arch],
        "shared_bytes": cubin.shared_bytes,
        "local_bytes": cubin.local_bytes,
        "made_by": decoded.made_by,
        **more,
    }  # fmt: skip
    text = json.dumps(told, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % ALIGNMENT)
    return len(text).to_bytes(4, "little") + text + bytes(tables)
