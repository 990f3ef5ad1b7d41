"""What kernels exist: name, file, launch shape, limits and traffic. Launch facts live here and nowhere else."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from softmax_lib.engine.source import Edit, Program, Source
from softmax_lib.engine.words import hint
from softmax_lib.worklog.errors import BadInput, UnknownKernel, WrongType
from softmax_lib.worklog.files import KERNEL_FOLDER
from softmax_lib.worklog.kernel import POWERS_OF_TWO, Grid, Kernel, Pattern, Step

FLOATS_A_THREAD = (4, 8, 16, 32, 64, 128)
FLOATS_A_LANE = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""How many floats of its row a thread may keep: one compilation for each."""


def _one_step(
    stem: str, grid: Grid, passes: int, pattern: Pattern, lanes: int = 1, **facts: Any
) -> Kernel:
    """A kernel of one launch that reads its matrix in so many `passes` and writes it in one, all spread alike."""
    name = stem[3:]
    steps = (Step(f"softmax_{name}", grid, lanes=lanes),)
    return Kernel(name, stem, steps, passes * (pattern,), (pattern,), **facts)


_FILES = (
    _one_step("01_unsafe", "thread a row", 2, "row a thread", default_block_size=32, foil=True,
             flaw="exp overflows above 88.7 and underflows below -103"),
    _one_step("03_naive", "thread a row", 3, "row a thread", default_block_size=32),
    Kernel("per_element", "03_per_element",
           (Step("softmax_per_element", "thread an element"),), ("same row", "same row", "contiguous"), ("contiguous",),
           foil=True),
    Kernel("naive_passes", "03_passes",
           (Step("softmax_passes_max", "thread a row", ("x", "row_max", "rows", "cols")),
            Step("softmax_passes_sum", "thread a row", ("x", "row_max", "row_sum", "rows", "cols")),
            Step("softmax_passes_write", "thread a row", ("x", "row_max", "row_sum", "y", "rows", "cols"))),
           3 * ("row a thread",), ("row a thread",), default_block_size=32, foil=True),
    _one_step("04_online", "thread a row", 2, "row a thread", default_block_size=32),
    _one_step("04_max_from_zero", "thread a row", 2, "row a thread", default_block_size=32, foil=True,
             flaw="a row whose values all lie below -103 sums to 0"),
    Kernel("online_passes", "04_passes",
           (Step("softmax_passes_online", "thread a row", ("x", "row_max", "row_sum", "rows", "cols")),
            Step("softmax_passes_write", "thread a row", ("x", "row_max", "row_sum", "y", "rows", "cols"))),
           2 * ("row a thread",), ("row a thread",), default_block_size=32, foil=True),
    _one_step("05_shared", "block a row", 2, "strided", block_sizes=POWERS_OF_TWO, thread_share=8),
    _one_step("05_chunked", "block a row", 2, "chunk a thread", block_sizes=POWERS_OF_TWO, default_block_size=1024,
             foil=True),
    _one_step("06_textbook", "block a row", 2, "strided", thread_share=4, foil=True),
    _one_step("06_shuffle", "block a row", 2, "strided", thread_share=4),
    _one_step("06_shuffle_plain", "block a row", 2, "strided", thread_share=4, foil=True, suite="shown"),
    _one_step("07_float4", "block a row", 2, "strided float4", thread_share=16),
    _one_step("07_float4_aligned", "block a row", 2, "strided float4", thread_share=16, vector=4, foil=True,
             suite="shown"),
    _one_step("08_fusion", "block a row", 1, "strided float4", block_sizes=POWERS_OF_TWO, thread_share=16,
             per_thread=FLOATS_A_THREAD, in_place=True),
    _one_step("08_fusion_aligned", "block a row", 1, "strided float4", block_sizes=POWERS_OF_TWO, thread_share=16,
             per_thread=FLOATS_A_THREAD, vector=4, in_place=True, foil=True, suite="shown"),
    Kernel("unfused", "08_unfused",
           (Step("softmax_unfused_max", "block a row", ("x", "row_max", "rows", "cols")),
            Step("softmax_unfused_exp", "block a row", ("x", "row_max", "y", "rows", "cols")),
            Step("softmax_unfused_sum", "block a row", ("y", "row_sum", "rows", "cols")),
            Step("softmax_unfused_divide", "block a row", ("row_sum", "y", "rows", "cols"))),
           ("strided", "strided", "value of the row", "strided", "strided", "value of the row"), 2 * ("strided",),
           thread_share=4, foil=True),
    _one_step("09_unroll", "block a row", 2, "strided float4", thread_share=16,
             macros=(("UNROLL", 1), ("IN_FLIGHT", 4)), choices=(1, 2, 4, 8), foil=True, suite="unroll"),
    _one_step("09_unroll_aligned", "block a row", 2, "strided float4", thread_share=16, vector=4,
             macros=(("UNROLL", 1), ("IN_FLIGHT", 4)), choices=(1, 2, 4, 8), foil=True, suite="shown"),
    _one_step("10_warp", "lanes a row", 1, "by lanes", lanes=32, default_block_size=128, per_thread=FLOATS_A_LANE,
             macros=(("LANES", 32), ("TURNS", 1)), choices=(1, 2, 4, 8, 16, 32), in_place=True, foil=True, suite="warp"),
    _one_step("10_warp_plain", "lanes a row", 1, "by lanes", lanes=32, default_block_size=128, per_thread=FLOATS_A_LANE,
             macros=(("LANES", 32),), choices=(1, 2, 4, 8, 16, 32), in_place=True, foil=True, suite="shown"),
    _one_step("13_order_free", "block a row", 1, "strided", block_sizes=(128, 256, 512, 1024), thread_share=16,
             per_thread=FLOATS_A_THREAD, in_place=True, foil=True, suite="precision"),
)  # fmt: skip
"""One kernel a .cu file; a control, which is a file with something changed, comes after the last of these."""


def controls(files: tuple[Kernel, ...], file_name: str = "controls.toml") -> Iterator[Kernel]:
    """The controls of a file, each with the launch facts of the one among `files` that it is made of."""
    known = {kernel.name: kernel for kernel in files}
    text = (KERNEL_FOLDER / file_name).read_text(encoding="utf-8")
    for name, entry in tomllib.loads(text).items():
        base = known[entry["of"]]
        known[name] = replace(
            base,
            name=name,
            of=entry["of"],
            changes=entry["changes"],
            edits=base.edits + tuple(Edit(**edit) for edit in entry["edit"]),
            loads=tuple(entry.get("loads", base.loads)),
            stores=tuple(entry.get("stores", base.stores)),
            flaw=entry.get("flaw"),
            foil=True,
        )
        yield known[name]


_ALL = (*_FILES, *controls(_FILES))

kernels: Mapping[str, Kernel] = MappingProxyType({kernel.name: kernel for kernel in _ALL})
"""All kernels by name: rungs and foils in the order of the chapters, then the controls."""


_OF_CLUSTERS: dict[str, Any] = {
    "macros": (("CLUSTER", 8),), "choices": (1, 2, 4, 8, 16), "block_sizes": POWERS_OF_TWO, "thread_share": 16, "vector": 4,
    "in_place": True, "foil": True, "suite": "cluster",
}  # fmt: skip
_HOPPER = (
    Kernel("cluster", "14_cluster", (Step("softmax_cluster", "block a row", cluster=8),), ("strided float4",),
           ("strided float4",), per_thread=FLOATS_A_THREAD, **_OF_CLUSTERS),
    Kernel("tma", "14_tma", (Step("softmax_tma", "block a row", cluster=8),), ("strided float4",), ("strided float4",),
           share=48 * 1024, **_OF_CLUSTERS),
)  # fmt: skip

hopper: Mapping[str, Kernel] = MappingProxyType(
    {one.name: one for one in (*_HOPPER, *controls(_HOPPER, "14_controls.toml"))}
)
"""Chapter 14's kernels by name, which take a GPU of sm_90 or later; `kernels` has those for any."""

broken = tuple(controls(_FILES, "broken.toml"))
"""What chapters have a reader break, which a page runs and nobody measures."""

COPY = Kernel("copy", "02_copy",
              (Step("copy_float4", "thread an element", elements_a_thread=4),),
              ("contiguous",), ("contiguous",))  # fmt: skip
"""No softmax, and so not among `kernels`: what a measurement compares each of them with."""

with_copy: Mapping[str, Kernel] = MappingProxyType({**kernels, COPY.name: COPY})
"""All that can be run, and is recorded, by its name."""


def probe_digests() -> dict[str, str]:
    """What identifies each probe of the GPU itself, by the name that a record has for it."""
    files = sorted((KERNEL_FOLDER / "probes").glob("*.cu"))
    return {f"probes/{path.stem}": Program(Source.read(path)).digest for path in files}


def rungs() -> tuple[Kernel, ...]:
    """The kernels of the ladder, slowest first."""
    return tuple(kernel for kernel in _ALL if not kernel.foil)


def find_kernel(name: str) -> Kernel:
    """The kernel called `name`. Raises `UnknownKernel`, naming the nearest ones, or `WrongType`."""
    if not isinstance(name, str):
        raise WrongType(f"A kernel's name is a word, and not a {type(name).__name__}.")
    if found := kernels.get(name) or hopper.get(name):
        return found
    raise UnknownKernel(f"There is no kernel called {name!r}; {hint(name, kernels)}")


def resolve(
    kernel_or_source: str | Path | Kernel | Source, named: Mapping[str, Kernel] = kernels
) -> Kernel:
    """The kernel that a name among `named`, a .cu file, or CUDA text stands for.

    Text or a file needs exactly one `__global__` kernel taking
    (const float* x, float* y, int rows, int cols). One that is named as a kernel of this registry,
    `softmax_naive` say, is launched as that one is; any other as a block a row.
    A file's kernel is called as the file.
    Raises `UnknownKernel`, `WrongType` or `BadInput`.
    """
    given = kernel_or_source
    if isinstance(given, str):
        if given in named:
            return named[given]
        if "{" in given:
            given = Source("kernel.cu", given)
        elif given.endswith(".cu"):
            given = Path(given)
        else:
            return find_kernel(given)
    if isinstance(given, Path):
        read = _readers_kernel(Source.read(given))
        return replace(read, name=given.name.removesuffix(".cu"))
    if isinstance(given, Source):
        return _readers_kernel(given)
    if isinstance(given, Kernel):
        return given
    raise WrongType(
        f"A kernel is a name, a .cu file or CUDA text, and not a {type(given).__name__}."
    )


def _readers_kernel(given: Source) -> Kernel:
    if len(given.entries) != 1:
        found = ", ".join(given.entries) or "none"
        raise BadInput(
            f"{given.file_name} needs exactly one __global__ kernel taking "
            f"(const float* x, float* y, int rows, int cols); it has {found}; any other "
            "kernel is launched by its own words: xray_launch, or --grid, --block and --arg."
        )
    for kernel in (*_ALL, *hopper.values()):
        if kernel.steps[0].entry == given.entries[0]:
            return _within_bounds(replace(kernel, given_source=given, flaw=None))
    per_thread = FLOATS_A_THREAD if given.mentions("PER_THREAD") else ()
    name = given.file_name.removesuffix(".cu")
    steps = (Step(given.entries[0], "block a row"),)
    kernel = Kernel(
        name, name, steps, ("strided",), ("strided",), per_thread=per_thread, given_source=given
    )
    return _within_bounds(kernel)


def _within_bounds(kernel: Kernel) -> Kernel:
    """The same with no block size that its `__launch_bounds__` forbids."""
    declared = kernel.source.kernel(kernel.entries[0])
    most = declared.most_threads if declared else None
    if most is None:
        return kernel
    sizes = tuple(size for size in kernel.block_sizes if size <= most) or (most,)
    default = min(kernel.default_block_size, sizes[-1])
    return replace(kernel, block_sizes=sizes, default_block_size=default)


# ---- what a reader may not expect of how a kernel of theirs is launched

_OTHER_AXES = re.compile(r"\b(?:threadIdx|blockIdx)\s*\.\s*[yz]\b")
_SHARES = {
    "thread a row": "one thread per row",
    "lanes a row": "some lanes of a warp per row",
    "thread an element": "one thread per element",
    "clusters": "a cluster of blocks per row",
}


def notes_on(kernel: Kernel) -> tuple[str, ...]:
    """Sentences on the launch of a reader's own kernel, where it is not one block per row along x alone."""
    grid = "clusters" if kernel.cluster > 1 else kernel.steps[0].grid
    share = _SHARES.get(grid) if kernel.given_source else None
    named = f"{kernel.steps[0].entry} is launched as the book's kernel of that name: {share}."
    return tuple(note for note in (share and named, note_on_axes(kernel)) if note)


def note_on_axes(kernel: Kernel) -> str | None:
    """That the other axes, of which the source of a reader's kernel makes use, are 0; else None."""
    if kernel.given_source is None:
        return None
    code = kernel.given_source.code
    used = sorted({re.sub(r"\s", "", found) for found in _OTHER_AXES.findall(code)})
    if not used:
        return None
    return f"It is launched in one dimension, where {' and '.join(used)} {'are' if used[1:] else 'is'} 0."
