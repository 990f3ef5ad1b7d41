"""What cannot be drawn gets one sentence."""

import pytest

from softmax_lib import drawings
from softmax_lib.engine.errors import BadInput, UnknownKernel
from softmax_lib.worklog.errors import RowTooLong

pytest.importorskip("ipywidgets")
pytest.importorskip("pygments")

REFUSED = [
    (lambda: drawings.online(range(9)), BadInput, "up to 8 values, and was given 9"),
    (lambda: drawings.online([1, 2], [3]), BadInput, "one length"),
    (lambda: drawings.shuffle([1, 2, 3]), BadInput, "2, 4 or 8 lanes, not 3"),
    *((lambda of=of: drawings.lists(list(range(of[0])), of[1]), BadInput, f"a k of 2 or 3, not {of[0]} and {of[1]}")
      for of in ((0, 2), (3, 2), (28, 2), (12, 4), (12, 1))),
    (lambda: drawings.banks("naiv", 64), UnknownKernel, "did you mean naive"),
    (lambda: drawings.banks("naive", 64), BadInput, "naive has 0 accesses to shared memory"),
    *((lambda of=of: drawings.row_starts(*of), BadInput, "room for 8 rows of 16 floats")
      for of in ((17, 1), (11, 9), (0, 1), (1, 0))),
    *((lambda of=of: drawings.indices(*of), BadInput, "This picture") for of in ((17, 1), (10, 17), (0, 4), (4, 0))),
    (lambda: drawings.places(5, 32), BadInput, "5 blocks of 32 threads were not placed"),
    (lambda: drawings.gpu_map("L1", "Tesla T4"), BadInput, "memory, warps and blocks were not measured"),
    (lambda: drawings.symptom("hurry"), BadInput, "The symptom 'hurry' was not measured on nvidia-h200"),
    (lambda: drawings.waits(2), BadInput, "turns of 2 warps were not kept"),
    (lambda: drawings.ladder("torch"), BadInput, "'torch' is no rung; they are naive, online"),
    (lambda: drawings.ladder("naive", 3, 5), BadInput, r"was not recorded on \(3, 5\)"),
    (lambda: drawings.passes({"naive": ("max", "sum", "write")}, 1024, 512), BadInput,
     r"passes of naive were not recorded on \(1024, 512\)"),
    (lambda: drawings.source("naive", 7), BadInput, r"no part 7; it has header, setup, 1, 2, 3\."),
    (lambda: drawings.source("no_such.cuh"), UnknownKernel, "no kernel called"),
    (lambda: drawings.reads("nonesuch"), UnknownKernel, "nonesuch"),
    (lambda: drawings.machine_code("naive", lines=(16, 18), only=16), BadInput, "No instruction is of lines 16 to 16"),
    (lambda: drawings.memory_chart("naive", 0, 4096), BadInput, "0"),
    (lambda: drawings.memory_chart("fusion", 1, 40000), RowTooLong, "too long for fusion"),
    (lambda: drawings.memory_chart("naive", 8, 64, gpu="Voodoo"), BadInput, "no record of a GPU called Voodoo"),
]  # fmt: skip


@pytest.mark.parametrize(("draw", "error", "words"), REFUSED)
def test_what_cannot_be_drawn_gets_one_sentence(draw, error, words):
    with pytest.raises(error, match=words) as caught:
        draw()
    assert "\n" not in str(caught.value)
