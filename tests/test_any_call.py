"""Five hundred command lines and five hundred calls at random: a result, or an error of this package in a sentence."""

import json
import random
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from emulated import kernel_of

import softmax_lib
from softmax_lib import check, emulator, gpu, kernels, selections
from softmax_lib.cli import checks, main
from softmax_lib.worklog.errors import SoftmaxLibError

COUNT = 500
ADD = "__global__ void add(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }"
COPY = kernel_of(
    "    if (threadIdx.x < cols) y[blockIdx.x * cols + threadIdx.x] = x[threadIdx.x];\n"
)
TYPO = kernel_of("    y[0] = typo;\n")
STRAY = kernel_of("    y[1 << 28] = 1;\n")

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore:.*It is launched in one dimension"),
]


@pytest.fixture
def draws(monkeypatch, pytestconfig):
    """Random numbers from the seed of this run; what takes seconds and is no argument's business is left out."""
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", "0.5")
    monkeypatch.setattr("softmax_lib.engine.xrays.result.inspect", lambda *_: ())
    monkeypatch.setattr(checks, "check", partial(check, lengths=(5, 32)))
    seed = int(pytestconfig.getoption("hypothesis_seed", None) or 0)
    print("seed", seed)
    return random.Random(seed)


# ---- command lines

NUMBERS = ["1", "8", "33", "0", "-1", "1.5", "x", "", "1e3", "9" * 30, "٣", "nan"]
BLOCKS = ["32", "64", "33", "0", "-1", "1025", "1,1,65", "32,2", "4", "4,", "9" * 30]
GRIDS = ["1", "3", "2,2", "0", "1,65536", "2147483648", "1,1,1,1", "a", ""]
FILES = [*6 * ["add.cu"], "copy.cu", "typo.cu", "stray.cu", "none.cu", "-o.cu", "no.cu", "."]
NAMES = ["naive", "shared", "unsafe", "nobody", "", *FILES, *3 * ["copy.cu"], *3 * ["stray.cu"]]
ARGS = ["x:f32:8", "y:f32:8:nan", "y:f64:8", "x:f32:0", "x:f32:4x", "x", "8", "3.5", "null", "true", "inf", "-0x10", "9" * 400,
        "x:f32:99999x99999", "z:bf16:8:noise", "z:c64:8", "y:f32:8:1e50", "x:f32:8:what", ":", "é:f32:8"]  # fmt: skip
DEFINES = ["BLOCK=32", "n=3", "BLOCK", "=", "(=1", "BLOCK=x", "x=9999999999999999999999"]
OPTIONS = {
    "--rows": NUMBERS, "--cols": NUMBERS, "--block-size": NUMBERS + BLOCKS, "--grid": GRIDS, "--block": BLOCKS, "--arg": ARGS,
    "--symbol": ARGS, "--shared-bytes": NUMBERS, "--define": DEFINES, "--cluster": GRIDS, "--kernel": ["add", "k", "", "add<3>"],
    "--npz": ["bad.npz", "good.npz", "no.npz", "."], "--out": ["out.npz", "no/out.npz", ""], "--device": ["cpu", "auto", "tpu", ""],
    "--minutes": NUMBERS, "--suite": ["peers", "all"], "--output": ["no/such/record.json", "."],
}  # fmt: skip
FLAGS = ["--quick", "--keep", "--cooperative", "--colour", "--"]
OF_VERB = {
    "info": [],
    "check": ["--device"],
    "ladder": ["--rows", "--cols", "--device"],
    "record": ["--minutes", "--output"],
    "bench": ["--suite", "--output"],
    "tune": ["--output"],
    "xray": ["--rows", "--cols", "--block-size", "--grid"],
    "run-kernel": ["--shared-bytes", "--define", "--cluster", "--kernel", "--npz", "--out"],
    "climb": [],
}
LAUNCH = ["--grid", "1", "--block", "8"]


def line_of(draws):
    """A verb, names, and options that mostly are its own."""
    verb = draws.choice([*OF_VERB, *4 * ["xray", "run-kernel"], *2 * ["check"]])
    words = [verb]
    if verb in ("check", "xray", "run-kernel"):
        names = FILES if verb == "run-kernel" else NAMES
        words += draws.choices(names, k=draws.choice([1, 2]) if verb == "check" else 1)
    if verb == "run-kernel" or (verb == "xray" and draws.random() < 0.4):
        words += LAUNCH
        for word in draws.choice([["x:f32:8", "y:f32:8", "8"], draws.choices(ARGS, k=3)]):
            words += ["--arg", word]
    if verb == "ladder":  # whose seconds go into the kernels
        words += ["--rows", "2", "--cols", "8", "--device", draws.choice(["cpu", "tpu", "gpu"])]
    if verb == "xray":
        words += ["--rows", "2", "--cols", "8"]
    for _ in range(draws.choice([0, 0, 1, 2])):
        option = draws.choice(OF_VERB[verb] * 12 + list(OPTIONS))
        words += [option, draws.choice(OPTIONS[option])]
    return words + draws.choices(FLAGS, k=draws.random() < 0.1)


def test_any_command_line_gets_an_answer(draws, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = {
        "add": ADD,
        "copy": COPY.text,
        "typo": TYPO.text,
        "stray": STRAY.text,
        "none": "",
        "-o": ADD,
    }
    for name, text in texts.items():
        Path(f"{name}.cu").write_text(text)
    Path("bad.npz").write_text("no arrays")
    np.savez("good.npz", x=np.ones(8, np.float32), s=np.array(["a"]))
    told = Counter()
    for _ in range(COUNT):
        line = line_of(draws)
        capsys.readouterr()
        status = main([*line, "--json"])
        out, err = capsys.readouterr()
        answer = json.loads(out, parse_constant=float.fromhex)  # which knows no NaN as JSON has it
        assert status in (0, 1, 2), line
        assert "Traceback" not in err, line
        if isinstance(answer, dict) and "error" in answer:
            assert answer["error"].strip(), line
            assert err.count("\n") == 1 or answer["kind"] == "CompileError", (line, err)
        told[status] += 1
    with capsys.disabled():
        print(told)
    assert min(told[status] for status in (0, 1, 2)) > COUNT // 100


# ---- calls

SIZES = [
    32,
    1,
    3,
    8,
    33,
    64,
    np.int64(32),
    0,
    -1,
    1.5,
    32.0,
    "3",
    None,
    True,
    2**31,
    2**62,
    [],
    float("nan"),
]
GIVEN_GRIDS = [
    1,
    2,
    (2, 2),
    (1, 65536),
    0,
    -1,
    2**31,
    1.5,
    None,
    "12",
    (),
    [1, 2, 3, 4],
    np.ones(2, int),
    True,
]
GOOD = np.random.default_rng(0).standard_normal((3, 40)).astype(np.float32)
TENSOR = torch.from_numpy(GOOD)
READ_ONLY = np.broadcast_to(np.float32(0), (3, 40))
MATRICES = [
    GOOD, GOOD, GOOD[:1, :8].copy(), TENSOR, TENSOR, GOOD.astype("f8"), GOOD[0], GOOD[None], GOOD.T, GOOD[:0], GOOD[:, :0].copy(),
    GOOD.astype(">f4"), GOOD.astype(object), np.ma.masked_array(GOOD), READ_ONLY, np.float32(3), [[1.0]], None, "x", 3,
    TENSOR.half(), TENSOR.long(), TENSOR.t(), torch._neg_view(TENSOR), TENSOR.to_mkldnn(), TENSOR.to_sparse(),
    TENSOR.clone().requires_grad_(), TENSOR.to("meta"), torch.complex(TENSOR, TENSOR), torch.complex(TENSOR, TENSOR).conj(),
    torch.tensor(3.0), torch.ones(3, 0),
]  # fmt: skip
PLAIN = [
    *MATRICES[:25],
    torch.tensor(3.0),
    torch.ones(3, 0),
    TENSOR.clone().requires_grad_(),
    TENSOR.to("meta"),
]
SOURCES = ["naive", "shared", "fusion", "copy", "nobody", "", None, 3, b"naive", COPY, COPY.text, TYPO, STRAY, ADD, "no.cu", Path("."),
           Path("a\0.cu"), "\ud800{", kernels["naive"], "{}", "unsafe", []]  # fmt: skip
WORDS = ["cpu", "auto", "gpu", "", None, 3, [], b"cpu"]
TAKEN = [
    1.5,
    1,
    True,
    None,
    10**400,
    "x",
    GOOD,
    TENSOR,
    [GOOD],
    np.float32(2),
    (np.float32(1),),
    np.ones(1, complex),
    b"1234",
    {},
]
DIMS = [-1, 0, 1, 2, -3, 1.5, "0", None, np.int64(0), True]
DTYPES = [None, torch.float32, torch.float64, torch.float16, torch.int32, "float32", float]


def launch_words(draw):
    args = draw(
        [
            [GOOD, GOOD.copy(), 8],
            [GOOD, GOOD.copy(), draw(TAKEN)],
            [draw(MATRICES), GOOD.copy(), 8],
            draw([3, None, "xy", []]),
        ]
    )
    how = {
        "shared_bytes": SIZES, "kernel": ["add", "nobody", 3, b""], "cooperative": [True, 1, "yes"], "cluster": GIVEN_GRIDS,
        "symbols": [{}, {"s": GOOD}, {1: GOOD}, [1], 3], "defines": [{}, {"n": 3}, {"(": 1}, {"x": 1.5}, {1: 1}, 3, "n"],
    }  # fmt: skip
    chosen = {name: draw(values) for name, values in how.items() if draw(range(6)) == 0}
    source = draw([ADD, ADD, ADD, draw(SOURCES)])
    return (source, draw([1, draw(GIVEN_GRIDS)]), draw([8, draw(GIVEN_GRIDS)]), args), chosen


def words_of_softmax(draw):
    how = {
        "dtype": DTYPES,
        "out": MATRICES,
        "scale": [2, 0.5, float("nan"), 1e39, "2", TENSOR],
        "mask": [torch.zeros(3, 40), *MATRICES],
        "causal": [True, 0],
    }
    return {name: draw(values) for name, values in how.items() if draw(range(4)) == 0}


CALLS = {
    "run": lambda draw: softmax_lib.run(draw(SOURCES), draw(MATRICES), block_size=draw([None, draw(SIZES)]), out=draw([None, draw(MATRICES)])),
    "trace": lambda draw: softmax_lib.trace(draw(SOURCES), draw(MATRICES), draw([None, draw(SIZES)]), draw([32, draw(SIZES)]), grid=draw([None, draw(GIVEN_GRIDS)])),
    "xray": lambda draw: softmax_lib.xray(draw(SOURCES), draw(SIZES), draw(SIZES), draw([None, draw(SIZES)]), grid=draw([None, draw(GIVEN_GRIDS)])),
    "check": lambda draw: check(draw(SOURCES), draw([None, draw(MATRICES)]), device=draw(["cpu", draw(WORDS)]), block_size=draw([None, draw(SIZES)]), lengths=draw([(5,), (1, draw(SIZES[:14])), (), 3, None])),
    "measure": lambda draw: softmax_lib.measure(draw(SOURCES), draw([1024, draw(SIZES)]), draw([512, draw(SIZES)]), block_size=draw([None, draw(SIZES)]), gpu=draw([None, draw(WORDS)]), dtype=draw(["float32", 3, []]), l2=draw(["cold", "warm"])),
    "explore": lambda draw: softmax_lib.explore(draw(SOURCES), draw([1024, draw(SIZES)]), draw([512, draw(SIZES)])),
    "search_unroll": lambda draw: softmax_lib.search_unroll(draw([1024, draw(SIZES)]), draw([32768, draw(SIZES)])),
    "catch_lie": lambda draw: softmax_lib.catch_lie(draw(["one shape", draw(WORDS)])),
    "predict": lambda draw: softmax_lib.predict("?", draw([["a", "b"], {"a": 1.0, "b": 2.0}, [], {}, None, 3, "ab"]), draw(["a", 1.5, None, float("nan"), []]), "told"),
    "softmax": lambda draw: draw([softmax_lib.softmax, softmax_lib.log_softmax])(draw(PLAIN), draw([-1, draw(DIMS)]), **words_of_softmax(draw)),
    "softmax_topk": lambda draw: softmax_lib.softmax_topk(draw(PLAIN), draw([3, draw(SIZES)]), draw([-1, draw(DIMS)])),
    "select": lambda draw: selections.run(draw(["topk", "topk_warp", draw(WORDS)]), draw(MATRICES), draw([3, draw(SIZES)]), block_size=draw([None, draw(SIZES)])),
    "emulator.launch": lambda draw: (lambda given, how: emulator.launch(*given, **how))(*launch_words(draw)),
    "emulator.trace_launch": lambda draw: (lambda given, how: emulator.trace_launch(*given, **how))(*launch_words(draw)),
    "xray_launch": lambda draw: (lambda given, how: softmax_lib.xray_launch(*given, **how))(*launch_words(draw)),
    "gpu.launch": lambda draw: (lambda given, how: gpu.launch(*given, **how))(*launch_words(draw)),
}  # fmt: skip


def test_any_call_gets_a_result_or_an_error_of_this_package(draws, capsys):
    def choose(values):
        """The first, which is good, as often as not."""
        return values[0] if draws.random() < 0.5 else draws.choice(values)

    told, wrong = Counter(), []
    names = list(CALLS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, of an out that it resizes
        for number in range(COUNT):
            name = names[number % len(names)]
            try:
                CALLS[name](choose)
                told[name, "a result"] += 1
            except SoftmaxLibError as error:
                told[name, "an error"] += 1
                wrong += [name] * (not str(error).strip())
            except Exception as error:
                wrong.append(f"{number} {name}: {type(error).__name__}: {str(error)[:200]}")
    assert not wrong, "\n".join(wrong)
    with capsys.disabled():
        print(dict(told))
    assert {name for name, what in told if what == "an error"} == set(names)
    assert sum(told[name, "a result"] for name in names) > COUNT // 20
