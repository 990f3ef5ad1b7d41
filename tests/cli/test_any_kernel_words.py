"""softmax-lib xray and run-kernel take any kernel, in words."""

import json

import numpy as np
import pytest

from softmax_lib.cli import main

TEXT = """#include <cuda_fp16.h>
template <class T> __global__ void scale(const T* x, T* y, int cols, float by) {
    int row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) y[row * cols + col] = (T)((float)x[row * cols + col] * by);
}
__constant__ int steps[4];
__global__ void add(int* n) { n[threadIdx.x] += steps[threadIdx.x % 4]; }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(TEXT)
    return str(path)


SCALE = ["--kernel", "scale<float>", "--grid", "2,3", "--block", "64", "--arg", "x:f32:3x100", "--arg", "y:f32:3x100:nan",
         "--arg", "100", "--arg", "2.5"]  # fmt: skip


def test_an_xray_in_words_counts_by_array(file, capsys):
    assert main(["xray", file, *SCALE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kernel"], found["grid"], found["block"]) == (
        "scale<float>",
        [2, 3, 1],
        [64, 1, 1],
    )
    lines = {(line["array"], line["operation"]): line["requests"] for line in found["lines"]}
    assert lines == {("x", "load"): 12, ("y", "store"): 12}
    assert main(["xray", file, *SCALE]) == 0
    out = capsys.readouterr().out
    assert "scale<float>, 2 x 3 blocks of 64 threads" in out
    assert "global load x" in out
    assert "No hazard found." in out


def test_a_launch_in_words_sums_its_arrays_up_and_writes_them(file, capsys, tmp_path):
    out = tmp_path / "out.npz"
    assert main(["run-kernel", file, *SCALE, "--out", str(out), "--json"]) == 0
    x, y = json.loads(capsys.readouterr().out)
    assert (y["name"], y["dtype"], y["shape"], y["nans"]) == ("y", "float32", [3, 100], 0)
    assert y["most"] == pytest.approx(2.5 * x["most"])
    with np.load(out) as written:
        np.testing.assert_array_equal(written["y"], np.float32(2.5) * written["x"])
    again = [*SCALE[:6], "--arg", "x", "--arg", "y", *SCALE[-4:], "--npz", str(out)]
    for verb in ("run-kernel", "xray"):
        assert main([verb, file, *again]) == 0
    assert "float32" in capsys.readouterr().out


@pytest.mark.nvrtc
def test_an_instance_of_a_template_is_compiled_for_gpus_too(file, capsys):
    half = [word.replace("float", "__half").replace("f32", "f16") for word in SCALE]
    assert main(["xray", file, *half, "--json"]) == 0
    codes = json.loads(capsys.readouterr().out)["machine_code"]
    assert {code["entry"] for code in codes} == {"scale<__half>"}
    assert {"LDG 16", "STG 16"} <= codes[-1]["accesses"].keys()


def test_what_is_counted_once_is_counted_in_the_singular(tmp_path, capsys):
    path = tmp_path / "one.cu"
    path.write_text("__global__ void one(float* x) { x[0] = 1; }")
    assert main(["xray", str(path), "--grid", "1", "--block", "1", "--arg", "x:f32:1"]) == 0
    out = capsys.readouterr().out
    assert "one, 1 block of 1 thread" in out
    assert "1 sector " in out


def test_symbols_and_16_bit_arrays_in_words(file, capsys):
    words = [
        "--kernel",
        "add",
        "--grid",
        "1",
        "--block",
        "8",
        "--arg",
        "n:i32:8:zeros",
        "--symbol",
        "steps:i32:4:arange",
    ]
    assert main(["run-kernel", file, *words, "--json"]) == 0
    n, _ = json.loads(capsys.readouterr().out)
    assert (n["least"], n["most"], n["mean"]) == (0, 3, 1.5)
    half = [word.replace("float", "__half").replace("f32", "f16") for word in SCALE]
    assert main(["run-kernel", file, *half]) == 0
    assert "float16" in capsys.readouterr().out


def test_noise_goes_by_an_arrays_name(tmp_path, capsys):
    path = tmp_path / "none.cu"
    path.write_text("__global__ void none(const float* x, const float* y) { }")
    words = ["--grid", "1", "--block", "1", "--arg", "x:f32:9", "--arg", "y:f32:9", "--json"]
    means = []
    for _ in range(2):
        assert main(["run-kernel", str(path), *words]) == 0
        means.append([one["mean"] for one in json.loads(capsys.readouterr().out)])
    assert means[0] == means[1]
    assert means[0][0] != means[0][1]


def test_macros_in_words(tmp_path, capsys):
    path = tmp_path / "fill.cu"
    path.write_text("__global__ void fill(float* x) { x[threadIdx.x] = VALUE; }")
    words = ["--grid", "1", "--block", "4", "--arg", "x:f32:4", "--define"]
    assert main(["run-kernel", str(path), *words, "VALUE=0x10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["mean"] == 16
    for word in ("VALUE", "VALUE=1.5"):
        assert main(["run-kernel", str(path), *words, word]) == 2
        assert "such as BLOCK=256" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (SCALE[:2], "A launch needs --grid and --block."),
        ([*SCALE[:6], "--arg", "x:f31:8"], "--arg x:f31:8: there is no dtype f31; there are bool, i8,"),
        ([*SCALE[:6], "--arg", "x:f32:8:full"], "--arg x:f32:8:full: arrays are filled with noise, uniform, arange, zeros, ones, nan or a number, not full."),
        ([*SCALE[:6], "--arg", "what"], "--arg is 'what'; it takes a number, an array such as x:f32:64x4096"),
        ([*SCALE[:6], "--arg", "x:f64:300", *SCALE[8:]], "Argument 1 of scale<float> is an array of float64; `const T* x` takes an array of float32."),
        ([*SCALE[:6], "--arg", "x:f32:8", "--arg", "x:f32:9"], "--arg x:f32:9: there is a x already; to pass it again, write x."),
        (["--kernel", "scale<flot>", *SCALE[2:]], "mine.cu has no kernel scale<flot> to launch; it has scale, add ("),
        (["--kernel", "scal", *SCALE[2:]], "There is no kernel 'scal' in mine.cu; it has scale, add."),
        (SCALE[2:], "mine.cu has 2 kernels; say which `kernel`: scale, add."),
    ],
)  # fmt: skip
def test_bad_words_get_one_sentence_and_status_2(file, capsys, words, said):
    for verb in ("run-kernel", "xray"):
        assert main([verb, file, *words]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1


def test_arrays_that_cannot_be_read_or_written(file, capsys, tmp_path):
    (tmp_path / "bad.npz").write_text("no arrays")
    assert main(["run-kernel", file, *SCALE, "--npz", str(tmp_path / "bad.npz")]) == 2
    assert "Cannot read the arrays of" in capsys.readouterr().err
    assert main(["run-kernel", file, *SCALE, "--out", str(tmp_path / "no" / "out.npz")]) == 2
    assert "Cannot write" in capsys.readouterr().err


def test_a_fault_is_one_line_on_stderr(file, capsys):
    short = [*SCALE[:8], "--arg", "y:f32:299", *SCALE[-4:]]
    assert main(["run-kernel", file, *short]) == 1
    assert (
        "stores 4 bytes at y[299], past the end of its 299 elements at mine.cu:4."
        in capsys.readouterr().err
    )
    assert main(["xray", file, *short]) == 1
    assert "out of bounds:" in capsys.readouterr().out


@pytest.mark.parametrize("axes", ["a", "0", "1,2,3,4", "2,", "-1"])
def test_axes_are_one_to_three_numbers(file, capsys, axes):
    assert main(["xray", file, "--grid", axes]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
