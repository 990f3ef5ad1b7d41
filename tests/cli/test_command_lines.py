"""Whatever is typed: a status, JSON where it was asked for, and of what is wrong a sentence and no traceback."""

import json
import os
import re
import subprocess
import sys
from functools import partial

import pytest
import torch

from softmax_lib.cli import checks, main
from softmax_lib.worklog.checking import check
from softmax_lib.worklog.registry import kernels

without_gpu = pytest.mark.skipif(
    torch.cuda.is_available(), reason="says what a machine without a GPU says"
)

GOOD = """extern "C" __global__ void good(const float* x, float* y, int rows, int cols) {
    const float* row = x + (size_t)blockIdx.x * cols;
    float row_max = -INFINITY, row_sum = 0;
    for (int col = 0; col < cols; col++) row_max = fmaxf(row_max, row[col]);
    for (int col = 0; col < cols; col++) row_sum += expf(row[col] - row_max);
    for (int col = threadIdx.x; col < cols; col += blockDim.x)
        y[(size_t)blockIdx.x * cols + col] = expf(row[col] - row_max) / row_sum;
}
"""
FILES = {
    "good.cu": GOOD,
    "faulting.cu": GOOD.replace("col < cols", "col <= cols", 1),
    "wrong.cu": GOOD.replace("/ row_sum", "* row_sum"),
    "typo.cu": GOOD.replace("row_max = -", "row_max = typo - "),
    "vectors.cu": GOOD.replace("row_sum = 0;", "row_sum = *(const double*)row * 0;"),
    "ptx.cu": GOOD.replace("float row_max", 'asm("trap;"); float row_max'),
    "hang.cu": GOOD.replace("float row_max", "while (true); float row_max"),
    "none.cu": "// nothing\n",
    "-o.cu": GOOD,
    "[b].cu": GOOD,
    "add.cu": "__global__ void add(const float* x, float* y) { int i = threadIdx.x; y[i] = x[i] + 1; "
    'printf("added\\n"); }\n',
    "two.cu": "template <class T> __global__ void scale(const T* x) {}\n__global__ void add(int* n) {}\n",
    "latin.cu": b"// \xe9\n",
    "bad.npz": "no arrays",
    "huge.cu": (1 << 20) * "a " + GOOD,
}
ONE = "--grid 1 --block 4"
XY = "--arg x:f32:4 --arg y:f32:4:nan"
SMALL = "--rows 2 --cols 8"

ROWS = [
    # what is done
    ("info", 0, ""),
    ("check unsafe good.cu", 0, ""),
    (f"xray good.cu {SMALL}", 0, ""),
    ("xray vectors.cu --rows 2 --cols 64", 0, ""),
    ("xray vectors.cu --rows 2 --cols 63", 1, ""),
    (f"xray naive {SMALL} --block-size 32 --grid 1", 0, ""),
    ("grade", 0, ""),
    ("cache", 0, ""),
    ("completion zsh", 0, ""),
    ("ladder good.cu --rows 2 --cols 8", 0, ""),
    ("grade shared_pairs", 0, ""),
    ("grade shared_banks 8", 0, ""),
    ("grade shared_banks 9", 1, ""),
    ("grade shared_pairs --solution", 2, "shows once you have solved it"),
    ("grade naive_columns good.cu", 1, ""),
    ("grade naive_columns hang.cu", 1, ""),
    (f"xray [b].cu {SMALL}", 0, ""),
    (f"xray add.cu {ONE} {XY}", 0, "added"),
    (f"run-kernel add.cu {ONE} {XY}", 0, "added"),
    (f"run-kernel add.cu {ONE} --arg x:f32:4:inf --arg y:f32:4", 0, ""),
    (f"run-kernel add.cu {ONE} --arg x:f32:4:3.4e38 --arg y:f32:4", 0, ""),
    # what fails
    ("check wrong.cu", 1, ""),
    ("ladder wrong.cu --rows 2 --cols 8", 1, ""),
    ("ladder faulting.cu --rows 18 --cols 32", 1, "past the end"),
    ("check good.cu faulting.cu", 1, ""),
    (f"xray faulting.cu {SMALL}", 1, ""),
    (f"run-kernel add.cu {ONE} {XY} --out /dev/full", 1, "Cannot write /dev/full: No space left on device."),
    (f"xray hang.cu {SMALL}", 1, ""),
    (f"xray add.cu {ONE} --arg x:f32:3 --arg y:f32:4", 1, ""),
    (f"run-kernel add.cu {ONE} --arg x:f32:4 --arg y:f32:3", 1, "past the end of its 3 elements"),
    (f"run-kernel add.cu {ONE} --arg null --arg null", 1, "null pointer"),
    # what cannot be: names and files
    ("check good.cu typo.cu", 2, "typo: typo.cu: In function"),
    ("check ptx.cu", 2, "uses inline PTX (asm)"),
    *((line, 2, "There is no file missing.cu.") for line in ("check missing.cu", "grade shared_pairs missing.cu")),
    *((line, 2, "huge.cu is larger than any kernel") for line in ("check huge.cu", "grade shared_pairs huge.cu")),
    ("check latin.cu", 2, "Cannot read the kernel file latin.cu"),
    ("check .", 2, "There is no kernel called '.'"),
    ("check ./-o.cu", 2, "cannot be called '-o.cu'"),
    ("xray typo.cu", 2, "error: 'typo' was not declared"),
    ("xray good.cu/good.cu", 2, "Not a directory"),
    ("run-kernel naive --grid 1 --block 1", 2, "There is no file naive."),
    (f"run-kernel none.cu {ONE}", 2, "has no `__global__` kernel"),
    # shapes and grids
    ("ladder --rows 0", 2, "0 is no whole number from 1 up"),
    ("ladder --rows 100000000 --cols 1000", 2, "A ladder takes up to"),
    (f"ladder --cols {'9' * 5000}", 2, "is no whole number from 1 up"),
    ("xray naive --log", 2, "are for `softmax-lib xray softmax`"),
    ("xray naive --block-size 33", 2, "not built for 33 threads"),
    ("xray naive --grid 1180591620717411303424", 2, "is not one to three whole numbers"),
    ("xray naive --grid 2,3", 2, "--grid takes one number"),
    ("xray naive --arch 70 --as machine", 2, "machine code is run for"),
    # arguments of a launch
    ("run-kernel add.cu --grid 1", 2, "A launch needs --grid and --block."),
    (f"run-kernel add.cu {ONE} --arg x:f33:4", 2, "there is no dtype f33"),
    (f"run-kernel add.cu {ONE} --arg x:f32:4:full", 2, "not full"),
    (f"run-kernel add.cu {ONE} --arg x:f32:99999x99999 --arg x", 2, "an array has up to"),
    (f"xray add.cu {ONE} --arg x:f32:8 --arg x:f32:9", 2, "there is a x already; to pass it again, write x."),
    (f"xray two.cu {ONE} --kernel scale<flot> --arg x:f32:4", 2, "two.cu has no kernel scale<flot> to launch; it has scale, add ("),
    (f"run-kernel add.cu {ONE} --arg what", 2, "--arg is 'what'"),
    (f"run-kernel add.cu {ONE} {XY} --shared-bytes -1", 2, "shared_bytes is -1"),
    (f"run-kernel add.cu {ONE} {XY} --shared-bytes 1e3", 2, "invalid int value: '1e3'"),
    (f"run-kernel add.cu {ONE} {XY} --define BLOCK", 2, "such as BLOCK=256"),
    (f"run-kernel add.cu {ONE} {XY} --define ==1", 2, "--define"),
    (f"run-kernel add.cu {ONE} {XY} --symbol 4", 2, "--symbol 4"),
    (f"run-kernel add.cu {ONE} {XY} --cluster 3", 2, "do not divide"),
    (f"run-kernel add.cu {ONE} {XY} --npz bad.npz", 2, "Cannot read the arrays of bad.npz"),
    (f"run-kernel add.cu {ONE} {XY} --out no/out.npz", 2, "Cannot write no/out.npz"),
    # exercises
    ("grade shared_banks x", 2, "is answered by numbers, stride"),
    ("grade shared_pairs good.cu typo.cu", 2, "is answered by one file, and not by 2"),
    # usage
    ("", 2, "required: VERB"),
    ("climb", 2, "There is no verb 'climb'; there are info, check"),
    ("chek naive", 2, "There is no verb 'chek'; did you mean check"),
    ("help chek", 2, "There is no verb 'chek'; did you mean check"),
    ("completion pwsh", 2, "invalid choice: 'pwsh'"),
    ("ladder typo.cu", 2, "error: 'typo' was not declared"),
    ("ladder fusion --cols 65536 --rows 1", 2, "too long for fusion"),
    ("xray", 2, "required: NAME"),
    ("xray naive --cols", 2, "expected one argument"),
    ("ladder --row 3", 2, "unrecognized arguments: --row"),
    ("check --device tpu", 2, "invalid choice: 'tpu'"),
    ("record --minutes nan", 2, "nan is no number of minutes"),
    ("record --minutes 0", 2, "0 is no number of minutes"),
    pytest.param("check naive --device cuda", 2, "No GPU to run on", marks=without_gpu),
    pytest.param("ladder --device cuda", 2, "No GPU to run on", marks=without_gpu),
    pytest.param("record", 2, "times are measured on a GPU alone", marks=without_gpu),
    pytest.param("tune", 2, "times are measured on a GPU alone", marks=without_gpu),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("typed")
    for name, text in FILES.items():
        (made / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return made


@pytest.fixture
def typed(folder, monkeypatch, capsys):
    """Runs a command line: its status, stdout and stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", "0.5")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    monkeypatch.setattr(
        "softmax_lib.engine.xrays.result.inspect", lambda *_: ()
    )  # what NVRTC makes takes seconds
    monkeypatch.setattr(checks, "check", partial(check, lengths=(32,)))

    def run(line):
        status = main(line.split())
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize(("line", "status", "said"), ROWS)
def test_a_command_line_gets_json_a_status_and_a_sentence(typed, line, status, said):
    ended, out, err = typed(f"{line} --json")
    answer = json.loads(out, parse_constant=pytest.fail)
    assert (ended, said in err, "Traceback" in err) == (status, True, False), err
    if isinstance(answer, dict) and "error" in answer:
        assert set(answer) == {"error", "kind"}
        assert err.endswith(f"softmax-lib: {answer['error']}\n")
        sentences = [line for line in err.splitlines() if line != "added"]
        assert len(sentences) == 1 or answer["kind"] == "CompileError"


def test_what_kernels_print_stands_before_the_answer_for_a_person(typed):
    status, out, err = typed(f"run-kernel add.cu {ONE} {XY}")
    assert (status, err) == (0, "")
    assert out.startswith(4 * "added\n")
    assert "float32" in out


def test_a_fault_of_one_kernel_keeps_the_results_of_others(typed):
    status, out, _ = typed("check good.cu faulting.cu wrong.cu --json")
    good, faulting, wrong = json.loads(out)
    assert status == 1
    assert (good["ok"], good["launches"], good["failures"], good["error"]) == (True, 4, [], None)
    assert (faulting["ok"], faulting["error"]) == (False, "IllegalAddress")
    assert faulting["failures"][0].endswith("past the end of its 576 elements at faulting.cu:4.")
    assert (wrong["ok"], wrong["error"]) == (False, None)
    status, out, err = typed("check good.cu typo.cu faulting.cu")
    lines = out.splitlines()
    assert lines[0].startswith("good: 4 launches, all within")
    assert lines[1].startswith(
        "faulting: 0 launches, then on (18, 32) at 32 threads per block, x 0 floats off:"
    )
    assert (status, "typo.cu:3:" in err, len(lines)) == (2, True, 2)


def test_how_a_kernel_is_launched_is_said_behind_its_result(typed, folder):
    text = kernels["naive"].source.text.replace("row_max = -", "row_max = blockIdx.y - ")
    (folder / "named.cu").write_text(text)
    named = "softmax_naive is launched as the book's kernel of that name: one thread per row."
    axes = "It is launched in one dimension, where blockIdx.y is 0."
    for line in ("check named.cu", f"xray named.cu {SMALL}"):
        status, out, err = typed(line)
        assert (status, err, f"{named}\n{axes}\n" in out) == (0, "", True)
    assert json.loads(typed("check named.cu --json")[1])[0]["notes"] == [named, axes]


def test_a_narrow_terminal_cuts_nothing(typed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert re.search(r"^ +7 +global store y .*1 +$", typed(f"xray good.cu {SMALL}")[1], re.M)


def test_a_hang_is_called_so_once(typed):
    assert "\nhang: no thread finished" in typed(f"xray hang.cu {SMALL}")[1]


def run_in_shell(line, **environment):
    command = line.replace("softmax-lib", f"{sys.executable} -m softmax_lib")
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    ("line", "environment", "status", "said"),
    [
        ("softmax-lib info > /dev/full", {}, 2, "Cannot write the answer: No space left on device."),
        ("softmax-lib climb --json > /dev/full", {}, 2, "Cannot write the answer"),
        ("softmax-lib check naive", {"CXX": "/bin/true"}, 2, "built nothing; set CXX to a C++ compiler"),
        ("softmax-lib check naive", {"CXX": "'"}, 2, "CXX is \"'\", which does not run"),
        ("softmax-lib check naive", {"CXX": "/bin/true", "XDG_CACHE_HOME": "/dev/null"}, 2, "softmax-lib: Built kernels cannot be kept in /dev/null/softmax_lib (Not a directory)"),
        ("softmax-lib climb --json >&-", {}, 2, "There is no verb 'climb'"),
    ],
)  # fmt: skip
def test_a_bad_surrounding_gets_a_sentence(line, environment, status, said):
    done = run_in_shell(line, **environment)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert not re.search("Traceback|Warning", done.stderr)


def test_a_file_name_that_the_locale_cannot_say(tmp_path):
    (tmp_path / "é.cu").write_text(GOOD)
    ascii_alone = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run_in_shell(f"softmax-lib xray {tmp_path}/é.cu --rows 2 --cols 8", **ascii_alone)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No hazard found." in done.stdout
    done = run_in_shell(f"softmax-lib xray {tmp_path}/ü.cu", **ascii_alone)
    assert (done.returncode, "There is no file" in done.stderr) == (2, True)
