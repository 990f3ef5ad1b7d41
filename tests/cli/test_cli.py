"""What a person meets at the command line: answers, JSON, progress, and one line for bad input."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import torch

import softmax_lib
from softmax_lib.cli import main
from softmax_lib.cli.parser import HELP, parser
from softmax_lib.engine.caches import cache_folder
from softmax_lib.records import shelf
from softmax_lib.worklog.checking import count_attempts
from softmax_lib.worklog.registry import kernels, rungs

without_gpu = pytest.mark.skipif(
    torch.cuda.is_available(), reason="says what a machine without a GPU says"
)


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


def test_check_calls_a_file_by_its_name(capsys, tmp_path):
    mine = tmp_path / "mine.cu"
    mine.write_text(kernels["online"].source.text)
    (result,) = run_json(capsys, "check", str(mine), "--device", "cpu")
    assert result["name"] == "mine"


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


def test_check_of_a_sound_and_a_flawed_kernel(capsys):
    (result,) = run_json(capsys, "check", "shuffle", "--device", "cpu")
    assert result["ok"]
    assert result["launches"] == count_attempts(kernels["shuffle"]) > 20
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
        (["xray", "naive", "--log"], "are for `softmax-lib xray softmax`"),
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
    command = f"{sys.executable} -m softmax_lib info | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env={**os.environ})
    assert "Traceback" not in done.stderr
