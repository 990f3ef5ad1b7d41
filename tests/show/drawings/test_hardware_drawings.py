"""Pictures of the GPU itself: what they say is what was measured, and bad input gets a sentence."""

import re

import pytest

from softmax_lib import drawings, hardware, recorded
from softmax_lib.engine.errors import BadInput

FOUND = hardware()


@pytest.mark.parametrize("marked", FOUND.levels)
def test_the_map_has_every_multiprocessor_and_every_memory_and_marks_one(marked):
    shown = drawings.gpu_map(marked)
    squares = re.findall(r"M[\d.]+ [\d.]+h12v12", shown.html)
    assert len(squares) == FOUND.multiprocessors == 132
    for name, level in FOUND.levels.items():
        cycles = f"{level.cycles:.1f}" if level.cycles < 10 else f"{level.cycles:.0f}"
        assert f">{cycles} cycles<" in shown.html
        assert (f"{name}: {cycles} cycles" in shown.text) == (name == marked)
    assert shown.html.count('fill="#D55E00"') == 1


@pytest.mark.parametrize(
    "draw", [lambda: drawings.gpu_map("L1"), lambda: drawings.places(132, 256)]
)
def test_every_word_stands_in_the_picture(draw):
    shown = draw()
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', shown.html).groups())
    words = re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"', shown.html)
    assert len(words) >= 3
    assert all(0 <= float(x) <= width and 0 < float(y) < height for x, y in words)


@pytest.mark.parametrize("one", FOUND.places[:20], ids=lambda o: f"{o.blocks}x{o.threads}")
def test_a_launch_is_drawn_as_its_blocks_were_placed(one):
    shown = drawings.places(one.blocks, one.threads)
    there = sum(count > 0 for count in one.held[0])
    fills = re.findall(r"M[\d.]+ [\d.]+h13v[\d.]+h-13z", shown.html)
    assert len(fills) == FOUND.multiprocessors + there
    assert (f"{there} got a block" in shown.text) == (there < 132)
    assert f"{len(one.held)} wave" in shown.text
    assert f">{sum(one.held[0]):,}<" in shown.html


def test_warps_are_drawn_as_they_waited():
    one, eight = drawings.waits(1), drawings.waits(8)
    assert len(re.findall(r">w\d<", one.html)) == 1
    assert len(re.findall(r">w\d<", eight.html)) == 8
    with pytest.raises(BadInput, match="turns of 2 warps were not kept"):
        drawings.waits(2)


def test_elements_are_where_the_formula_says():
    shown = drawings.indices(10, 4)
    assert "3 blocks of 4 threads, 10 elements" in shown.text
    assert "9 = 2 × 4 + 1" in shown.text
    assert "2 threads at the end find no element" in shown.text
    assert shown.html.count("stroke-dasharray") == 2
    assert "No thread is to spare" in drawings.indices(8, 4).text


@pytest.mark.parametrize("size", [(17, 1), (10, 17), (0, 4), (4, 0)])
def test_a_picture_that_has_no_room_is_refused(size):
    with pytest.raises(BadInput, match="This picture"):
        drawings.indices(*size)


def test_a_launch_or_a_gpu_that_was_not_measured_is_told():
    with pytest.raises(BadInput, match="5 blocks of 32 threads were not placed"):
        drawings.places(5, 32)
    with pytest.raises(BadInput, match="memory, warps and blocks were not measured"):
        drawings.gpu_map("L1", "Tesla T4")


def test_who_got_blocks_is_told_from_who_has_room():
    assert "each got 1, and has room for 8 blocks" in drawings.places(132, 256).text
    assert "each got 7 or 8, and has room for 32 blocks" in drawings.places(1024, 32).text
    assert "full with 2 blocks, 2,048 threads" in drawings.places(1024, 1024).text
    assert "full with 32 blocks, 1,024 threads" in drawings.places(4096, 32).text


def test_passes_are_as_wide_as_they_take_long():
    shown = drawings.passes({"naive": ("max", "sum", "write"), "online": ("both", "write")})
    told = re.search(
        r"naive: max ([\d.]+), sum ([\d.]+), write ([\d.]+); online: both ([\d.]+), write ([\d.]+)",
        shown.html,
    )
    times_ms = [float(ms) for ms in told.groups()]
    assert sum(times_ms[:3]) == pytest.approx(
        recorded.times(1024, 32768)["naive"].median_us / 1e3, rel=0.03
    )
    widths = [float(width) for width in re.findall(r"h(\d[\d.]*)v", shown.html)]
    assert widths == pytest.approx([ms * 338 / sum(times_ms[:3]) for ms in times_ms], rel=0.03)


def test_passes_that_were_not_recorded_are_told():
    with pytest.raises(BadInput, match=r"passes of naive were not recorded on \(1024, 512\)"):
        drawings.passes({"naive": ("max", "sum", "write")}, 1024, 512)
