"""Write the machine code that comes along, what NVRTC makes of the book's kernels for three archs, and PTX for one.

`python book/publish/listings.py` compiles what is in the archives of `kernels/listings` where its source, setting or
cell has changed, or another compiler made it; with `--anew` it compiles all of it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO
from itertools import product
from pathlib import Path
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

import nbformat
import numpy as np

from softmax_lib import selections
from softmax_lib.engine.caches import replace_file
from softmax_lib.engine.compiled.code import (
    compile_code,
    disassembler_version,
    file_of,
    files_in,
    key_of,
    read_content,
    read_file,
)
from softmax_lib.engine.compiled.inspection import SHOWN_ARCHS
from softmax_lib.engine.compiled.ptx.program import listed_ptx, ptx_file_of
from softmax_lib.engine.folders import listing_folder
from softmax_lib.engine.source import Program, Source
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.engine.words import count
from softmax_lib.engine.xrays.machine_path import ARCH
from softmax_lib.gpu.compile import compiler
from softmax_lib.ops.designs import Task
from softmax_lib.ops.xray import outline_of
from softmax_lib.show.live.cells import read_line, softmax_in
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.launch_words import is_any_kernel, read_launch
from softmax_lib.worklog.registry import broken, hopper, kernels

BOOK = Path(__file__).parents[1]
LONGEST = 32768
"""Of the rows that the book launches its kernels on."""

SHOWN_COLS = 4096
"""Of the rows on which the book shows machine code and PTX."""

MOST_FLOATS = 32
"""Per thread, in what a reader runs at block sizes that a kernel doesn't choose; half of it in a control."""

BEHIND_SOFTMAX = ((4096, 64), (256, 4096), (64, 8192), (16, 32768), (8, 262144))
"""Matrices for which the page on machine code shows what `softmax()` launches on an H100 or H200."""


def programs() -> Iterator[Program]:
    """What comes along: each kernel at the block sizes that it chooses, what chapters set otherwise, and cells with CUDA."""
    for kernel in kernels.values():
        yield from _of_kernel(kernel)
    for turns, loads in ((8, 1), (1, 8)):  # chapter 9's
        yield kernels["unroll"].setting(UNROLL=turns, IN_FLIGHT=loads).program(1024, LONGEST)
    for lanes in kernels["warp"].choices:  # chapter 10's
        yield kernels["warp"].setting(LANES=lanes).program(128, 96)
    x = np.zeros((4, 8192), np.float32)  # chapter 11's
    for name in selections.kernels:
        for words in selections.select(name, x, k=5).launches:
            yield _launched(words)
    with_cuda = [path for path in BOOK.glob("*.ipynb") if "%%cuda" in path.read_text("utf-8")]
    for path in sorted(with_cuda):
        for cell in nbformat.read(path, as_version=4).cells:
            # one without a body asks for nothing
            if re.match("%%cuda(?!.*--operator)", cell.source):
                yield _of_cell(*cell.source.split("\n", 1))


def _of_kernel(kernel: Kernel) -> Iterator[Program]:
    """One for each setting that it has on rows of up to `LONGEST` elements, at the block size that it chooses."""
    shares = {size * (kernel.thread_share or 1) for size in kernel.block_sizes}
    teams = set(map(kernel.threads_a_row, kernel.block_sizes))
    ends = shares | {threads * floats for threads in teams for floats in kernel.per_thread}
    lengths = {kernel.longer(length) for end in ends for length in (1, end, end + 1)}
    most = min(LONGEST, max(map(kernel.max_cols, kernel.block_sizes)))
    for cols in sorted(length for length in lengths if length <= most):
        size = kernel.choose_block_size(cols)
        if cols <= kernel.max_cols(size):
            yield kernel.program(size, cols)


def lengths(kernel: Kernel) -> Iterator[tuple[int, int, int, int]]:
    """At each block size, of each of its programs: rows longer than the first number take it, up to the second; its floats a thread.

    At block sizes that the kernel doesn't choose these are `MOST_FLOATS` at most.
    """
    at_most = MOST_FLOATS // 2 if kernel.of else MOST_FLOATS
    for size in kernel.block_sizes:
        threads = kernel.threads_a_row(size)
        mosts = [threads * floats for floats in kernel.per_thread] or [kernel.max_cols(size)]
        for least, most, floats in zip((0, *mosts), mosts, kernel.per_thread or (0,), strict=False):
            if most > kernel.max_cols(size):
                break
            if floats <= at_most or size == kernel.choose_block_size(most):
                yield size, least, most, floats


def in_pages() -> tuple[Kernel, ...]:
    """The kernels that a reader can run in a page."""
    return (*kernels.values(), hopper["cluster"], *broken)


def _in_pages() -> Iterator[Program]:
    """Their programs, of which all block sizes come along for one arch, and what chapter 14 has of it alone."""
    for blocks in (1, 2, 4, 8):
        yield hopper["cluster"].setting(CLUSTER=blocks).program(128, 16384)
    for kernel in in_pages():
        for size, _, most, _ in lengths(kernel):
            yield kernel.program(size, most)


def _launched(words: dict) -> Program:
    return LaunchSpec.of(words.pop("source"), words.pop("grid"), words.pop("block"), words.pop("args"), **words).program  # fmt: skip


def _of_cell(line: str, text: str) -> Program:
    given = read_line(line.removeprefix("%%cuda"))
    source = Source(f"{given.name}.cu", f"{text}\n")  # as IPython hands it over
    if is_any_kernel(given):
        return _launched(read_launch(given, source)[0])
    kernel = softmax_in(source, given)
    return kernel.program(kernel.settle_block_size(given.block_size, given.cols), given.cols)


def ptx_programs() -> Iterator[Program]:
    """Of these PTX comes along: each kernel of the book as it is launched on rows of `SHOWN_COLS` floats.

    One arch is enough, since for the others it is the same text.
    """
    for kernel in kernels.values():
        size = kernel.choose_block_size(SHOWN_COLS)
        if kernel.max_cols(size) >= SHOWN_COLS:
            yield kernel.program(size, SHOWN_COLS)


def by_file() -> dict[Path, dict[str, tuple[Program, int]]]:
    """What each file of each archive is to hold: by key the program, and the arch."""
    wanted: dict[Path, dict[str, tuple[Program, int]]] = {}
    tasks = [Task(*shape, "float32", "float32") for shape in BEHIND_SOFTMAX]
    behind_softmax = [outline_of(task, 1, ARCH)[1].build.program for task in tasks]
    of_one_arch = (*behind_softmax, *_in_pages())
    for program, arch in (*product(programs(), SHOWN_ARCHS), *product(of_one_arch, [ARCH])):
        if arch == ARCH or not program.source.mentions("__cluster_dims__"):
            wanted.setdefault(file_of(program, arch), {})[key_of(program)] = (program, arch)
    for program in ptx_programs():
        wanted.setdefault(ptx_file_of(program, ARCH), {})[key_of(program)] = (program, ARCH)
    return wanted


def is_ptx(path: Path) -> bool:
    """Whether a file holds PTX, and not machine code."""
    return path.parent.stem.startswith("ptx_")


def is_current(path: Path, wanted: Iterable[str]) -> bool:
    """Whether a file holds just these programs, made by the tools that are here."""
    held = read_file(path)
    made_by = {one["made_by"] for one in held.values()}
    return held.keys() == set(wanted) and made_by == {made_here(path)}


def made_here(path: Path) -> str:
    """The tools of this machine that make what is in a file, as `made_by` names them there."""
    return compiler() if is_ptx(path) else f"{compiler()}, nvdisasm {disassembler_version()}"


def compile_file(path: Path, wanted: dict[str, tuple[Program, int]]) -> bytes:
    """What a file is to hold."""
    make = listed_ptx if is_ptx(path) else lambda *one: compile_code(*one).as_json()
    held = {key: make(*one) for key, one in sorted(wanted.items())}
    return json.dumps(held, sort_keys=True).encode()


def packed(files: Mapping[str, bytes]) -> bytes:
    """An archive of files by name, of the same bytes whenever and wherever it is made."""
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for name, content in sorted(files.items()):
            entry = ZipInfo(name)  # of 1980
            entry.compress_type = ZIP_LZMA
            entry.create_system, entry.external_attr = 3, 0o644 << 16  # a file of Unix
            archive.writestr(entry, content)
    return made.getvalue()


def main() -> None:
    try:
        wanted = by_file()
    except BadInput as error:  # a control that replaces what its kernel no longer has
        sys.exit(str(error))
    anew = "--anew" in sys.argv[1:]
    old = {path: keys for path, keys in wanted.items() if anew or not is_current(path, keys)}
    print(f"{len(wanted) - len(old)} of {len(wanted)} files are as new as their sources.")
    compiled = {}
    with ProcessPoolExecutor() as pool:
        for path, content in zip(old, pool.map(compile_file, old, old.values()), strict=True):
            compiled[path] = content
            done = f"{path.relative_to(listing_folder())}: {count(len(old[path]), 'program')}"
            print(done, flush=True)
    for archive in sorted({path.parent for path in wanted} | set(listing_folder().glob("*.zip"))):
        files = [path for path in wanted if path.parent == archive]
        print(write(archive, {path: compiled.get(path) or read_content(path) for path in files}))


def write(archive: Path, files: Mapping[Path, bytes]) -> str:
    """Make an archive hold just these files; returns a line that says how it went."""
    if not files:
        archive.unlink()
        return f"{archive.name}: removed"
    if files == {path: read_content(path) for path in files_in(archive)}:
        return f"{archive.name}: unchanged"
    content = packed({path.name: held for path, held in files.items()})
    archive.parent.mkdir(parents=True, exist_ok=True)
    replace_file(archive, content)
    return f"{archive.name}: {count(len(files), 'file')}, {len(content)} bytes"


if __name__ == "__main__":
    main()
