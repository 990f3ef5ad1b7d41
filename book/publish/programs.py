"""Sphinx extension: the machine code of the book's kernels, as the interpreter in a page takes it."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import listings
from sphinx.application import Sphinx

from softmax_lib import xray
from softmax_lib.engine.compiled import carried, library
from softmax_lib.engine.compiled.code import find_code
from softmax_lib.engine.compiled.counters import KINDS
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.folders import listing_folder
from softmax_lib.engine.xrays.lines import LineCounters
from softmax_lib.engine.xrays.machine_lines import tell_lines
from softmax_lib.show.drawings.margins import STYLE
from softmax_lib.worklog.kernel import Kernel

ARCHS = (75, 80, 90)
"""At every block size for the last one; for those before at the default one, rungs at those that rows ask for."""

FOLDER, INDEX = Path("_static", "programs"), "index.json"
PLACE, SCRIPT = 'class="worklog-beside worklog-run"', "run.mjs"
SHAPES = ((32, 256), (32, 1003))
"""On which each kernel is run as it is written, to learn which of its lines ask memory: whole vectors, and ends of rows.

With so many rows a thread a row has none too many.
"""


def written_lines(kernel: Kernel) -> tuple[LineCounters, ...]:
    """Lines that ask memory for something, of the source as it is written."""
    shapes = {(rows, kernel.longer(cols)) for rows, cols in SHAPES}
    return tuple(line for shape in sorted(shapes) for line in xray(kernel, *shape, path="written").lines)  # fmt: skip


def write_kernel(kernel: Kernel, folder: Path) -> dict[str, Any]:
    """Its programs as files, where the archives have them; what a page has to know to launch it."""
    written = written_lines(kernel)
    found = {
        arch: [*_write_programs(kernel, arch, written, folder / f"sm_{arch}")] for arch in ARCHS
    }
    source = {kernel.source.file_name: kernel.source.text, **kernel.source.headers}
    (folder / f"{kernel.name}.json").write_text(json.dumps(source), encoding="utf-8")
    steps = [{name: getattr(step, name) for name in ("entry", "grid", "arguments", "elements_a_thread", "lanes", "turns", "cluster")} for step in kernel.steps]  # fmt: skip
    sizes = [[size, kernel.max_cols(size)] for size in kernel.block_sizes]
    return {
        "programs": {arch: those for arch, those in found.items() if those}, "sizes": sizes, "steps": steps,
        "scratch": kernel.scratch, "vector": kernel.vector, "thread_share": kernel.thread_share and kernel.thread_share * kernel.cluster,
        "default": kernel.default_block_size, "stem": kernel.stem, "changes": kernel.changes,
    }  # fmt: skip


def _write_programs(
    kernel: Kernel, arch: int, written: Iterable[LineCounters], folder: Path
) -> Iterator[tuple[int, int, int, int]]:
    """The `lengths` of each, whose files begin with its kernel, block size and floats."""
    for size, least, most, floats in listings.lengths(kernel):
        is_default = size == kernel.default_block_size
        is_chosen = is_default and floats <= listings.MOST_FLOATS if kernel.foil else is_default or kernel.thread_share  # fmt: skip
        program = kernel.program(size, most)
        if not find_code(program, arch) or (arch < ARCHS[-1] and not is_chosen):
            continue
        name = f"{kernel.name}-{size}" + f"-{floats}" * bool(floats)
        for step in kernel.steps:
            decoded = decode_program(program, arch, step.entry if kernel.entries else "")
            more = tell_lines(decoded, kernel.source, written, step.arguments)
            content = gzip.compress(carried.carry(decoded, **more), 9, mtime=0)
            (folder / f"{name}.{step.entry}").write_bytes(content)
        yield size, least, most, floats


def write_programs(folder: Path) -> None:
    """All of them and a list of them, unless they are there as they would be made."""
    index = folder / INDEX
    made_of = _digest()
    if index.exists() and json.loads(index.read_text())["made_of"] == made_of:
        return
    for arch in ARCHS:
        (folder / f"sm_{arch}").mkdir(parents=True, exist_ok=True)
    found = {kernel.name: write_kernel(kernel, folder) for kernel in listings.in_pages()}
    content = {"made_of": made_of, "kinds": KINDS, "kernels": found}
    index.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")


def begin(app: Sphinx) -> None:
    """Write them beside the pages, by a process of its own."""
    if app.builder.name == "html":
        pool = ProcessPoolExecutor(1)
        app.connect("build-finished", lambda *_: writing.result())
        writing = pool.submit(write_programs, Path(app.outdir, FOLDER))
        pool.shutdown(wait=False)


def add_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Load it on pages that have the place, and on no other, with the style of tables of counters."""
    if app.builder.name == "html" and PLACE in context.get("body", ""):
        context["body"] += STYLE
        app.add_js_file(SCRIPT, type="module")


def _digest() -> str:
    """Of machine code, kernels, and what decodes and tells of them."""
    code = [
        *Path(carried.__file__).parents[1].rglob("*.py"),
        Path(__file__),
        Path(listings.__file__),
    ]
    archives = b"".join((listing_folder() / f"sm_{arch}.zip").read_bytes() for arch in ARCHS)
    made_of = [
        library.digest(),
        library.digest_of(code),
        *(kernel.digest for kernel in listings.in_pages()),
    ]
    return hashlib.sha256(archives + repr(made_of).encode()).hexdigest()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", begin)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
