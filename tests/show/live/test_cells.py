"""%%cuda and %%triton: a kernel in a cell gets its verdict and its counters, or what a compiler makes of it, no traceback."""

import re
from unittest.mock import Mock

import pytest

from softmax_lib import kernels, tiles
from softmax_lib.show.live import cells

pytest.importorskip("ipywidgets")
shell_module = pytest.importorskip("IPython.core.interactiveshell")


@pytest.fixture(scope="module")
def shell():
    made = shell_module.InteractiveShell.instance()
    yield made
    shell_module.InteractiveShell.clear_instance()


def run_cell(shell, capsys, line, text, magic="cuda"):
    shell.run_line_magic("load_ext", "softmax_lib")
    capsys.readouterr()
    shell.run_cell_magic(magic, line, text)
    return capsys.readouterr().out


def test_a_good_cell_gets_a_verdict_and_its_counters(shell, capsys):
    out = run_cell(shell, capsys, "--rows 4 --cols 64 --name mine", kernels["shuffle"].source.text)
    lines = out.splitlines()
    assert re.fullmatch(r"shuffle: \d+ launches, all within the bound of float32", lines[0])
    assert lines[1] == "no hazard found"
    assert "4 blocks of" in out


def test_macros_of_the_kernel_that_a_cell_is_named_like_are_set_in_its_line(shell, capsys):
    text, line = kernels["unroll_aligned"].source.text, "--brief --rows 1 --cols 4096 --define"
    assert "in flight: 32 bytes" in run_cell(shell, capsys, f"{line} IN_FLIGHT=2", text)
    assert "IN_FLIGHT is 3" in run_cell(shell, capsys, f"{line} IN_FLIGHT=3", text)


OVERRUN = """extern "C" __global__ void my(const float* x, float* y, int, int cols) {
    __shared__ float partial[32];
    partial[threadIdx.x] = x[blockIdx.x * cols + threadIdx.x];
    y[blockIdx.x * cols + threadIdx.x] = partial[threadIdx.x];
}"""
"""For 64 threads."""
FILL = (
    "__global__ void fill(int* n, int by) {\n    n[blockIdx.x * blockDim.x + threadIdx.x] = by;\n}"
)


@pytest.mark.parametrize("brief", ["", "--brief "])
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--rows 4 --cols 64 --block-size 64", OVERRUN),
        ("--grid 3 --block 32 --arg n:i32:64 --arg 7", FILL),
    ],
)
def test_of_a_launch_that_a_fault_cut_off_nothing_but_the_fault_is_told(
    shell, capsys, line, text, brief
):
    out = run_cell(shell, capsys, f"{brief}{line}", text).replace("\n", " ")
    assert re.fullmatch(
        r"out of bounds: illegal address: thread \d+ [^.]* elements at kernel.cu:\d+\. ", out
    )


@pytest.mark.parametrize("brief", ["", "--brief "])
def test_a_race_is_told_before_the_verdict_and_keeps_its_counts(shell, capsys, brief):
    text = kernels["shared"].source.text.replace("__syncthreads();", "")
    out = run_cell(shell, capsys, f"{brief}--rows 4 --cols 64 --name mine", text)
    told = ("race on", " launches, ", "bytes asked for")
    race, verdict, counts = (out.find(words) for words in told)
    assert 0 == race < verdict
    assert (counts > verdict) is not bool(brief)


def test_a_wrong_cell_is_told_in_what_kind_of_row(shell, capsys):
    text = kernels["online"].source.text.replace("if (value != -INFINITY)", "")
    out = run_cell(shell, capsys, "--rows 4 --cols 64 --name mine", text).replace("\n", " ")
    assert "(18, 31) at 32 threads per block, in a row that is '-inf first', where y is NaN" in out
    text = kernels["shuffle"].source.text.replace("1.0f / warp_sum", "2.0f / warp_sum")
    out = run_cell(shell, capsys, "--rows 4 --cols 64 --name mine", text).replace("\n", " ")
    assert "in a row that is 'normal', where y is 2 in place of 1" in out


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        ("", "float sum;", "kernel.cu needs exactly one __global__"),
        ("--rows many", "float sum;", "%%cuda: argument --rows: invalid int value"),
        ("--help", "float sum;", "%%cuda: unrecognized arguments: --help"),
        ("--name mine", kernels["naive"].source.text.replace("row_max = ", "row_man = ", 1),
         "mine.cu:18:"),
        ("--name ../mine", kernels["naive"].source.text, "'../mine' is no name; it takes up to 100 letters"),
        ("--name=-o", kernels["naive"].source.text, "'-o' is no name"),
        (f"--name {101 * 'm'}", kernels["naive"].source.text, "is no name"),
        ("--block-size 33", kernels["naive"].source.text, "not built for 33"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_said_in_words_and_not_raised(shell, capsys, line, text, words):
    out = run_cell(shell, capsys, line, text).replace("\n", " ")
    assert words in out
    assert "Traceback" not in out


def test_a_fault_that_check_alone_finds_is_told_with_its_line_and_stops_the_gpu(
    shell, capsys, monkeypatch
):
    tid = "int tid = threadIdx.x;"
    text = kernels["shared"].source.text.replace(tid, f"{tid} if (tid >= cols) return;")
    monkeypatch.setattr(cells, "has_gpu", lambda: True)
    verdict = Mock(wraps=cells._verdict)
    monkeypatch.setattr(cells, "_verdict", verdict)
    out = run_cell(shell, capsys, "--cols 4096 --block-size 64 --name mine", text)
    out = out.replace("\n", " ")
    said = r"check: on \(\d+, 1\) at 64 threads per block, x 0 floats off: barrier not reached by"
    assert re.search(said, out)
    assert re.search(r"waits? at __syncthreads\(\) mine\.cu:\d+", out)
    assert {call.args[1] for call in verdict.call_args_list} == {"cpu"}
    assert "no hazard found" not in out, "after a fault counts are of a launch that was cut off"


@pytest.mark.nvrtc
@pytest.mark.parametrize(("loads", "flying"), [(1, "32 and 16"), (4, "64")])
def test_in_brief_a_cell_is_told_its_bytes_and_what_a_thread_has_in_flight(
    shell, capsys, loads, flying
):
    text = kernels["float4_aligned"].source.text.replace("IN_FLIGHT = 4", f"IN_FLIGHT = {loads}")
    out = run_cell(shell, capsys, "--brief --rows 4 --cols 32768 --name mine", text).splitlines()
    assert out[1:4] == [
        "no hazard found",
        "1,572,864 bytes asked for, 3 times the matrix; of 1,572,864 moved 0\N{NO-BREAK SPACE}% are wasted",
        "2 barriers per block",
    ]
    assert out[4].startswith(f"in flight: {flying} bytes a thread")


def test_what_a_kernel_prints_is_cut(shell, capsys):
    text = kernels["naive"].source.text.replace(
        "int row =", 'for (int i = 0; i < 500; i++) printf("%0300d\\n", i);\n    int row =', 1
    )
    out = run_cell(shell, capsys, "--rows 1 --cols 8 --block-size 32 --name mine", text)
    printed = [line for line in out.splitlines() if re.fullmatch(r"0+\d*", line)]
    assert len(printed) == 100
    assert re.search(r"\.\.\. and \d+ lines more, which this page does not show\.", out)


def test_any_kernel_is_launched_in_words(shell, capsys):
    out = run_cell(shell, capsys, "--grid 2 --block 32 --arg n:i32:64 --arg 7", FILL)
    assert out.startswith("no hazard found\n")
    assert "fill, 2 blocks of 32 threads: 256 bytes asked for, 256 moved" in out
    out = run_cell(shell, capsys, "--grid 3 --block 32 --arg n:f32:64 --arg 7", FILL)
    told = "Argument 1 of fill is an array of float32; `int* n` takes an array of\nint32.\n"
    assert out == told
    # what it leaves is the notebook's, and its counts can be had in brief
    out = run_cell(shell, capsys, "--brief --grid 2 --block 32 --arg n:i32:64 --arg 7", FILL)
    assert out.splitlines() == [
        "no hazard found",
        "256 bytes asked for; of 256 moved 0\N{NO-BREAK SPACE}% are wasted",
        "0 barriers per block",
        "0 shuffles",
    ]
    assert shell.user_ns["n"].tolist() == 64 * [7]


# ---- %%triton

SIMPLE = tiles.kernels["simple"].source.text


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        ("", SIMPLE, "softmax_simple: 18 launches, all within the bound of float32 1,024 columns, 4 warps:"
                   " each thread has 2 loads of 16 bytes, and 22 registers"),
        ("--cols 1000 --num-warps 8", SIMPLE, "1,000 columns, 8 warps: each thread has 4 loads of 4 bytes"),
        ("", SIMPLE.replace("share, mask=inside", "share"), "12 wrong, first rows of 33 with 1 warp: it wrote past the end of y"),
        ("", SIMPLE.replace("= power", "= pwer"), "line 20: NameError: name 'pwer' is not defined"),
        ("", "x = 1", "has 0 functions with @triton.jit, not one"),
        ("--num-warps 3", SIMPLE, "num_warps is 3; it is a power of two from 1 to 32."),
        ("--cols many", SIMPLE, "%%triton: argument --cols: invalid int value"),
    ],
)  # fmt: skip
def test_a_cell_in_triton_is_checked_compiled_and_told_what_is_wrong(
    shell, capsys, line, text, said
):
    pytest.importorskip("triton")
    assert said in " ".join(run_cell(shell, capsys, line, text, "triton").split())
