"""The registry: what a digest follows, and how kernels are found."""

import dataclasses
import difflib

import numpy as np
import pytest

from softmax_lib import hopper, kernels, run, selections
from softmax_lib.engine.errors import BadInput
from softmax_lib.engine.source import Edit, Source
from softmax_lib.worklog.errors import RowTooLong
from softmax_lib.worklog.registry import COPY, resolve, rungs

pytestmark = pytest.mark.quick

SHARED = kernels["shared"]
(STEP,) = SHARED.steps


@pytest.mark.parametrize(
    "changed",
    [
        {"block_sizes": (32,)},
        {"per_thread": (4,)},
        {"in_place": True},
        {"steps": (dataclasses.replace(STEP, grid="thread a row"),)},
        {"steps": (dataclasses.replace(STEP, elements_a_thread=4),)},
        {"steps": (dataclasses.replace(STEP, arguments=("y", "x", "rows", "cols")),)},
        {"steps": (STEP, STEP)},
        {"given_source": Source("05_shared.cu", SHARED.source.text + "int more;")},
    ],
)
def test_a_digest_follows_code_and_launch_facts(changed):
    assert dataclasses.replace(SHARED, **changed).digest != SHARED.digest


def test_a_digest_ignores_names_and_comments():
    commented = Source("mine.cu", "// a comment\n" + SHARED.source.text)
    other = {"name": "another", "foil": True, "flaw": "none", "default_block_size": 64}
    assert dataclasses.replace(SHARED, **other, given_source=commented).digest == SHARED.digest


UNROLL = kernels["unroll"]


def test_macros_are_set_one_by_one_and_the_digest_follows():
    wide = UNROLL.setting(IN_FLIGHT=8)
    assert dict(wide.macros) == {**dict(UNROLL.macros), "IN_FLIGHT": 8}
    assert dict(wide.setting(UNROLL=2).macros) == {"UNROLL": 2, "IN_FLIGHT": 8}
    assert wide.digest != UNROLL.digest
    assert dict(wide.program(64, 5).defines) == {"BLOCK": 64, "UNROLL": 1, "IN_FLIGHT": 8}


def test_a_macro_or_a_number_that_a_kernel_has_not_is_one_sentence():
    with pytest.raises(BadInput, match="UNROLL is 3; unroll takes 1, 2, 4, 8"):
        UNROLL.setting(UNROLL=3)
    with pytest.raises(BadInput, match="no macro WIDTH open; it has UNROLL and IN_FLIGHT"):
        UNROLL.setting(WIDTH=4)
    with pytest.raises(BadInput, match="it has none"):
        SHARED.setting(UNROLL=2)


WARP = kernels["warp"]


def test_lanes_and_turns_say_how_many_blocks_there_are_and_how_long_a_row_may_be():
    assert WARP.steps[0].blocks(1000, 96, 128) == 250
    few = WARP.setting(LANES=8, TURNS=4)
    assert few.steps[0].blocks(1000, 96, 128) == 16  # of 4 times 16 rows each
    assert few.digest != WARP.digest
    assert dict(few.program(128, 96).defines) == {
        "BLOCK": 128, "LANES": 8, "TURNS": 4, "PER_THREAD": 12,
    }  # fmt: skip
    assert (WARP.max_cols(128), few.max_cols(128), few.max_cols(1024)) == (4096, 1024, 256)
    with pytest.raises(RowTooLong, match=r"128 threads per block, 8 per row: .* at most 1024"):
        few.program(128, 1025)


CONTROLS = [kernel for kernel in kernels.values() if kernel.of]


@pytest.mark.parametrize("control", CONTROLS, ids=lambda kernel: kernel.name)
def test_a_control_changes_a_few_lines_of_its_kernel_and_says_what(control):
    before, after = (kernels[name].source.text.splitlines() for name in (control.of, control.name))
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert 1 <= len(changed) <= 40
    assert control.source.entries == kernels[control.of].source.entries
    assert control.digest != kernels[control.of].digest
    assert control.foil
    assert control.changes


def test_a_control_whose_text_is_gone_is_refused_in_a_sentence():
    with pytest.raises(BadInput, match=r"x\.cu replaces 'nowhere' in 1 place\(s\) of 05_shared"):
        SHARED.source.edited("x.cu", (Edit("nowhere", "here"),))
    with pytest.raises(BadInput, match="where it stands 1 times"):
        SHARED.source.edited("x.cu", (Edit("float partial[BLOCK];", "", places=2),))


def test_a_name_a_file_a_path_and_a_text_stand_for_a_kernel(tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(SHARED.source.text)
    for given in (path, str(path), SHARED.source.text, Source("mine.cu", SHARED.source.text)):
        assert resolve(given).steps == SHARED.steps
    assert resolve("shared") is resolve(SHARED) is SHARED


def test_the_copy_is_no_softmax_and_no_name_is_in_two_registries():
    assert {COPY.name, *hopper, *selections.kernels}.isdisjoint(kernels)
    assert hopper.keys().isdisjoint(selections.kernels)
    assert COPY not in rungs()
    x = np.ones((2, 32), np.float32)
    assert (run("copy", x) == x).all()
