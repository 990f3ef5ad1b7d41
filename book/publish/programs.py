"""Sphinx extension: the machine code of the book's kernels, as the interpreter in a page takes it."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from softmax_lib import kernels, xray
from softmax_lib.engine.compiled import carried, library
from softmax_lib.engine.compiled.code import find_code
from softmax_lib.engine.compiled.counters import KINDS
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.running import shared_arrays
from softmax_lib.engine.folders import listing_folder
from softmax_lib.engine.xrays.lines import LineCounters
from softmax_lib.engine.xrays.machine_lines import tell_lines
from softmax_lib.worklog.kernel import Kernel

ARCH = 90
FOLDER, INDEX = Path("_static", "programs"), "index.json"
PLACE, SCRIPT = 'class="worklog-beside worklog-run"', "run.mjs"
SHAPES = ((8, 256), (3, 1003))
"""On which each kernel is run as it is written, to learn which of its lines ask memory: whole vectors, and ends of rows."""


def lengths(kernel: Kernel) -> Iterator[tuple[int, int, int]]:
    """At each block size the longest row, -1 of any, of each of its programs; and the floats that a thread then holds."""
    for size in kernel.block_sizes:
        if not kernel.per_thread:
            yield size, -1, 0
        lanes = dict(kernel.macros).get("LANES", size)
        for floats in kernel.per_thread:
            if floats <= kernel.largest_per_thread(size):
                yield size, lanes * floats, floats


def written_lines(kernel: Kernel) -> tuple[LineCounters, ...]:
    """Lines that ask memory for something, of the source as it is written."""
    shapes = {(rows, kernel.longer(cols)) for rows, cols in SHAPES}
    return tuple(line for shape in sorted(shapes) for line in xray(kernel, *shape, path="written").lines)  # fmt: skip


def write_kernel(kernel: Kernel, folder: Path) -> dict[str, Any] | None:
    """Its programs as files, where the archives have them; what a page has to know to launch it."""
    written, found = written_lines(kernel), []
    for size, most, floats in lengths(kernel):
        program = kernel.program(size, most if floats else kernel.longer(1))
        if find_code(program, ARCH):
            name = f"{kernel.name}-{size}" + f"-{floats}" * bool(floats)
            found.append([size, most, name])
            for step in kernel.steps:
                entry = step.entry if kernel.entries else ""
                decoded = decode_program(program, ARCH, entry)
                more = tell_lines(decoded, kernel.source, written, step.arguments)
                more["shared"] = shared_arrays(program, ARCH, entry, 0)
                content = gzip.compress(carried.carry(decoded, **more), 9, mtime=0)
                (folder / f"{name}.{step.entry}").write_bytes(content)
    if not found:
        return None
    source = {kernel.source.file_name: kernel.source.text, **kernel.source.headers}
    (folder / f"{kernel.name}.json").write_text(json.dumps(source), encoding="utf-8")
    steps = [{name: getattr(step, name) for name in ("entry", "grid", "arguments", "elements_a_thread", "lanes", "turns")} for step in kernel.steps]  # fmt: skip
    sizes = [[size, kernel.max_cols(size)] for size in kernel.block_sizes]
    return {
        "sizes": sizes, "programs": found, "steps": steps, "scratch": kernel.scratch, "vector": kernel.vector, "thread_share": kernel.thread_share,
        "default": kernel.default_block_size,
    }  # fmt: skip


def write_programs(app: Sphinx, error: Exception | None) -> None:
    """All of them and a list of them, unless they are there as they would be made."""
    if error or app.builder.name != "html":
        return
    folder = Path(app.outdir, FOLDER, f"sm_{ARCH}")
    index = folder / INDEX
    made_of = _digest()
    if index.exists() and json.loads(index.read_text())["made_of"] == made_of:
        return
    folder.mkdir(parents=True, exist_ok=True)
    found = {kernel.name: write_kernel(kernel, folder) for kernel in kernels.values()}
    content = {"made_of": made_of, "kinds": KINDS, "kernels": {name: one for name, one in found.items() if one}}  # fmt: skip
    index.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")


def add_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Load it on pages that have the place, and on no other."""
    if app.builder.name == "html" and PLACE in context.get("body", ""):
        app.add_js_file(SCRIPT, type="module")


def _digest() -> str:
    """Of machine code, kernels, and what decodes and tells of them."""
    code = [*Path(carried.__file__).parents[1].rglob("*.py"), Path(__file__)]
    archive = (listing_folder() / f"sm_{ARCH}.zip").read_bytes()
    made_of = [
        library.digest(),
        library.digest_of(code),
        *(kernel.digest for kernel in kernels.values()),
    ]
    return hashlib.sha256(archive + repr(made_of).encode()).hexdigest()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above to the build."""
    app.connect("build-finished", write_programs)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
