"""What a person meets at the command line: answers, JSON, progress, and one line for bad input."""

import json
import os
import subprocess
import sys

import pytest
import torch

from softmax_lib.cli import main
from softmax_lib.records import shelf
from softmax_lib.registry import kernels, rungs

without_gpu = pytest.mark.skipif(
    torch.cuda.is_available(), reason="says what a machine without a GPU says"
)


def run_json(capsys, *arguments):
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_info_names_compiler_and_what_runs_where(capsys):
    found = run_json(capsys, "info")
    assert found["torch"] == torch.__version__
    assert found["cpp_compiler"]
    assert "emulator" in found["runs"]
    assert main(["info"]) == 0
    assert "cpp compiler" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("capability", "said"),
    [
        ((9, 0), "sm_90, measured on NVIDIA H200"),
        ((7, 5), "sm_75, not measured"),
        ((7, 0), "compute capability 7.0"),
    ],
)
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


def test_the_ladder_replays_recorded_times_and_says_so(capsys):
    found = run_json(capsys, "ladder", "--rows", "1024", "--cols", "512", "--device", "cpu")
    for line in found["kernels"]:
        assert line["time_us"] > 0
        assert 0 < line["copy_share"] < 1.2
        assert line["source"].startswith("recorded on NVIDIA")


@without_gpu
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
    assert [line["name"] for line in found["kernels"]] == [
        k.name for k in rungs() if k.name != "fusion"
    ]


def test_the_ladder_for_people_fits_a_terminal_of_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["ladder", "--rows", "1024", "--cols", "512", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "recorded on NVIDIA" in out
    assert all(f" {kernel.name} " in out for kernel in rungs())
    assert max(map(len, out.splitlines())) <= 80


def test_check_of_a_sound_and_a_flawed_kernel(capsys):
    (result,) = run_json(capsys, "check", "shuffle", "--device", "cpu")
    assert result["ok"]
    assert result["launches"] > 20
    assert main(["check", "unsafe", "--device", "cpu"]) == 0
    assert "as it should: exp overflows" in capsys.readouterr().out


def test_check_of_a_readers_broken_file_fails_with_status_1(capsys, tmp_path):
    broken = kernels["naive"].source.text.replace("row_max = -INFINITY", "row_max = 0.0f")
    path = tmp_path / "mine.cu"
    path.write_text(broken)
    assert main(["check", str(path), "--device", "cpu"]) == 1
    assert "all very negative" in capsys.readouterr().out


def test_xray_prints_counters_by_line_and_as_json(capsys, monkeypatch):
    found = run_json(capsys, "xray", "naive", "--rows", "32", "--cols", "64")
    assert (found["kernel"], found["rows"], found["cols"], found["block_size"]) == (
        "naive",
        32,
        64,
        32,
    )
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


def test_xray_of_a_broken_file_names_the_hazard_and_fails_with_status_1(capsys, tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(kernels["naive"].source.text.replace("col < cols", "col <= cols"))
    assert (
        main(["xray", str(path), "--rows", "4", "--cols", "8", "--block-size", "32", "--json"]) == 1
    )
    hazard = json.loads(capsys.readouterr().out)["hazards"][0]
    assert (hazard["kind"], hazard["line"]) == ("out of bounds", 18)
    assert main(["xray", str(path), "--rows", "4", "--cols", "8", "--grid", "1"]) == 1
    assert "out of bounds: illegal address: thread" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "naiv"], "did you mean naive"),
        (["xray", "naiv"], "did you mean naive"),
        (["xray", "missing.cu"], "There is no file missing.cu."),
        (["xray", "naive", "--block-size", "33"], "not built for 33"),
        (["xray", "naive", "--rows", "9000", "--cols", "9000"], "a smaller one shows"),
        (["check", "missing.cu"], "There is no file missing.cu."),
        pytest.param(["check", "naive", "--device", "cuda"], "No GPU to run on", marks=without_gpu),
        pytest.param(["record"], "No GPU to run on", marks=without_gpu),
    ],
)
def test_bad_input_gets_one_line_and_status_2(arguments, words, capsys):
    assert main(arguments) == 2
    heard = capsys.readouterr()
    assert words in heard.err.splitlines()[-1]
    assert "Traceback" not in heard.err
    assert heard.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["climb"],
        ["ladder", "--rows", "0"],
        ["xray"],
        ["xray", "naive", "--grid", "-1"],
        ["ladder", "--rows", "x"],
        ["check", "--device", "tpu"],
    ],
)
def test_wrong_usage_gets_one_line_and_status_2(arguments, capsys):
    assert main(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m softmax_lib.cli info | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env={**os.environ})
    assert "Traceback" not in done.stderr
