"""Calls that cannot be done, in one table: each gets an error of this package, in a sentence, before anything starts."""

import math
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from emulated import emulate

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
    softmax,
    softmax_topk,
    trace,
    xray,
    xray_launch,
    xray_softmax,
)
from softmax_lib.engine.errors import BadInput, BlockSizeNotAllowed, UnknownKernel, WrongType
from softmax_lib.engine.grids import axes_of
from softmax_lib.worklog.errors import NoSuchDimension, RowTooLong, SoftmaxLibError
from softmax_lib.worklog.registry import resolve

X = np.ones((2, 8), np.float32)
T = torch.ones(2, 8)
WIDE = torch.zeros(6, 40)
SCORES = torch.zeros(2, 3, 4)
ADD = "__global__ void add(const float* x, float* y, float by, int n) { y[threadIdx.x] = n; }"
ARGS = (X, X.copy(), 1.0, 2)
WITH_SYMBOL = f"__device__ float c[16]; {ADD}"
FILL = "__global__ void fill(int* n) { n[0] = SIZE; }"
TWO = "__global__ void a(int* x) { x[0] = 1; }\ntemplate <int N> __global__ void b(int* x) { x[0] = N; }"
KINDS = """
struct Pair { double x; int n; };
__global__ void k(Pair a, float b, const float* const* c, void* d) {}"""
TWICE = "__global__ void twice(const float* x, float* y, int n) { y[threadIdx.x] = 2 * x[threadIdx.x]; }"
READ_ONLY = WIDE.numpy().copy()
READ_ONLY.flags.writeable = False


def zeros(*shape):
    return np.zeros(shape, np.float32)


class Far(np.ndarray):
    """As a CuPy array is to those who ask where it is."""

    is_cuda, device = True, "cuda:0"


def launch(args=ARGS, *, source=ADD, grid=1, block=1, **how):
    """`emulator.launch`, which is all right as it is."""
    return emulator.launch(source, grid, block, args, **how)


def twice(x=None, y=None, n=4, *, of=emulator.launch):
    given = [zeros(4) if array is None else array for array in (x, y)]
    return of(TWICE, 1, 4, [*given, n])


def of_kinds(at, given):
    """A launch of one argument of each kind, of which this one is another."""
    args = [(np.float64(1), np.int32(2)), 1.0, [zeros(4)], zeros(4)]
    return launch([*args[:at], given, *args[at + 1 :]], source=KINDS)


def refused(call):
    with pytest.raises(SoftmaxLibError) as caught:
        call()
    assert str(caught.value).endswith((".", "?"))
    return caught.value


@pytest.fixture(autouse=True)
def _nothing_starts(monkeypatch):
    start = Mock(side_effect=AssertionError("a kernel was about to start"))
    monkeypatch.setattr("softmax_lib.engine.written.device.Device.start", start)


TABLE = [
    # matrices and the kernels that take them
    (lambda: run("naive", [[1.0]]), WrongType, "torch.Tensor"),
    (lambda: run("naive", T.double()), WrongType, "x.float()"),
    (lambda: run("naive", T[0]), BadInput, "1 dimensions"),
    (lambda: run("naive", T.t()), BadInput, ".contiguous()"),
    (lambda: run("naive", T.to("meta")), BadInput, "CUDA tensor or a CPU tensor"),
    (lambda: run("naive", X.astype("f8")), WrongType, 'x.astype("float32")'),
    (lambda: run("naive", np.ma.masked_less(X, 0)), WrongType, "x.filled(-np.inf)"),
    (lambda: run("naive", X.T), BadInput, "np.ascontiguousarray(x)"),
    (lambda: run("naive", np.empty((0, 2**31), np.float32)), BadInput, ""),
    (lambda: run("naiv", X), UnknownKernel, "did you mean naive"),
    (lambda: run("zzzz", X), UnknownKernel, "there are unsafe, naive"),
    (lambda: explore("share"), UnknownKernel, "did you mean shared"),
    (lambda: run(7, X), WrongType, "a name, a .cu file or CUDA text"),
    (lambda: run("no_such_file.cu", X), BadInput, "There is no file no_such_file.cu."),
    (lambda: run("void f() {}", X), BadInput, "exactly one __global__ kernel"),
    (lambda: run("\ud800{", X), BadInput, ""),
    (lambda: run("a\0b.cu", X), BadInput, ""),
    (lambda: run(Path("."), X), BadInput, ""),
    (lambda: run("float4_aligned", WIDE[:, :11].contiguous()), BadInput, "multiple of 4, not of 11; float4"),
    (lambda: run("float4_aligned", WIDE.flatten()[1:41].view(1, 40)), BadInput, "x starts 4 bytes behind a multiple of 16"),
    (lambda: run("shared", X, block_size=96), BlockSizeNotAllowed, "32, 64, 128, 256, 512, 1024"),
    (lambda: run("naive", X, block_size=2048), BlockSizeNotAllowed, "96"),
    (lambda: run("fusion", torch.zeros(1, 5000), block_size=32), RowTooLong, "at most 4096; float4 takes"),
    (lambda: run("fusion", torch.zeros(1, 32769)), RowTooLong, "at most 32768"),
    (lambda: trace("fusion", zeros(1, 4096), 8), RowTooLong, "fusion at 8 threads per block"),
    (lambda: resolve("#if 0\n__global__ void f() {}\n#endif"), BadInput, "it has none"),
    (lambda: resolve(kernels["shared"].source.text + kernels["naive"].source.text), BadInput, "softmax_shared, softmax_naive"),
    *((lambda of=of: of("copy"), UnknownKernel, "") for of in (resolve, check, xray)),
    # where the result goes
    (lambda: run("naive", WIDE, out="here"), WrongType, "torch.Tensor"),
    (lambda: run("naive", WIDE, out=WIDE.double()), WrongType, "must be the same"),
    (lambda: run("naive", WIDE, out=torch.zeros(40, 6)), BadInput, "shape"),
    (lambda: run("naive", WIDE, out=torch.zeros(40, 6).t()), BadInput, "contiguous"),
    (lambda: run("naive", WIDE, out=WIDE.to("meta")), BadInput, "meta"),
    (lambda: run("naive", WIDE, out=WIDE.numpy().copy()), WrongType, "out is float32 and x is torch.float32"),
    (lambda: run("naive", WIDE.numpy(), out=READ_ONLY), BadInput, "read-only"),
    # check
    (lambda: check("fusion", [[1.0]]), WrongType, "check takes"),
    (lambda: check("fusion", lengths=()), BadInput, "row lengths from 1 up"),
    (lambda: check("naive", lengths=5), WrongType, ""),
    (lambda: check("naive", lengths=(2**40,)), BadInput, ""),
    (lambda: check("fusion", lengths=(99999,)), RowTooLong, "99999 elements is too long for fusion"),
    (lambda: check("fusion", block_size=32, lengths=(9999,)), RowTooLong, "9999 elements is too long for fusion"),
    (lambda: check("fusion", block_size=0), BlockSizeNotAllowed, "not built for 0 threads"),
    (lambda: check("fusion", device="gpu"), BadInput, "and not 'gpu'"),
    # x-rays, traces and times
    (lambda: xray("naive", 0), BadInput, "1 to 67108864 elements"),
    (lambda: xray("naive", 0, path="written"), BadInput, "1 to 4194304 elements"),
    (lambda: xray("naive", 4096, 4096, path="written"), BadInput, "a smaller one shows"),
    (lambda: xray("naive", 8193, 8192), BadInput, "a smaller one shows"),
    (lambda: xray("naive", block_size=33), BlockSizeNotAllowed, "not built for 33"),
    (lambda: xray("naive", 2, 8, grid=2**31), BadInput, ""),
    (lambda: xray("naive", 2, 8, grid=0), BadInput, "grid is 0; it takes one to three numbers"),
    (lambda: xray("naive", 2, 2, path="sass"), BadInput, "path is 'sass'; it is one of machine, ptx, written."),
    (lambda: xray("naive", 2, 2, path="machine", arch=70), BadInput, "arch is 70; machine code is run for 75, 80"),
    (lambda: trace("naive", X, grid=2**31), BadInput, ""),
    *((lambda of=of: trace("naive", X, 32, of), BadInput, "A warp has") for of in (3, 64)),
    *((lambda of=of: emulate(kernels["naive"], X, X.copy(), of), BadInput, "A block has") for of in (0, 1025)),
    (lambda: xray_softmax(0, 5), BadInput, "a matrix of 1 to 67108864 elements, not"),
    (lambda: xray_softmax(1 << 20, 1 << 20), BadInput, "a matrix of 1 to 67108864 elements, not"),
    (lambda: xray_softmax(4, 4, "int8"), BadInput, "dtype is 'int8'; it is one of float32, float16, bfloat16"),
    (lambda: xray_softmax(4, 4, path="written"), BadInput, "counted as machine code or ptx alone"),
    (lambda: xray_softmax(4, 4, arch=10), BadInput, "machine code is run for"),
    (lambda: xray_softmax(4.5, 4), WrongType, ""),
    (lambda: measure("nobody", 1, 1), BadInput, ""),
    (lambda: measure("naive", 0, 5), BadInput, "(0, 5) has nothing to time"),
    (lambda: measure("naive", 3, 5, dtype="float64"), BadInput, "dtype is one of float32, bfloat16, float16, and not 'float64'"),
    (lambda: measure("naive", 3, 5, l2="warm"), BadInput, "l2 is one of cold, hot, and not 'warm'"),
    (lambda: measure("shared", 1024, 32768, block_size=96), BlockSizeNotAllowed, ""),
    (lambda: softmax_lib.catch_lie("white"), BadInput, "no lie called 'white'; there are no synchronisation, "),
    # any launch: the source and its kernel
    (lambda: launch(source=TWO), BadInput, "kernel.cu has 2 kernels; say which `kernel`: a, b."),
    (lambda: launch(source=TWO, kernel="c"), UnknownKernel, "no kernel 'c' in kernel.cu; it has a, b."),
    (lambda: launch(source=TWO.partition("\n")[2]), BadInput, 'b is a template; say which `kernel`, such as "b<float>"'),
    (lambda: launch(source="void f() { }"), UnknownKernel, "has no `__global__` kernel"),
    (lambda: launch(source=17), WrongType, "CUDA text or the path of a .cu file, not a int"),
    (lambda: launch(source="nowhere.cu"), BadInput, "There is no file nowhere.cu."),
    (lambda: launch(kernel=3), WrongType, ""),
    # its grid, its block and what else it says
    (lambda: launch(grid=()), BadInput, "grid is (); it takes one to three numbers"),
    (lambda: launch(grid=(1, 2, 3, 4)), BadInput, "grid is (1, 2, 3, 4)"),
    (lambda: launch(grid=0), BadInput, "grid is 0; it takes one to three numbers, from 1 up"),
    (lambda: launch(grid=2**31), BadInput, "2147483648 blocks along x; a GPU takes up to 2147483647"),
    (lambda: launch(grid=(1, 70000)), BadInput, "70000 blocks along y; a GPU takes up to 65535"),
    (lambda: launch(block=(32, 33)), BadInput, "1056 threads (32 x 33 x 1); a GPU takes up to 1024"),
    (lambda: launch(block=(1, 1, 65)), BadInput, "65 threads along z; a GPU takes up to 64"),
    (lambda: launch(shared_bytes=300000), BadInput, "shared_bytes is 300000; a block has 0 to 232448"),
    (lambda: launch(grid=5, cluster=2), BadInput, "Clusters of (2, 1, 1) blocks do not divide a grid of (5, 1, 1)"),
    (lambda: launch(grid=64, cluster=32), BadInput, "A cluster has up to 16 blocks, not 32"),
    (lambda: launch(grid=30, block=1024, cooperative=True), BadInput, "room for 24576 threads at once"),
    (lambda: launch(cooperative="yes"), WrongType, ""),
    (lambda: launch(block=65, source=ADD.replace("void", "void __launch_bounds__(64)")), BlockSizeNotAllowed, "has 65 threads; add says __launch_bounds__(64)"),
    (lambda: launch(defines=3), WrongType, ""),
    (lambda: launch(defines={"(": 3}), BadInput, ""),
    (lambda: launch(defines={3: 3}), BadInput, ""),
    (lambda: xray_launch(FILL, 1, 1, [np.zeros(1, np.int32)], defines={"SIZE": 1.5}), WrongType, "SIZE is a float"),
    (lambda: xray_launch(FILL, 1, 1, [np.zeros(1, np.int32)], defines={"SIZES": 1}), BadInput, "does not name a macro SIZES"),
    (lambda: launch(symbols=[1]), WrongType, ""),
    (lambda: launch(source=WITH_SYMBOL, symbols={"c": T.to("meta")}), BadInput, ""),
    (lambda: launch(source=WITH_SYMBOL, symbols={"c": torch.ones(4, dtype=torch.complex64).conj()}), BadInput, "pass its resolve_conj()"),
    *(
        (lambda given=given: launch(source=WITH_SYMBOL, symbols={"c": given}), WrongType, "")
        for given in (3, np.ma.ones(16, "f4"), np.array([None]), np.ones(16, ">f4"), np.array(["x"]))
    ),
    (lambda: launch(source=WITH_SYMBOL, symbols={"d": X}), BadInput, "variable d; it has c"),
    # its arguments
    (lambda: launch(3), WrongType, ""),
    (lambda: launch("xyz"), WrongType, "args is a str; it takes a list of the kernel's arguments."),
    (lambda: launch([1, 2], source=TWICE), BadInput, "twice takes 3 arguments (const float* x, float* y, int n), and 2 were given."),
    (lambda: twice(x=zeros(4).astype("f8")), WrongType, "Argument 1 of twice is an array of float64; `const float* x` takes an array of float32."),
    (lambda: twice(y=[1, 2]), WrongType, "Argument 2 of twice is a list; `float* y` takes an array of float32."),
    (lambda: twice(n=4.0), WrongType, "Argument 3 of twice is a float; `int n` takes one int32."),
    (lambda: twice(n=2**31), BadInput, "Argument 3 of twice is 2147483648; `int n` takes -2147483648 to 2147483647."),
    (lambda: twice(n=10**400), BadInput, ""),
    (lambda: twice(n=zeros(4)), WrongType, "Argument 3 of twice is an array of float32; `int n` takes one int32."),
    (lambda: twice(y=READ_ONLY), BadInput, "Argument 2 of twice is read-only, and `float* y` may be written"),
    (lambda: twice(WIDE.numpy()[0, :6], WIDE.numpy()[0, 2:8]), BadInput, "y and x overlap in memory"),
    (lambda: of_kinds(0, (np.float64(1), np.int32(2), np.int64(3))), BadInput, "Argument 1 of k has 24 bytes; `Pair a` has 16."),
    (lambda: of_kinds(0, (1.0, 2)), WrongType, "A structure given as a tuple has numpy scalars, such as np.float32(1), not a float."),
    (lambda: of_kinds(0, 1.0), WrongType, "Argument 1 of k is a float; `Pair a` takes one structure of 16 bytes."),
    (lambda: of_kinds(1, "1"), WrongType, "Argument 2 of k is a str; `float b` takes one float32."),
    (lambda: of_kinds(2, zeros(4)), WrongType, "Argument 3 of k is a ndarray; `const float* const* c` takes a list of arrays."),
    (lambda: of_kinds(3, 4), WrongType, "Argument 4 of k is a int; `void* d` takes an array of any dtype."),
    *(
        (lambda of=of, x=x: twice(x, of=of), BadInput, words)
        for of in (emulator.launch, xray_launch)
        for x, words in (
            (zeros(8)[::2], "Argument 1 of twice has strides: its elements do not follow one another in memory; pass np.ascontiguousarray(x)."),
            (torch.zeros(2, 2).T, "pass x.contiguous()."),
            (torch.zeros(2, 2).to_sparse(), "is a sparse_coo tensor; kernels take plain ones, so pass a dense copy."),
            (torch.zeros(4, device="meta"), "is on meta; kernels take a CUDA tensor or a CPU tensor."),
            (torch._neg_view(torch.zeros(4)), "has its signs turned only as torch reads it; pass its resolve_neg()."),
            (zeros(4).view(Far), " is on cuda:0; the emulator takes its .cpu()."),
        )
    ),
    # selections
    (lambda: selections.run("topk", X, 0), BadInput, "k is 0"),
    (lambda: selections.run("topk", zeros(1, 700), 129), BadInput, "128"),
    (lambda: selections.run("topk", X, 9), BadInput, "a row of 8"),
    (lambda: selections.run("top", X, 3), UnknownKernel, "topk_warp"),
    (lambda: selections.run("topk", X, 3, block_size=100), BlockSizeNotAllowed, "100 threads"),
    (lambda: selections.run("topk", X.astype("f8"), 3), WrongType, ""),
    # what takes torch's tensors
    (lambda: softmax(X), WrongType, ""),
    (lambda: softmax(T, 1.5), WrongType, ""),
    *((lambda how=how: softmax(T, True, **how), WrongType, "dim is a bool") for how in ({}, {"scale": 1.0})),
    (lambda: softmax(T, 2), NoSuchDimension, "dim is 2; a tensor of 2 dimensions takes -2 to 1"),
    (lambda: softmax(T.long()), WrongType, "x is torch.int64; softmax takes floating-point numbers"),
    (lambda: softmax(T, dtype="float32"), WrongType, ""),
    (lambda: softmax(T, dtype=torch.int32), WrongType, ""),
    (lambda: softmax(T, out=[]), WrongType, "out is a list"),
    *(
        (lambda how=how: softmax(T[0, :4], out=T[0, 2:6], **how), BadInput, "out overlaps x")
        for how in ({}, {"scale": 2.0})
    ),
    (lambda: softmax(T.to_sparse()), WrongType, ""),
    (lambda: softmax(T.to_mkldnn(), scale=2.0), WrongType, ""),
    (lambda: softmax(T, mask=T.to_sparse()), WrongType, ""),
    (lambda: softmax_topk(T.to_mkldnn(), 2), WrongType, ""),
    (lambda: softmax(T, out=T.double()), WrongType, ""),
    (lambda: softmax(T, scale=2.0, out=T[:1].clone().expand(2, 8)), BadInput, "out has several numbers at one place"),
    (lambda: softmax(T, out=T.clone().as_strided((2, 8), (3, 1))), BadInput, "out has several numbers at one place"),
    *(
        (lambda f=f, x=x: f(x), WrongType, "x is a nested tensor")
        for f in (lambda x: softmax(x, scale=2.0), lambda x: softmax_topk(x, 2))
        for x in [torch.nested.nested_tensor([T, T], layout=torch.jagged)]
    ),
    (lambda: softmax(T.clone().requires_grad_(), out=T), BadInput, ""),
    *(
        (lambda how=how: softmax(SCORES, **how), error, words)
        for how, error, words in (
            ({"mask": torch.zeros(4, dtype=torch.uint8)}, WrongType, "mask is torch.uint8 and x is torch.float32"),
            ({"mask": [0.0] * 4}, WrongType, "mask is a list"),
            ({"mask": torch.zeros(3)}, BadInput, "mask has shape (3,), which does not broadcast to x's (2, 3, 4)"),
            ({"mask": torch.zeros(1, 2, 3, 4)}, BadInput, "does not broadcast"),
            ({"mask": torch.zeros(4, device="meta")}, BadInput, "mask is on meta and x is on cpu"),
            ({"scale": math.inf}, BadInput, "scale is inf; it has to be finite as float32"),
            ({"scale": math.nan}, BadInput, "scale is nan"),
            ({"scale": torch.tensor(0.5)}, WrongType, "scale is a Tensor; it is a number, which has no gradient"),
            ({"scale": 0.5, "dtype": torch.int32}, WrongType, "dtype is torch.int32; probabilities are"),
            ({"scale": 0.5, "dim": None}, WrongType, "dim is a NoneType; it is a whole number"),
            ({"dim": 0, "causal": True}, BadInput, "causal=True is for scores (..., queries, keys)"),
            ({"dim": 3, "scale": 2.0}, NoSuchDimension, "dim is 3"),
            ({"scale": 2.0, "out": SCORES[0]}, BadInput, "out has shape (3, 4)"),
        )
    ),
    (lambda: softmax(SCORES[0, 0], causal=True), BadInput, "x has shape (4,)"),
    (lambda: softmax(SCORES.int(), scale=2.0), WrongType, "x is torch.int32; scores are floating-point numbers"),
    (lambda: softmax([1.0], causal=True), WrongType, "x is a list; it has to be a torch.Tensor"),
    (lambda: softmax(T.clone().requires_grad_(), scale=2.0, out=T.clone()), BadInput, "has no gradient"),
    (lambda: softmax(T.clone(), mask=T, out=T), BadInput, "out overlaps the mask"),
    (lambda: softmax_topk(T.int(), 1), WrongType, "x is torch.int32; softmax_topk takes floating-point numbers"),
    (lambda: softmax_topk([1.0], 1), WrongType, ""),
    (lambda: softmax_topk(T, 1, 2), NoSuchDimension, "dim is 2"),
    (lambda: softmax_topk(T, 0), BadInput, "k is 0; it is at least 1, and rows have 8."),
    (lambda: softmax_topk(T, 9), BadInput, "k is 9; it is at least 1, and rows have 8."),
    (lambda: softmax_topk(torch.zeros(3, 500), 129), BadInput, "k is 129; it is at least 1, and softmax_topk finds up to 128."),
    (lambda: softmax_topk(torch.zeros(3, 0), 1), BadInput, "k is 1; it is at least 1, and rows have 0."),
    (lambda: softmax_lib.predict("?", 3, 1, ""), WrongType, ""),
    (lambda: softmax_lib.predict("?", {"a": 1}, None, ""), WrongType, ""),
]  # fmt: skip
"""The call, the class of its error, and a part of its sentence."""


@pytest.mark.parametrize(("call", "error", "words"), TABLE)
def test_a_bad_call_gets_its_error_in_one_sentence(call, error, words):
    found = refused(call)
    assert type(found) is error
    assert words in str(found)


# ---- of whatever takes a whole number, a name or a matrix

NO_NUMBERS = (
    1.5, 256.0, math.nan, "3", True, [], None, np.float32(2), np.ones(2, int), torch.ones(2, dtype=int),
)  # fmt: skip
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
    "softmax_topk k": lambda n: softmax_topk(T, n),
    "launch grid": lambda n: launch(grid=n),
    "launch block": lambda n: launch(block=(1, n)),
    "launch shared_bytes": lambda n: launch(shared_bytes=n),
    "launch cluster": lambda n: launch(cluster=(n,)),
    "launch defines": lambda n: launch(defines={"by": n}),
    "xray_launch grid": lambda n: xray_launch(ADD, n, 1, ARGS),
    "gpu.launch block": lambda n: gpu.launch(ADD, 1, n, ARGS),
}
MAY_BE_NONE = [name for name in NUMBERS if "_size" in name or name in ("xray grid", "trace grid")]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_is_not_whole_is_of_the_wrong_type(name):
    for given in NO_NUMBERS:
        if isinstance(given, list) and "launch" in name:
            continue  # of no axes: bad input
        if not (given is None and name in MAY_BE_NONE):
            assert type(refused(lambda given=given: NUMBERS[name](given))) is WrongType, given


@pytest.mark.parametrize("kind", [np.int64, np.uint8, torch.tensor])
def test_whole_numbers_of_numpy_and_torch_are_taken_as_int(kind):
    size = kernels["shared"].settle_block_size(kind(64), 100)
    assert (size, type(size)) == (64, int)
    assert [type(blocks) for blocks in axes_of((kind(2), kind(3)), "grid")] == 3 * [int]


TAKE_NAMES = [
    lambda kernel: run(kernel, X), xray, check, lambda kernel: trace(kernel, X),
    lambda kernel: measure(kernel, 1024, 512), explore, softmax_lib.catch_lie,
    lambda source: launch(source=source), lambda source: gpu.launch(source, 1, 1, ARGS),
    lambda device: check("naive", device=device), lambda gpu: measure("naive", 1024, 512, gpu=gpu or 1),
]  # fmt: skip


@pytest.mark.parametrize("take", TAKE_NAMES)
def test_a_name_that_is_no_word_is_of_the_wrong_type(take):
    for given in (None, 3, 1.5, [], {}, b"naive"):
        assert type(refused(lambda given=given: take(given))) is WrongType, given


ODD_TENSORS = {
    "mkldnn": T.to_mkldnn,
    "sparse": T.to_sparse,
    "nested": lambda: torch.nested.nested_tensor([T[0], T[1]], layout=torch.jagged),
    "negated": lambda: torch._neg_view(T),
    "requires a gradient": lambda: T.clone().requires_grad_(),
    "meta": lambda: T.to("meta"),
}


@pytest.mark.parametrize("kind", ODD_TENSORS)
def test_a_tensor_that_is_no_plain_matrix_is_bad_input(kind):
    x = ODD_TENSORS[kind]()
    for take in (run, trace, check):
        assert type(refused(lambda take=take: take("naive", x))) is BadInput
    assert type(refused(lambda: run("naive", T, out=x))) in (BadInput, WrongType)
