"""What a person meets at the command line: answers, JSON, progress, and one line for bad input."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import softmax_lib
from softmax_lib.cli import main
from softmax_lib.cli.parser import HELP, parser
from softmax_lib.engine.caches import cache_folder
from softmax_lib.records import shelf
from softmax_lib.worklog.registry import kernels, rungs


def run_json(capsys, *arguments):
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_info_names_compiler_and_what_runs_where(capsys):
    found = run_json(capsys, "info")
    assert found["torch"] == torch.__version__
    assert re.search(r"\d+\.\d+", found["cpp_compiler"])
    assert "emulator" in found["runs"]
    assert main(["info"]) == 0
    assert "cpp compiler" in capsys.readouterr().out


SAID = {
    (9, 0): "sm_90, measured on NVIDIA H200",
    (7, 5): "sm_75, not measured",
    (7, 0): "compute capability 7.0",
}


@pytest.mark.parametrize(("capability", "said"), SAID.items())
def test_info_tells_whose_choice_of_kernels_softmax_goes_by(capsys, monkeypatch, capability, said):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: "a GPU")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert said in run_json(capsys, "info")["softmax_table"]


def test_the_ladder_has_a_line_a_rung_with_every_promised_field(capsys):
    found = run_json(capsys, "ladder", "--rows", "3", "--cols", "70", "--device", "cpu")
    assert (found["device"], found["rows"], found["cols"]) == ("cpu", 3, 70)
    assert [line["name"] for line in found["kernels"]] == [kernel.name for kernel in rungs()]
    for line in found["kernels"]:
        assert 0 < line["max_abs_error"] < 1e-6
        assert line["block_size"] in kernels[line["name"]].block_sizes
        # this shape was never recorded, and an emulator's time is not a GPU's
        assert line["time_us"] is line["gb_per_s"] is line["copy_share"] is line["source"] is None


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without a GPU says")
def test_the_ladder_without_times_names_the_record_that_is_damaged(capsys, monkeypatch, tmp_path):
    (tmp_path / "nvidia-h200.json").write_text("{")
    monkeypatch.setattr(shelf, "FOLDER", tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "none"))
    found = run_json(capsys, "ladder", "--rows", "1", "--cols", "32", "--device", "cpu")
    assert {line["time_us"] for line in found["kernels"]} == {None}
    assert all(line["max_abs_error"] < 1e-6 for line in found["kernels"])
    assert f"The record {tmp_path}/nvidia-h200.json is damaged: " in found["skipped"]["times"]
    assert main(["ladder", "--rows", "1", "--cols", "32", "--device", "cpu"]) == 0
    assert "Skipped times: The record " in capsys.readouterr().out


def test_the_ladder_leaves_out_rungs_that_cannot_take_the_row(capsys):
    found = run_json(capsys, "ladder", "--rows", "1", "--cols", "32769", "--device", "cpu")
    names = [kernel.name for kernel in rungs() if kernel.name != "fusion"]
    assert [line["name"] for line in found["kernels"]] == names


def test_the_ladder_replays_recorded_times_says_so_and_fits_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ["ladder", "--rows", "1024", "--cols", "512", "--device", "cpu"]
    for line in run_json(capsys, *words)["kernels"]:
        assert line["time_us"] > 0
        assert 0 < line["copy_share"] < 1.2
        assert line["source"].startswith("recorded on NVIDIA")
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "recorded on NVIDIA" in out
    assert all(f" {kernel.name} " in out for kernel in rungs())
    assert max(map(len, out.splitlines())) <= 80


def test_a_kernel_of_ones_own_is_one_more_row_of_the_ladder_named_by_its_file(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.setenv("COLUMNS", "80")
    mine, twin, wrong = tmp_path / "mine.cu", tmp_path / "other" / "mine.cu", tmp_path / "wrong.cu"
    twin.parent.mkdir()
    text = kernels["online"].source.text
    mine.write_text(text)
    twin.write_text(text)
    wrong.write_text(text.replace("* scale", "* 2 * scale"))
    words = ["ladder", str(mine), "naive", "textbook", "--rows", "1024", "--cols", "512"]
    found = run_json(capsys, *words, "--device", "cpu")
    *rungs_of, own, foil = found["kernels"]
    assert [line["name"] for line in rungs_of] == [kernel.name for kernel in rungs()]
    assert (own["name"], own["ok"], own["block_size"], own["reads"]) == ("mine.cu", True, 32, None)
    assert own["time_us"] is None  # what was recorded is the book's
    assert foil["name"] == "textbook"
    assert (foil["reads"], foil["writes"]) == kernels["textbook"].traffic(512)
    small = ["--rows", "2", "--cols", "8", "--device", "cpu"]
    monkeypatch.chdir(tmp_path)
    assert main(["ladder", "mine.cu", "other/mine.cu", "wrong.cu", *small]) == 1
    out = capsys.readouterr().out
    assert "checked on this CPU" in out
    assert out.count("mine.cu") == 2
    assert " wrong.cu " in out
    assert "wrong: " in out
    assert "GB/s" not in out  # where nothing was timed there is no column for it


def test_help_has_examples_that_work_and_tells_the_exit_status(capsys):
    made, verbs = parser()
    for name, one in verbs.items():
        if name == HELP:
            continue
        with pytest.raises(SystemExit, match="0"):
            main(["help", name])
        told = capsys.readouterr().out
        assert "Exit status: 0 when all is well" in told
        examples = re.findall(r"^  softmax-lib (.*)$", told, re.MULTILINE)
        assert examples, name
        for example in examples:
            words = shlex.split(example.partition(" > ")[0])
            assert made.parse_args(words).verb is one.get_default("verb")
    with pytest.raises(SystemExit, match="0"):
        main(["help"])
    told = capsys.readouterr().out
    assert all(re.search(rf"^    {name}\s", told, re.MULTILINE) for name in verbs)


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"softmax-lib {softmax_lib.__version__}\n"


def test_what_is_removed_while_the_cache_is_counted_does_not_count(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (cache_folder("emulator") / "building" / "in").mkdir(parents=True)
    (cache_folder("emulator") / "built").write_bytes(bytes(7))
    walk = os.walk

    def walk_and_remove(folder):
        for found in walk(folder):
            yield found
            shutil.rmtree(Path(folder, "building"), ignore_errors=True)

    monkeypatch.setattr(os, "walk", walk_and_remove)
    assert run_json(capsys, "cache")["kinds"]["emulator"] == {"files": 1, "bytes": 7}


def test_the_cache_is_shown_and_cleared_and_the_readers_own_files_stay(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert run_json(capsys, "cache")["kinds"] == {}
    own = tmp_path / "data" / "softmax_lib" / "mine"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    (cache_folder("emulator") / "built").write_bytes(bytes(1500))
    found = run_json(capsys, "cache")
    assert found["kinds"] == {"emulator": {"files": 1, "bytes": 1500}}
    assert found["folder"] == str(tmp_path / "cache" / "softmax_lib")
    assert main(["cache"]) == 0
    assert "0.0 MB in" in capsys.readouterr().out
    assert run_json(capsys, "cache", "--clear")["kinds"] == found["kinds"]
    assert run_json(capsys, "cache", "--clear")["kinds"] == {}
    assert own.read_text() == "mine"
    assert cache_folder("emulator").is_dir()  # what runs on can build again


def complete(shell, script, words):
    if shell == "fish":
        asked = f'source {script}; complete -C "{words}"'
        said = subprocess.check_output(["fish", "-c", asked], text=True)
        return [line.partition("\t")[0] for line in said.splitlines()]
    program = (
        f"source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        'for made in $(complete -p softmax-lib); do [ "$next" ] && function=$made; '
        'next=; [ "$made" = -F ] && next=1; done; '
        '$function softmax-lib "${COMP_WORDS[COMP_CWORD]}"; echo "${COMPREPLY[@]}"'
    )
    return subprocess.check_output(["bash", "-c", program], text=True).split()


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("lad", ["ladder"]),
        ("check nai", [name for name in kernels if name.startswith("nai")]),
        ("check own", ["own.cu"]),
        ("xray softm", ["softmax"]),
        ("grade shared_p", ["shared_pairs"]),
        ("ladder --ro", ["--rows"]),
    ],
)
def test_a_shell_completes_verbs_kernels_exercises_and_files(
    capsys, monkeypatch, tmp_path, shell, words, offered
):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    assert main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    (tmp_path / "own.cu").touch()
    monkeypatch.chdir(tmp_path)
    assert complete(shell, script, f"softmax-lib {words}") == offered


def test_check_of_a_flawed_kernel_tells_its_flaw(capsys):
    assert main(["check", "unsafe", "--device", "cpu"]) == 0
    assert "as it should: exp overflows" in capsys.readouterr().out


def test_xray_prints_counters_by_line_and_as_json(capsys, monkeypatch):
    found = run_json(capsys, "xray", "naive", "--rows", "32", "--cols", "64")
    of = [found[name] for name in ("kernel", "rows", "cols", "block_size")]
    assert of == ["naive", 32, 64, 32]
    assert (found["blocks"], found["warps"], found["threads"]) == (1, 1, 32)
    assert found["total"]["global_load_sectors"] == 32 * found["total"]["global_load_requests"]
    assert {line["file"] for line in found["lines"]} == {"03_naive.cu"}
    assert found["hazards"] == []
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["xray", "float4", "--rows", "2"]) == 0
    out = capsys.readouterr().out
    assert "block_reduce.cuh" in out
    assert "No hazard found." in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m softmax_lib info | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr


# ---- any kernel, in words

TEXT = """#include <cuda_fp16.h>
template <class T> __global__ void scale(const T* x, T* y, int cols, float by) {
    int row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) y[row * cols + col] = (T)((float)x[row * cols + col] * by);
}
__constant__ int steps[4];
__global__ void add(int* n, float* x) { n[threadIdx.x] += steps[threadIdx.x % 4] + VALUE; }
"""
ON = "mine.cu --define VALUE=0x10 --kernel scale<float> --grid 2,3 --block 64"
SCALE = f"{ON} --arg x:f32:3x100 --arg y:f32:3x100:nan --arg 100 --arg 2.5"
HALF = SCALE.replace("float", "__half").replace("f32", "f16")


@pytest.fixture
def in_folder(monkeypatch, tmp_path):
    (tmp_path / "mine.cu").write_text(TEXT)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("in_folder")
def test_an_xray_in_words_counts_by_array(capsys):
    found = run_json(capsys, "xray", *SCALE.split())
    launched = found["kernel"], found["grid"], found["block"]
    assert launched == ("scale<float>", [2, 3, 1], [64, 1, 1])
    lines = {(line["array"], line["operation"]): line["requests"] for line in found["lines"]}
    assert lines == {("x", "load"): 12, ("y", "store"): 12}
    assert main(["xray", *SCALE.split()]) == 0
    out = capsys.readouterr().out
    assert "scale<float>, 2 x 3 blocks of 64 threads" in out
    assert "global load x" in out
    assert "No hazard found." in out


@pytest.mark.usefixtures("in_folder")
def test_a_launch_in_words_sums_its_arrays_up_and_writes_them(capsys):
    x, y = run_json(capsys, "run-kernel", *SCALE.split(), "--out", "out")
    assert (y["name"], y["dtype"], y["shape"], y["nans"]) == ("y", "float32", [3, 100], 0)
    assert y["most"] == pytest.approx(2.5 * x["most"])
    with np.load("out") as written:
        np.testing.assert_array_equal(written["y"], np.float32(2.5) * written["x"])
    again = f"{ON} --arg x --arg y --arg 100 --arg 2.5 --npz out"
    for verb in ("run-kernel", "xray"):
        assert main([verb, *again.split()]) == 0
    assert "float32" in capsys.readouterr().out


@pytest.mark.nvrtc
@pytest.mark.usefixtures("in_folder")
def test_an_instance_of_a_template_is_compiled_for_gpus_too(capsys):
    codes = run_json(capsys, "xray", *HALF.split())["machine_code"]
    assert {code["entry"] for code in codes} == {"scale<__half>"}
    assert {"LDG 16", "STG 16"} <= codes[-1]["accesses"].keys()


@pytest.mark.usefixtures("in_folder")
def test_symbols_macros_16_bit_arrays_and_noise_by_name_in_words(capsys):
    words = "mine.cu --define VALUE=0x10 --kernel add --grid 1 --block 8"
    words += " --symbol steps:i32:4:arange"
    arrays = "--arg n:i32:8:zeros --arg x:f32:9"
    n, x, _ = run_json(capsys, "run-kernel", *f"{words} {arrays}".split())
    assert (n["least"], n["most"], n["mean"]) == (16, 19, 17.5)
    again, other = (f"{words} --arg n:i32:8 --arg {name}:f32:9".split() for name in "xz")
    assert run_json(capsys, "run-kernel", *again)[1]["mean"] == x["mean"]
    assert run_json(capsys, "run-kernel", *other)[1]["mean"] != x["mean"]
    assert main(["run-kernel", *HALF.split()]) == 0
    assert "float16" in capsys.readouterr().out


@pytest.mark.usefixtures("in_folder")
def test_what_is_counted_once_is_counted_in_the_singular(capsys):
    with open("one.cu", "w") as file:
        file.write("__global__ void one(float* x) { x[0] = 1; }")
    assert main("xray one.cu --grid 1 --block 1 --arg x:f32:1".split()) == 0
    out = capsys.readouterr().out
    assert "one, 1 block of 1 thread" in out
    assert "1 sector " in out
