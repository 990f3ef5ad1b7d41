"""Views of x-rays, and the cell magic: what they say, without a browser."""

import re

import pytest

from softmax_lib.registry import kernels
from softmax_lib.source import Source

pytest.importorskip("ipywidgets")
views = pytest.importorskip("softmax_lib.drawings.margins")
banks = pytest.importorskip("softmax_lib.drawings.wavefronts")
timelines = pytest.importorskip("softmax_lib.drawings.timelines")
shell_module = pytest.importorskip("IPython.core.interactiveshell")

COLUMN = """extern "C" __global__ void column(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[32 * WIDTH];
    for (int i = 0; i < 32; i++) tile[i * WIDTH + threadIdx.x] = x[i];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x * WIDTH];
}"""


def rows_of(view):
    """Cells of the table, by line number: requests, what each takes, waste, code."""
    plain = (re.sub(r"<[^>]+>", "|", row) for row in re.findall(r"<tr>.*?</tr>", view.html))
    cells = [[cell for cell in row.split("|") if cell.strip()] for row in plain]
    return {row[0]: row[1:] for row in cells if row and row[0].isdecimal()}


@pytest.mark.parametrize(
    ("name", "phase", "line", "margin"),
    [
        ("naive", 1, "18", ["8,192", "32 sectors", "88%"]),
        ("shared", 1, "18", ["8,192", "4 sectors", "0%"]),
        ("float4", 1, "49", ["2,048", "16 sectors", "0%"]),  # a quarter of the requests
    ],
)
def test_the_margin_says_what_the_chapters_say(name, phase, line, margin):
    assert rows_of(views.annotate(name, phase=phase))[line][:3] == margin


def test_lines_of_headers_follow_the_kernel():
    shown = views.annotate("float4", 2, 1024)
    assert "block_reduce.cuh" in shown.html
    assert "shuffle xor" in shown.html
    assert "2 barriers a block" in shown.text


def test_a_view_has_the_same_bytes_each_time_and_can_be_reached_by_keyboard():
    first, again = (views.annotate("shared", 4, 256).html for _ in range(2))
    assert first == again
    assert 'tabindex="0" role="region" aria-label=' in first


def test_code_is_escaped_and_every_line_is_there():
    shown = views.annotate("shuffle", 2, 64)
    text = kernels["shuffle"].source.text.splitlines()
    assert "&lt;" in shown.html
    assert str(len(text)) in rows_of(shown)


def test_a_kernel_without_phases_and_comments_has_its_margin_too():
    shown = views.annotate(Source("column.cu", COLUMN.replace("WIDTH", "33")), 1, 32, 32)
    assert rows_of(shown)["3"][:4] == ["32", "32", "1 sector", "1 wavefront"]


def test_kernels_stand_side_by_side():
    shown = views.totals("shared", "shuffle", rows=2, cols=1024)
    cells = {row[0]: row[1:] for row in
             ([c for c in re.sub(r"<[^>]+>", "|", row).split("|") if c] for row in
              re.findall(r"<tr>.*?</tr>", shown.html))}  # fmt: skip
    assert cells["barriers"] == ["46", "10"]
    assert cells["shuffles"] == ["0", "660"]


@pytest.mark.parametrize(("width", "wavefronts"), [(32, 32), (33, 1), (34, 2)])
def test_a_column_of_a_tile_meets_one_bank_until_it_is_padded(width, wavefronts):
    source = Source("column.cu", COLUMN.replace("WIDTH", str(width)))
    (request,) = banks.shared_requests(source, 32, 32, 1)
    assert len(banks.passes(request)) == wavefronts
    shown = banks.bank_frame(request)
    word = "wavefront" if wavefronts == 1 else "wavefronts"
    assert f"{wavefronts} {word} for 32 lanes" in shown.text
    assert ("only for bank conflicts" in shown.text) == (wavefronts > 1)


def test_fewer_and_fewer_warps_work_in_the_tree_and_all_of_them_in_the_shuffle():
    tree = timelines.read_timeline("shared", 256, 256)
    assert tree.working.tolist() == [8, 4, 2, 1, 1, 1, 1, 1, 1, 8, 8, 4, 2, 1, 1, 1, 1, 1, 1, 8]
    shuffle = timelines.read_timeline("shuffle", 256, 256)
    assert shuffle.stretches == 6
    assert shuffle.lanes["green"][:, 0].tolist() == [32] * 8
    assert "5 barriers" in timelines.draw_timeline(shuffle).text


@pytest.fixture(scope="module")
def shell():
    made = shell_module.InteractiveShell.instance()
    yield made
    shell_module.InteractiveShell.clear_instance()


def run_cell(shell, capsys, line, text):
    shell.run_line_magic("load_ext", "softmax_lib.live.cuda_cell")
    capsys.readouterr()
    shell.run_cell_magic("cuda", line, text)
    return capsys.readouterr().out


def test_a_good_cell_gets_a_verdict_and_its_counters(shell, capsys):
    out = run_cell(shell, capsys, "--rows 4 --cols 64 --name mine", kernels["shuffle"].source.text)
    lines = out.splitlines()
    assert re.fullmatch(r"shuffle: \d+ launches, all within the bound of float32", lines[0])
    assert lines[1] == "no hazard found"
    assert "4 blocks of" in out


def test_a_broken_cell_gets_its_hazard_with_its_line(shell, capsys):
    text = kernels["naive"].source.text.replace("col < cols", "col <= cols")
    out = run_cell(shell, capsys, "--rows 4 --cols 64 --block-size 32 --name mine", text)
    assert "a launch did not come to its end" in out
    assert "past the end of its 256 elements at mine.cu:18." in out.replace("\n", " ")


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        ("", "float sum;", "kernel.cu needs exactly one extern"),
        ("--rows many", "float sum;", "%%cuda: argument --rows: invalid int value"),
        ("--name mine", kernels["naive"].source.text.replace("row_max = ", "row_man = ", 1),
         "mine.cu:18:"),
        ("--block-size 33", kernels["naive"].source.text, "not built for 33"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_said_in_words_and_not_raised(shell, capsys, line, text, words):
    out = run_cell(shell, capsys, line, text)
    assert words in out
    assert "Traceback" not in out
