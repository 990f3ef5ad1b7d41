"""What is no argument gets an error of this package, in a sentence, before anything starts."""

import numpy as np
import pytest
import torch

import softmax_lib
from softmax_lib import (
    check,
    emulator,
    explore,
    gpu,
    kernels,
    measure,
    run,
    selections,
    trace,
    xray,
)
from softmax_lib.engine.errors import BadInput, BlockSizeNotAllowed, UnknownKernel, WrongType
from softmax_lib.engine.grids import axes_of
from softmax_lib.worklog.errors import NoSuchDimension, SoftmaxLibError

X = np.ones((2, 8), np.float32)
T = torch.ones(2, 8)
ADD = "__global__ void add(const float* x, float* y, float by, int n) { y[threadIdx.x] = n; }"
ARGS = (X, X.copy(), 1.0, 2)

NO_NUMBERS = (
    1.5,
    256.0,
    "3",
    True,
    [],
    None,
    np.float32(2),
    np.ones(2, int),
    torch.ones(2, dtype=int),
)
NO_NAMES = (None, 3, 1.5, [], {}, b"naive")


def words_of(call):
    with pytest.raises(SoftmaxLibError) as caught:
        call()
    assert str(caught.value).endswith(".")
    return type(caught.value)


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch):
    def start(*_, **__):
        raise AssertionError("a kernel was about to start")

    for place in ("running.open_session", "metering.open_session", "tracing.open_session"):
        monkeypatch.setattr(f"softmax_lib.engine.written.{place}", start)


NUMBERS = {
    "xray rows": lambda n: xray("naive", n),
    "xray cols": lambda n: xray("naive", 2, n),
    "xray block_size": lambda n: xray("naive", 2, 8, n),
    "xray grid": lambda n: xray("naive", 2, 8, grid=n),
    "run block_size": lambda n: run("naive", X, block_size=n),
    "trace block_size": lambda n: trace("naive", X, n),
    "trace warp_size": lambda n: trace("naive", X, 32, n),
    "trace grid": lambda n: trace("naive", X, grid=n),
    "check block_size": lambda n: check("naive", block_size=n),
    "check lengths": lambda n: check("naive", lengths=(5, n)),
    "measure rows": lambda n: measure("naive", n, 512),
    "measure cols": lambda n: measure("naive", 1024, n),
    "measure block_size": lambda n: measure("naive", 1024, 512, block_size=n),
    "explore rows": lambda n: explore("naive", n),
    "explore cols": lambda n: explore("naive", 1024, n),
    "search_unroll rows": lambda n: softmax_lib.search_unroll(n),
    "select k": lambda n: selections.select("topk", X, n),
    "softmax_topk k": lambda n: softmax_lib.softmax_topk(T, n),
    "launch grid": lambda n: emulator.launch(ADD, n, 1, ARGS),
    "launch block": lambda n: emulator.launch(ADD, 1, (1, n), ARGS),
    "launch shared_bytes": lambda n: emulator.launch(ADD, 1, 1, ARGS, shared_bytes=n),
    "launch cluster": lambda n: emulator.launch(ADD, 1, 1, ARGS, cluster=(n,)),
    "launch defines": lambda n: emulator.launch(ADD, 1, 1, ARGS, defines={"by": n}),
    "xray_launch grid": lambda n: softmax_lib.xray_launch(ADD, n, 1, ARGS),
    "gpu.launch block": lambda n: gpu.launch(ADD, 1, n, ARGS),
}
WITHOUT_NONE = [name for name in NUMBERS if "size" not in name and "grid" not in name.split()[1:]]
OPTIONAL = {"launch grid", "xray_launch grid"}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_is_not_whole_is_of_the_wrong_type(name):
    left_out = name not in WITHOUT_NONE and name not in OPTIONAL
    for given in NO_NUMBERS:
        if isinstance(given, list) and name.startswith(("launch", "xray_launch", "gpu")):
            continue  # of no axes: bad input
        if not (given is None and left_out):
            assert words_of(lambda given=given: NUMBERS[name](given)) is WrongType, given


@pytest.mark.parametrize("kind", [np.int64, np.uint8, torch.tensor])
def test_whole_numbers_of_numpy_and_torch_are_taken_as_int(kind):
    size = kernels["shared"].settle_block_size(kind(64), 100)
    assert (size, type(size)) == (64, int)
    assert [type(blocks) for blocks in axes_of((kind(2), kind(3)), "grid")] == 3 * [int]


@pytest.mark.parametrize(
    "take",
    [
        lambda kernel: run(kernel, X),
        xray,
        check,
        lambda kernel: trace(kernel, X),
        lambda kernel: measure(kernel, 1024, 512),
        explore,
        softmax_lib.catch_lie,
        lambda source: emulator.launch(source, 1, 1, ARGS),
        lambda source: gpu.launch(source, 1, 1, ARGS),
        lambda device: check("naive", device=device),
        lambda gpu: measure("naive", 1024, 512, gpu=gpu or 1),
    ],
)
def test_a_name_that_is_no_word_is_of_the_wrong_type(take):
    for given in NO_NAMES:
        assert words_of(lambda given=given: take(given)) is WrongType, given


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: check("naive", lengths=()), BadInput),
        (lambda: check("naive", lengths=(0,)), BadInput),
        (lambda: check("naive", lengths=5), WrongType),
        (lambda: check("naive", lengths=(2**40,)), BadInput),
        (lambda: check("naive", device="gpu"), BadInput),
        (lambda: xray("naive", 0), BadInput),
        (lambda: xray("naive", 2, 8, grid=2**31), BadInput),
        (lambda: xray("naive", 2, 8, grid=0), BadInput),
        (lambda: trace("naive", X, grid=2**31), BadInput),
        (lambda: trace("naive", X, 32, 3), BadInput),
        (lambda: run("\ud800{", X), BadInput),
        (lambda: run("a\0b.cu", X), BadInput),
        (lambda: run("naive", X, block_size=np.int64(7)), BlockSizeNotAllowed),
        (lambda: run("naive", np.empty((0, 2**31), np.float32)), BadInput),
        (lambda: measure("nobody", 1, 1), BadInput),
        (lambda: measure("naive", 1024, 512, dtype=3), BadInput),
        (lambda: emulator.launch(ADD, (), 1, ARGS), BadInput),
        (
            lambda: emulator.launch(
                f"__device__ float c[16]; {ADD}", 1, 1, ARGS, symbols={"c": T.to("meta")}
            ),
            BadInput,
        ),
        (lambda: emulator.launch(ADD, "12", 1, ARGS), WrongType),
        (lambda: emulator.launch(ADD, 1, 1, ARGS, kernel=3), WrongType),
        (lambda: emulator.launch(ADD, 1, 1, ARGS, kernel="nobody"), UnknownKernel),
        (lambda: emulator.launch(ADD, 1, 1, ARGS, cooperative="yes"), WrongType),
        (lambda: emulator.launch(ADD, 1, 1, ARGS, symbols=[1]), WrongType),
        (lambda: emulator.launch(ADD, 1, 1, ARGS, defines=3), WrongType),
        (lambda: emulator.launch(ADD, 1, 1, ARGS, defines={"(": 3}), BadInput),
        (lambda: emulator.launch(ADD, 1, 1, ARGS, defines={3: 3}), BadInput),
        (lambda: emulator.launch(ADD, 1, 1, 3), WrongType),
        (lambda: softmax_lib.predict("?", 3, 1, ""), WrongType),
        (lambda: softmax_lib.predict("?", {"a": 1}, None, ""), WrongType),
        (lambda: softmax_lib.softmax(X), WrongType),
        (lambda: softmax_lib.softmax(T, 1.5), WrongType),
        (lambda: softmax_lib.softmax(T, 2), NoSuchDimension),
        (lambda: softmax_lib.softmax(T.long()), WrongType),
        (lambda: softmax_lib.softmax(T, dtype="float32"), WrongType),
        (lambda: softmax_lib.softmax(T, dtype=torch.int32), WrongType),
        (lambda: softmax_lib.softmax(T, scale=2.0, dtype="float32"), WrongType),
        (lambda: softmax_lib.softmax(T, out=[]), WrongType),
        (lambda: softmax_lib.softmax(T.to_sparse()), WrongType),
        (lambda: softmax_lib.softmax(T.to_mkldnn(), scale=2.0), WrongType),
        (lambda: softmax_lib.softmax(T, mask=T.to_sparse()), WrongType),
        (lambda: softmax_lib.softmax_topk(T.to_mkldnn(), 2), WrongType),
        (lambda: softmax_lib.softmax(T, out=T.double()), WrongType),
        (lambda: softmax_lib.softmax(T.clone().requires_grad_(), out=T), BadInput),
    ],
)
def test_other_arguments_get_their_error(call, error):
    assert words_of(call) is error


@pytest.mark.parametrize(
    "given", [3, np.ma.ones(16, "f4"), np.array([None]), np.ones(16, ">f4"), np.array(["x"])]
)
def test_what_a_gpu_has_no_bytes_for_is_no_symbol(given):
    text = f"__device__ float c[16]; {ADD}"
    assert words_of(lambda: emulator.launch(text, 1, 1, ARGS, symbols={"c": given})) is WrongType


ODD_TENSORS = {
    "mkldnn": T.to_mkldnn,
    "sparse": T.to_sparse,
    "nested": lambda: torch.nested.nested_tensor([T[0], T[1]], layout=torch.jagged),
    "negated": lambda: torch._neg_view(T),
    "requires a gradient": lambda: T.clone().requires_grad_(),
    "meta": lambda: T.to("meta"),
    "three dimensions": lambda: T[:, :, None],
}


@pytest.mark.parametrize("kind", ODD_TENSORS)
def test_a_tensor_that_is_no_plain_matrix_is_bad_input(kind):
    x = ODD_TENSORS[kind]()
    for take in (run, trace, check):
        assert words_of(lambda take=take: take("naive", x)) is BadInput
    assert words_of(lambda: run("naive", T, out=x)) in (BadInput, WrongType)


def test_views_that_turn_signs_are_no_arguments():
    conj = torch.ones(4, dtype=torch.complex64).conj()
    with pytest.raises(BadInput, match=r"The symbol c .* pass its resolve_conj\(\)"):
        emulator.launch("__device__ float2 c[4]; " + ADD, 1, 1, ARGS, symbols={"c": conj})
