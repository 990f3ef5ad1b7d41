"""X-rays against Nsight Compute on an H200 and an H100, and against counting by hand on tiny kernels."""

import json

import pytest
from emulated import kernel_of
from engine.compiled.rungs_on_gpu import launches
from engine.subjects import CASES
from engine.subjects_on_gpu import SUMMARY, digest
from engine.test_any_kernel import words_of
from full_tables import some

from softmax_lib import recorded, xray
from softmax_lib.engine.compiled.code import key_of
from softmax_lib.engine.errors import BadInput
from softmax_lib.engine.xrays.machine_path import PATHS
from softmax_lib.records.agreement import compare_launch, counted_run
from softmax_lib.records.schema import METRICS
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.xray import MOST_ELEMENTS, xray_launch

# 64x4096: rows of whole sectors, one or two blocks a thread-a-row kernel. 1000x1001: each row starts
# elsewhere in a sector, and the last warp and the last sector are ragged.
SHAPES = {(64, 4096), (1000, 1001)}
PROFILES = {
    f"{p.case.provider}-{p.case.rows}x{p.case.cols}": p
    for p in recorded.profiles
    if p.case.rows * p.case.cols <= MOST_ELEMENTS
}
ARBITER_SHARE = 0.03
"""How far wavefronts and conflicts may lie above ours.

A wavefront counter sees the data stage of the L1 cache, which shared memory uses together with
global loads: now and then the arbiter passes a request through it a second time. How often differs
from run to run; seen so far: 0 at 64 rows, up to 2.4 % at 1000 where many loads are in flight.
"""


def unexplained(counts, ours):
    """Counters whose counts, ours first, differ by more than the arbiter's noise."""
    return {name for name, found in counts.items() if not _is_noise(name, found, ours)}


def _is_noise(name, found, ours):
    most = ours[name.replace("conflicts", "wavefronts")] * ARBITER_SHARE
    most *= name.endswith(("wavefronts", "conflicts"))
    return all(0 <= count - found[0] <= most for count in found)


@pytest.mark.fresh
def test_every_kernel_was_profiled_on_both_shapes():
    found = {(p.case.provider, *p.case.shape) for p in PROFILES.values()}
    files = [kernel.name for kernel in kernels.values() if not (kernel.of or kernel.suite)]
    wanted = {(name, *shape) for name in files for shape in SHAPES if name != "per_element"}
    wanted -= {("unfused", 1000, 1001)}  # its ragged loops are unrolled
    assert wanted | {("per_element", 8, 512)} <= found


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", some(PROFILES, every=7))
def test_counters_are_those_of_an_h200(name, path):
    case, ncus = PROFILES[name].case, PROFILES[name].counters
    ours = xray(case.provider, case.rows, case.cols, case.block_size, path=path).total
    # memory behind the caches is not emulated
    counts = {of: (ours[of], ncus[of]) for of in METRICS if not of.startswith("dram")}
    assert unexplained(counts, ours) == set()
    if not name.endswith(("1000x1001", "1024x2048")):
        assert all(a == b for a, b in counts.values())  # too little going on for noise


# ---- by hand, on one block that is run as it is written; the rules themselves are those of test_rules.py

BY_HAND = [
    ("y[threadIdx.x] = x[threadIdx.x + 1];", ("global", "load"),
     {"requests": 1, "lanes": 32, "sectors": 5, "bytes_asked": 128, "bytes_moved": 5 * 32}),
    ("y[threadIdx.x] = x[threadIdx.x % 2 * 1024];", ("global", "load"),
     {"requests": 1, "lanes": 32, "sectors": 2, "bytes_asked": 8, "bytes_moved": 2 * 32}),
    ("float4 v = reinterpret_cast<const float4*>(x)[threadIdx.x * 2]; y[threadIdx.x] = v.x;", ("global", "load"),
     {"requests": 1, "sectors": 32, "size": 16}),
    # lanes that take no part ask for nothing
    ("if (threadIdx.x % 4 == 0) y[threadIdx.x] = x[threadIdx.x];", ("global", "load"),
     {"requests": 1, "lanes": 8, "sectors": 4, "lanes_a_request": 8, "bytes_wasted": 3 * 32}),
    # each lane of a shuffle counts once, whatever its mask
    *((f"y[threadIdx.x] = __shfl_xor_sync({mask}, x[threadIdx.x], 1);", ("", "shuffle_xor"), {"requests": requests, "lanes": 32})
      for mask, requests in (("~0u", 1), ("0xffu << threadIdx.x / 8 * 8", 4))),
]  # fmt: skip


@pytest.mark.parametrize(("body", "which", "counted"), BY_HAND)
def test_a_request_is_counted_as_by_hand(body, which, counted):
    found = xray(kernel_of(f"    {body}\n"), 1, 4096, 32, path="written")
    assert found.hazards == ()
    (line,) = (line for line in found.lines if (line.space, line.operation) == which)
    assert {name: getattr(line, name) for name in counted} == counted


def test_what_warps_and_blocks_do_adds_up():
    body = (
        "    float v = x[threadIdx.x];\n    v += __shfl_xor_sync(0xffffffff, v, 1);\n"
        "    __syncthreads();\n    y[threadIdx.x] = v;\n"
    )
    found = xray(kernel_of(body), 1, 4096, 96)
    counted = ("shuffles", "barriers", "global_load_requests", "global_load_sectors")
    assert [found.total[name] for name in counted] == [3, 1, 3, 12]
    assert (found.blocks, found.warps, found.threads) == (1, 3, 96)


# ---- any kernel: those of subjects.py, of which tests/engine/subjects_on_gpu.json has what ncu read on an H200

OF_SUBJECTS = json.loads(SUMMARY.read_text(encoding="utf-8"))["cases"]

# What the source as it is written does not know, each with what it changes: all other counters are equal.
UNKNOWN = {
    "stencil": {"global_load_sectors"},  # lanes at the edge leave out loads of a line that others make
    "last block": {  # g++ looks at the thread's number before it reads the flag
        "shared_load_requests", "shared_load_wavefronts",
    },
    "cluster": {  # what a block reads of another's shared memory is counted elsewhere
        "shared_load_requests", "shared_load_wavefronts",
    },
    "row across blocks": {"global_load_requests", "global_load_sectors"},  # turns of a waiting loop
}  # fmt: skip

# What depends on time, in machine code too.
WAITS = "row across blocks"


NAMED = [
    pytest.param(case, counted, id=f"{case[0].name}-{case[1]}")
    for case, counted in zip(CASES, OF_SUBJECTS, strict=True)
]


@pytest.mark.parametrize("path", [None, "written"])
@pytest.mark.parametrize(("case", "counted"), some(NAMED, every=8))
def test_counters_of_any_kernel_are_those_of_an_h200(case, counted, path):
    subject, dtype = case
    assert counted["digest"] == digest(subject), "record it again: tests/engine/subjects_on_gpu.py"
    found = xray_launch(args=subject.arguments(dtype), **words_of(subject, dtype), path=path)
    assert found.path == (path or "machine")
    differ = {name for name, count in counted["counters"].items() if found.total[name] != count}
    is_known = path == "written" or subject.name == WAITS
    assert differ <= (UNKNOWN.get(subject.name, set()) if is_known else set())


def test_ten_subjects_are_counted_to_the_last_request_as_they_are_written():
    assert len({subject.name for subject, _ in CASES} - UNKNOWN.keys()) >= 10


# ---- the machine code that comes along, which an H100 was counted on twice

COUNTED = {f"{one.kernel}-{one.rows}x{one.cols}": one for one in counted_run().launches}


@pytest.mark.fresh
def test_every_kernel_was_counted_on_each_of_its_matrices_as_it_is_now():
    now = [
        (kernel.name, rows, cols, size, key_of(kernel.program(size, cols)))
        for kernel, rows, cols, size in launches()
    ]
    then = [
        (one.kernel, one.rows, one.cols, one.block_size, one.program) for one in COUNTED.values()
    ]
    assert then == now, "record it again: tests/engine/compiled/rungs_on_gpu.py"
    assert {one.kernel for one in COUNTED.values()} == kernels.keys()


@pytest.mark.parametrize("name", some(COUNTED, every=4))
def test_every_counter_is_the_gpus(name):
    found = compare_launch(COUNTED[name])
    assert unexplained(found.differences, found.ours) == set()


def test_a_gpu_that_was_not_counted_on_is_one_sentence():
    with pytest.raises(BadInput, match="Cannot read the record of counters"):
        counted_run("nvidia-nonesuch")
