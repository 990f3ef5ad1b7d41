"""Which design takes which rows: every row is held or streamed whole, every line of a table is used and compiles."""

import json
from collections import defaultdict
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.source import Program
from softmax_lib.gpu.compile import resources
from softmax_lib.ops import launches, tables
from softmax_lib.ops.designs import CHUNK_BYTES, L2_BYTES, LINE_BYTES, Design, Task
from softmax_lib.ops.outlines import Build
from softmax_lib.ops.tables import TILED_ROWS, strided_design, table_for, tile_design

ARCHS = (75, 80, 90)

tasks = st.builds(
    Task,
    rows=st.sampled_from((1, 8, 64, 132, 133, 1024, 100_000)),
    cols=st.integers(1, 1 << 23) | st.integers(1, 5000),
    of=st.sampled_from(("float32", "float16", "bfloat16")),
    to=st.just("float32"),
    backward=st.booleans(),
    edges=st.booleans(),
)


def held_chunks(design, task):
    """Chunks of 16 bytes that all threads of a row hold, less what the sharing out may leave unused."""
    each = design.registers + design.shared
    unused = (LINE_BYTES // CHUNK_BYTES - 1) * (design.blocks_a_row > 1)
    return design.blocks_a_row * (design.threads_a_share * each - unused)


@given(task=tasks, arch=st.sampled_from(ARCHS), masked=st.booleans())
def test_scores_are_held_in_registers_or_by_nobody(task, arch, masked):
    scores = replace(task, backward=False, scores=True, masked=masked)
    found = [*table_for(arch).designs(scores)]
    whole = -(-scores.row_bytes // CHUNK_BYTES)
    for design in found:
        assert not design.streamed
        assert not design.shared
        assert held_chunks(design, scores) >= whole - design.blocks_a_row * 7
    assert found or task.row_bytes > (1 << 19 if arch == 90 else 1 << 16)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("of", ["float32", "bfloat16"])
def test_whether_scores_are_held_depends_on_their_length_alone(of, masked):
    """Others are added up first, and so have other bits."""
    for arch, cols in product(ARCHS, [8 * int(1.02**power) for power in range(120, 700)]):
        row = Task(1, cols, of, of, scores=True, masked=masked)
        ways = product((1, 8, 9, 16, 131, 264, 100_000), (False, True))
        some = (replace(row, rows=rows, edges=edges) for rows, edges in ways)
        assert len({next(table_for(arch).designs(one), None) is None for one in some}) == 1


@given(task=tasks, arch=st.sampled_from(ARCHS))
def test_every_row_has_a_design_that_holds_or_streams_it(task, arch):
    found = list(table_for(arch).designs(task))
    assert found[-1].streamed
    for design in found:
        whole = -(-task.row_bytes // CHUNK_BYTES)
        assert design.streamed or held_chunks(design, task) >= whole - design.blocks_a_row * 7
        edges = 2 * (CHUNK_BYTES // task.size) - 2
        assert not task.edges or design.threads_a_share > edges
        assert not (task.backward and design.shared)


def test_a_design_holds_as_little_as_its_rows_need():
    task = Task(8192, 50257, "float32", "float32", edges=True)
    design = Design("cluster", 8, 128, registers=8, shared=5)
    assert design.fit(task) == design
    assert design.fit(replace(task, cols=4096)) == replace(design, registers=1, shared=0)
    assert design.fit(replace(task, cols=60_000)) is None
    assert design.fit(replace(task, backward=True)) is None  # which holds nothing in shared memory


def test_only_a_matrix_larger_than_l2_is_loaded_so_as_to_stay_there():
    task = Task(8192, 4096, "bfloat16", "bfloat16")
    design = Design("block", 1, 256, registers=2, loads="EVICT_LAST")
    assert design.fit(task) == design
    assert design.fit(replace(task, rows=8191)) == replace(design, loads="PLAIN")


@given(task=tasks)
def test_a_tile_holds_short_rows_and_leaves_others(task):
    design = tile_design(task)
    is_short = task.row_bytes <= 512
    assert (design is not None) == (task.edges and is_short and task.rows >= TILED_ROWS)
    if design:
        assert design.lanes * design.held >= task.cols > design.lanes * (design.held - 1)
        assert 32 % design.lanes == 0
        # a block begins at 16 bytes, and has all the shared memory that any kernel may have
        assert design.threads // design.lanes * task.size % CHUNK_BYTES == 0
        assert design.shared_bytes(task) <= 48 * 1024


def test_groups_too_small_for_their_edges_are_left_out():
    odd = Task(100, 5, "bfloat16", "bfloat16", edges=True)
    assert Design("warp", 8, 64).fit(odd) is None
    assert Design("warp", 16, 64).fit(odd)
    assert Design("warp", 8, 64).fit(replace(odd, edges=False, cols=8))


@pytest.mark.parametrize("arch", ARCHS)
def test_every_line_of_a_table_is_the_first_choice_of_some_rows(arch):
    for (backward, size), lines in table_for(arch).lines.items():
        of = "float32" if size == 4 else "float16"
        used = set()
        limits = {line.row_bytes for line in lines} | {1 << 26}
        for row_bytes in sorted(one for one in limits if one != float("inf")):
            for rows in (1, 8, 16, 17, 133, 1 << 20):
                for cols in (row_bytes // size, max(1, row_bytes // size - 15)):
                    task = Task(rows, cols, of, of, backward)
                    task = replace(task, edges=task.row_bytes % CHUNK_BYTES != 0)
                    fits = (line.takes(task) and line.design.fit(task) for line in lines)
                    used.add(next(i for i, design in enumerate(fits) if design))
        assert used == set(range(len(lines))), (backward, size)


def test_the_table_is_that_of_the_newest_gpu_that_is_no_newer():
    assert table_for(90) == table_for(120) != table_for(86)
    assert table_for(86) == table_for(89) == table_for(80)
    with pytest.raises(NotAvailable, match=r"compute capability 7\.0"):
        table_for(70)


@pytest.mark.parametrize("arch", ARCHS)
def test_what_needs_hopper_stands_in_no_older_table(arch):
    content = json.loads((tables.FOLDER / f"sm_{arch}.json").read_text())
    lines = [line for name, lines in content.items() if isinstance(lines, list) for line in lines]
    assert ("cluster" in {line["regime"] for line in lines}) == (arch == 90)
    assert arch != 75 or not any(line.get("shared") or line.get("loads") for line in lines)


def all_kernels(arch):
    """Each kernel that a table launches, at the longest rows of its line."""
    for (backward, size), lines in table_for(arch).lines.items():
        for line in lines:
            for of in ("float32",) if size == 4 else ("float16", "bfloat16"):
                row_bytes = min(line.row_bytes, 1 << 26)
                # rows that begin anywhere have the larger kernel
                cols = row_bytes // size - (line.edges is not False)
                task = Task(1, cols, of, of, backward, edges=line.edges is not False)
                scores = replace(task, scores=True)
                masked = () if backward else (replace(scores, masked=True),)
                for one in (task, scores, *masked):
                    for matrix, rows in (("small", 1), ("large", L2_BYTES)):
                        design = line.design.fit(replace(one, rows=rows))
                        if design and (matrix == "small" or design.loads != "PLAIN"):
                            yield arch, design.regime, design.expression(one)
    for backward in (False, True):
        for of in ("float32", "float16", "bfloat16"):
            for cols, edges in ((3, True), (1000, False), (100_000, False)):
                task = Task(1, cols, of, of, backward, edges=edges)
                yield arch, "strided", strided_design(task, 4096, arch).expression(task)
            for cols in (1, 10, 33, 127):
                task = Task(TILED_ROWS, cols, of, of, backward, edges=True)
                yield arch, "tile", tile_design(task).expression(task)


KERNELS = [one for arch in ARCHS for one in all_kernels(arch)]
TOGETHER = 12
"""Kernels of a file that are compiled at once."""
EVERYDAY = [*dict.fromkeys(KERNELS[::40])]


def batches(kernels):
    """By arch and file, so many at a time."""
    of_file = defaultdict(list)
    for arch, stem, expression in kernels:
        of_file[arch, stem].append(expression)
    for file, expressions in of_file.items():
        for first in range(0, len(expressions), TOGETHER):
            yield *file, expressions[first : first + TOGETHER]


OTHERS = [
    pytest.param(*one, marks=pytest.mark.full)
    for one in batches(dict.fromkeys(one for one in KERNELS if one not in EVERYDAY))
]


OF_A_CALL = 192
"""Bytes that a thread may put aside: for what rows seldom need, an exact sum or 16 bits far from 0."""


@pytest.mark.nvrtc
@pytest.mark.parametrize(("arch", "stem", "expressions"), [*batches(EVERYDAY), *OTHERS])
def test_every_kernel_of_a_table_compiles_and_spills_next_to_nothing(arch, stem, expressions):
    found = resources(Program(Build(stem, expressions[0]).source), arch, expressions)
    assert len(found) == len(expressions)
    assert [one for one in found if one.spill_bytes > OF_A_CALL] == []


LINE = {"regime": "warp", "threads": 128, "like": [4, 8], "edges": False, "row_bytes": 16}


def table_with(line):
    directions = ("forward 4", "forward 2", "backward 4", "backward 2")
    return json.dumps({"measured_on": "A GPU"} | {key: [line] for key in directions})


@pytest.fixture
def write_table(tmp_path, monkeypatch):
    """Writes the table of "A GPU" and returns where it lies."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = tables.tuned_path("A GPU")
    path.parent.mkdir(parents=True)
    tables._table_of.cache_clear()

    def write(text):
        path.write_text(text)
        return path

    yield write
    tables._table_of.cache_clear()


def test_a_gpus_own_table_comes_before_the_one_that_comes_along(write_table):
    write_table(table_with(LINE))
    lines = tables._table_of("A GPU", 90).lines
    assert lines == dict.fromkeys(lines, (tables.read_line(LINE),))


ODD_LINES = [
    {"x": 1}, {"regime": "team"}, {"threads": "128"}, {"threads": 0}, {"team": -2}, {"balanced": 1}, {"rows": "8"},
    {"row_bytes": None}, {"edges": "no"}, {"like": 8}, {"like": ["8", 8]},
]  # fmt: skip
ODD_TEXTS = ["", "{", "[]", "{}", 100_000 * "[", '{"measured_on": "A GPU", "forward 4": 3}']


@pytest.mark.parametrize("text", [*ODD_TEXTS, *(table_with(LINE | odd) for odd in ODD_LINES)])
def test_a_damaged_table_is_named_and_the_one_that_comes_along_taken(write_table, caplog, text):
    path = write_table(text)
    assert tables._table_of("A GPU", 90) is table_for(90)
    assert f"The table {path} cannot be read" in caplog.text
    assert "softmax-lib tune" in caplog.text


def test_the_log_says_once_which_design_serves_what(monkeypatch, caplog):
    table = SimpleNamespace(designs=lambda task: [Design("block", 1, 256)])
    monkeypatch.setattr(launches, "table_of", lambda device: table)
    monkeypatch.setattr(launches, "prepare_design", lambda *given: "a launch")
    caplog.set_level("DEBUG", "softmax_lib")
    task = Task(300, 4096, "float32", "float32", log=True, backward=True)
    assert launches.prepare(task, (4096, 4096, 4096), 0) == "a launch"
    assert caplog.messages == ["log_softmax, gradient, of 300 x 4096 float32: block 256, 8 + 0"]
