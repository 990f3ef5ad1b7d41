"""Check everything that needs a GPU and write the summary, tests/gpu_run.json: `python tests/gpu_run.py`.

Runs the tests marked `gpu`, the compilations with that machine's NVRTC, and every kernel without a flaw under
each tool of compute-sanitizer; what it needs beside a GPU it asks for first. A test without a GPU then asserts
that no kernel has changed since (test_gpu_run.py). Wants two GPUs: with one, the tests of the second are skipped.
Each part is written down as it ends: after a run that was cut short, or in which some tests failed, or where only
kernels of kernels/fast have changed, the next one does what is left, else all of it anew.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from itertools import product
from multiprocessing.pool import ThreadPool
from pathlib import Path
from threading import Lock
from xml.etree import ElementTree

from engine.kernel_tables import read_kernels

from softmax_lib import check, hopper, kernels, selections, tiles
from softmax_lib.engine.compiled.code import disassembler
from softmax_lib.engine.source import Program, Source
from softmax_lib.gpu.facts import gpu_facts, today, versions
from softmax_lib.ops.outlines import FOLDER
from softmax_lib.worklog.checking import LENGTHS
from softmax_lib.worklog.files import write_json

TESTS = Path(__file__).parent
CHECKED = {**kernels, **hopper, **selections.kernels, **tiles.kernels}
"""All that a chapter launches, by name."""
SUMMARY = TESTS / "gpu_run.json"
GPU_TESTS = (
    "engine/test_any_kernel.py",
    "worklog",
    "suites",
    "gpu",
    "show/live",
    "cli",
    "ops",
    "sharded",
)
"""Where tests marked `gpu` or `nvrtc` are; the others need packages that a machine with a GPU may lack."""
OPS_TESTS = ("ops", "sharded")
"""Those of kernels/fast."""
FUNCTION_TESTS = ("integer_functions", "math", "rounding", "sixteen_bits", "vector_types")
"""Tests of what CUDA's functions return, in engine/written/: here they run on the GPU, which they have to be true of."""
NEEDED = {
    "pytest-xdist": "xdist",
    "hypothesis": "hypothesis",
    "expecttest": "expecttest",
    "ipywidgets": "ipywidgets",
    "triton": "triton",
    "the module of C (`python setup.py build_ext --inplace` makes it)": "softmax_lib.ops._calls",
}
"""What the tests there import, by what it is called where it is missing."""
FAST_SANITIZED = (
    (5, 3), (33_000, 7), (5, 96), (5, 97), (3, 1000), (3, 4099), (3, 16_384), (2, 40_001), (2, 131_072), (1, 300_001), (3, 1 << 20),
    (80, 37, 7), (64, 300, 32), (64, 520, 32),
)  # fmt: skip
"""Shapes on which `softmax()` is watched along its second dimension: each regime, with edges and without."""
LARGE_SANITIZED = ((2051, 64), (5, 1024), (3, 4096), (3, 16_385), (2, 32_768), (2, 65_536))
"""Shapes on which it is watched as if they were larger than L2."""
PACKED_SANITIZED = ((17, 262_143),)
"""The same, where two blocks of a cluster of more than 8 share a multiprocessor."""
TOPK_SANITIZED = (
    (5, 100, 8), (5, 101, 30), (3, 5001, 5), (600, 1500, 40), (2, 40_003, 128), (3, 250_000, 20),
)  # fmt: skip
"""Rows, lengths and k on which `softmax_topk()` is watched: short rows, a warp each, a block each, several blocks each."""
SHARDED_SANITIZED = ((5, 96), (300, 1000), (900, 4099), (3, 40_000))
"""Shapes on which kernels of `softmax_lib.distributed` are watched, where a rank meets itself: a sanitizer runs one at a time."""
SANITIZED = (3, 33, 1001, 4099)
"""Row lengths on which foils are watched: less than a float4, a ragged warp, no multiple of 4, several turns."""
SEVERAL_AT_ONCE = ("-n", str(max(1, (os.cpu_count() or 1) // 2)), "--dist", "worksteal")
"""For pytest-xdist: half of the cores, since several such runs go side by side."""
MUCH_MEMORY = {"sound": Lock()}
"""Parts that are not watched by two tools at once: frames of 80 KB, of all threads that a GPU holds, take 21 GB."""
SECONDS_A_TOOL, TIMED_OUT = (150, 300), 124
"""For a sanitizer, and again where it has not come back: once in fifty runs one of them hangs."""
WATCHES = "SANITIZER"
"""The variable of the environment that says by which tool a process is watched."""
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
MISJUDGED = {("synccheck", "packed")}
"""Tools that take a part's sound kernels for wrong. synccheck 2025.3 reports a missing wait in blocks 8 and later
of a packed cluster; it does so too where no block touches another's barrier, and not with a multiprocessor a block."""


def run_pytest(*arguments: str, **environment: str) -> dict[str, int]:
    """Run tests; how many passed, failed, had errors and were skipped, by pytest's own report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += [f"--junit-xml={report}", "-o", "junit_family=xunit1", *arguments]
        subprocess.run(command, cwd=TESTS.parent, env=os.environ | environment)
        suites = list(ElementTree.parse(report).getroot().iter("testsuite"))  # raises without one
    names = ("tests", "failures", "errors", "skipped")
    total, failed, errors, skipped = (sum(int(of.get(one, 0)) for of in suites) for one in names)
    passed = total - failed - errors - skipped
    return {"passed": passed, "failed": failed, "errors": errors, "skipped": skipped}


def run_sanitizer(tool: str, part: str) -> int:
    """Check some sound kernels under one tool of compute-sanitizer; how many errors it reports."""
    # initcheck has to see torch's kernels too, which fill the matrices
    name = "mine" if part == "sound" else "softmax_"
    ours = [] if tool == "initcheck" else ["--kernel-name", f"kernel_substring={name}"]
    command = ["compute-sanitizer", "--tool", tool, *ours, sys.executable, __file__, part]
    begun, watched = time.monotonic(), os.environ | {WATCHES: tool}
    with MUCH_MEMORY.get(part, nullcontext()):
        for seconds in SECONDS_A_TOOL:
            limited = ["timeout", "--kill-after=5", str(seconds), *command]
            done = subprocess.run(limited, stdout=subprocess.PIPE, text=True, env=watched)
            if done.returncode != TIMED_OUT:
                break
    errors = re.search(r"SUMMARY: (\d+) (errors?|hazards?)", done.stdout)
    if done.returncode or not errors:
        raise RuntimeError(
            f"compute-sanitizer --tool {tool} did not finish:\n{done.stdout[-3000:]}"
        )
    said = done.stdout[:2000] if int(errors[1]) else "found nothing"
    print(f"{tool}, {part}: {said} in {time.monotonic() - begun:.0f} s", flush=True)
    return int(errors[1])


def run_functions() -> dict[str, int]:
    """The tests of CUDA's functions, with the functions on the GPU."""
    paths = [f"tests/engine/written/test_{name}.py" for name in FUNCTION_TESTS]
    return run_pytest("--tier", "all", *SEVERAL_AT_ONCE, *paths, FUNCTIONS_ON="cuda")


def run_gpu_tests(names: Iterable[str]) -> dict[str, int]:
    """The tests of these files and folders that need a GPU or its NVRTC, several at once."""
    paths = [f"tests/{name}" for name in names]
    marked = "(gpu or nvrtc) and not alone"
    return run_pytest("--tier", "all", "-m", marked, *SEVERAL_AT_ONCE, *paths)


def run_tests_alone() -> dict[str, int]:
    """The tests that assert times, one by one: nothing else may use the GPU meanwhile."""
    return run_pytest("--tier", "all", "-m", "alone", *(f"tests/{name}" for name in GPU_TESTS))


def digest_kernels() -> dict[str, str]:
    """Of each that a chapter launches."""
    return {name: kernel.digest for name, kernel in CHECKED.items()}


def digest_fast_kernels() -> dict[str, str]:
    """Of each file of kernels/fast that has a kernel, with what it includes."""
    return {path.stem: Program(Source.read(path)).digest for path in sorted(FOLDER.glob("*.cu"))}


def run_sanitizers() -> dict[str, int]:
    """Errors that each tool reports."""
    runs = [run for run in product(TOOLS, PARTS) if run not in MISJUDGED]
    errors = dict.fromkeys(TOOLS, 0)
    with ThreadPool(len(runs)) as pool:
        for (tool, _), found in zip(runs, pool.starmap(run_sanitizer, runs), strict=True):
            errors[tool] += found
    return errors


def check_rungs() -> None:
    """What a sanitizer watches: each sound kernel on adversarial rows, rungs of every length, none wrong."""
    for kernel in (*kernels.values(), *hopper.values()):
        if kernel.flaw is None:
            lengths = SANITIZED if kernel.foil else LENGTHS
            assert check(kernel, device="cuda", lengths=lengths).ok, kernel.name


def check_fast_kernels() -> None:
    """What a sanitizer watches of `softmax()`: each regime, and lines of its table for large matrices."""
    check_softmax(FAST_SANITIZED)
    check_large(LARGE_SANITIZED)


def check_large(shapes: Sequence[tuple[int, ...]]) -> None:
    """Check `softmax()` as if each matrix were larger than L2."""
    from softmax_lib.ops import designs

    designs.L2_BYTES = 0
    check_softmax(shapes)


def check_softmax(shapes: Sequence[tuple[int, ...]]) -> None:
    """Both passes in 32 and 16 bits, and scores, against torch's."""
    import torch

    from softmax_lib import softmax

    for shape in shapes:
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(shape, device="cuda").to(dtype).requires_grad_()
            y = softmax(x, 1)
            y.backward(x.detach())
            torch.testing.assert_close(y, torch.softmax(x, 1))
            few = x.detach()[:3]
            mask = torch.zeros_like(few[0])
            torch.testing.assert_close(softmax(few, -1, scale=1, mask=mask), torch.softmax(few, -1))


def check_topk() -> None:
    """What a sanitizer watches of `softmax_topk()`, and of the kernels of chapter 11 without a flaw."""
    import torch

    from softmax_lib import selections, softmax_topk

    for name, kernel in selections.kernels.items():
        assert kernel.flaw or selections.check(name, device="cuda").ok, name
    for rows, cols, k in TOPK_SANITIZED:
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(rows, cols, device="cuda").to(dtype)
            order = torch.sort(x, dim=-1, descending=True, stable=True)[1]
            assert torch.equal(softmax_topk(x, k).indices, order[:, :k])


def check_sharded() -> None:
    """What a sanitizer watches of `softmax_lib.distributed`."""
    import torch

    from softmax_lib.distributed.rooms import Room, slot_bytes
    from softmax_lib.ops.topk import search

    slots = torch.zeros(slot_bytes(1), dtype=torch.uint8, device="cuda")
    room = Room(0, 0, 1, [slots.data_ptr()], slots)
    for shape in SHARDED_SANITIZED:
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(shape, device="cuda").to(dtype)
            y, dx = torch.empty_like(x), torch.empty_like(x)
            room.run(x, None, y, False, 60)
            room.run(y, x, dx, False, 60)
            torch.testing.assert_close(y, torch.softmax(x, -1))
            values, columns = x.new_empty(shape[0], 8), torch.empty(shape[0], 8, dtype=torch.int64, device="cuda")  # fmt: skip
            room.find(x, *search(x, 8), values, columns, 60)
            assert torch.equal(columns, torch.sort(x, dim=-1, descending=True, stable=True)[1][:, :8])  # fmt: skip
            found, wholes = x.new_empty(shape[0], 1, dtype=torch.float32), x.new_empty(shape[0], 2, dtype=torch.float32)  # fmt: skip
            room.find(x, columns[:, :1].contiguous(), search(x, 1)[1], found, wholes, 60, log=True)
            room.lose(x, columns[:, 0].contiguous(), dx, wholes, torch.ones_like(found))
    torch.cuda.synchronize()
    room.check(60)


def check_tiles() -> None:
    """What a sanitizer watches of chapter 12's Triton kernels."""
    for name in tiles.kernels:
        assert tiles.check(name, device="cuda").ok, name


def check_sound_kernels() -> None:
    """What a sanitizer watches of the table of kernels that raise no alarm in an x-ray: each, once."""
    import torch

    from softmax_lib.gpu import launch

    _, sound = read_kernels()
    for written in sound.values():
        if os.environ[WATCHES] in written.wrong:
            continue
        rows, cols, block = (written.shape[name] for name in ("rows", "cols", "block"))
        x, y = torch.randn(rows, cols, device="cuda"), torch.empty(rows, cols, device="cuda")
        launch(written.source, rows, block, [x, y, rows, cols])
    torch.cuda.synchronize()


PARTS = {
    "sound": check_sound_kernels,
    "rungs": check_rungs,
    "fast": check_fast_kernels,
    "topk": check_topk,
    "sharded": check_sharded,
    "tiles": check_tiles,
    "packed": partial(check_large, PACKED_SANITIZED),
}
"""What is checked under each tool, by what this file is called with."""


def require_all() -> None:
    """Raises `SystemExit` with what is missing here, without which tests would fail or be left out."""
    missing = [name for name, module in NEEDED.items() if find_spec(module) is None]
    if shutil.which("compute-sanitizer") is None:
        missing.append("compute-sanitizer")
    if disassembler() is None:
        missing.append("nvidia-cuda-nvdisasm")
    if missing:
        raise SystemExit(f"The run on a GPU needs, and does not find: {', '.join(missing)}.")


def is_sound(found: dict[str, int]) -> bool:
    """Whether a part found nothing wrong."""
    return not any(n for name, n in found.items() if name not in ("passed", "skipped"))


def kept() -> dict:
    """What the summary has of these kernels, on such a machine: of its parts those that found nothing wrong, unless all did."""
    now = {
        "gpu": gpu_facts(), "software": versions(), "kernels": digest_kernels(), "fast_kernels": digest_fast_kernels(),
    }  # fmt: skip
    before = json.loads(SUMMARY.read_text(encoding="utf-8"))
    sound = {name: before[name] for name in RUNS if name in before and is_sound(before[name])}
    changed = {name for name, facts in now.items() if before.get(name) != facts}
    if changed == {"fast_kernels"}:
        sound = {name: found for name, found in sound.items() if name not in OF_FAST_KERNELS}
    elif changed or len(sound) == len(RUNS):
        sound = {}
    return now | sound


def main() -> None:
    """Run what is left side by side, since most leaves most of a machine idle, and write the summary part by part.

    What asserts times comes after, by itself.
    """
    require_all()
    summary = kept()
    left = [name for name in RUNS if name not in summary]
    print("To be run:", ", ".join(left), flush=True)

    def do(name: str) -> None:
        found = RUNS[name]()
        with WRITING:
            summary[name] = found
            write_json(SUMMARY, summary | {"date": today()})

    with ThreadPool(len(RUNS)) as pool:
        pool.map(do, [name for name in left if name != ALONE])
    if ALONE in left:
        do(ALONE)
    print(SUMMARY.read_text(encoding="utf-8"))
    if not all(is_sound(summary[name]) for name in RUNS):
        raise SystemExit("Some tests failed: their report is above.")


ALONE = "alone"
RUNS = {
    "pytest": partial(run_gpu_tests, [name for name in GPU_TESTS if name not in OPS_TESTS]),
    "functions": run_functions,
    "sanitizer_errors": run_sanitizers,
    "ops": partial(run_gpu_tests, OPS_TESTS),
    ALONE: run_tests_alone,
}
"""The parts of a run, by what the summary calls what they found."""
OF_FAST_KERNELS = ("sanitizer_errors", "ops")
"""Parts to be run anew where only a file of kernels/fast has changed."""
WRITING = Lock()


if __name__ == "__main__":
    PARTS.get(sys.argv[-1], main)()
