"""What `run` says to bad input, and that it launches right on streams, graphs, threads and devices."""

import re
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from emulated import kernel_of

from softmax_lib import check, gpu, kernels, run, trace, xray
from softmax_lib.engine.errors import BadInput, BlockSizeNotAllowed, CompileError
from softmax_lib.engine.source import Source
from softmax_lib.worklog import reference
from softmax_lib.worklog.registry import resolve, rungs

X = torch.randn(6, 40, generator=torch.Generator().manual_seed(0))
SOUND = [kernel.name for kernel in kernels.values() if kernel.flaw is None]


# ---- numpy for numpy, torch for torch


def test_a_numpy_array_gives_a_numpy_array_of_the_same_bits():
    y = run("shared", X.numpy())
    assert isinstance(y, np.ndarray)
    assert y.dtype == np.float32
    assert (y == run("shared", X).numpy()).all()
    out = np.full_like(y, np.nan)
    assert run("shared", X.numpy(), out=out) is out
    assert (out == y).all()


def test_a_kind_of_array_of_ones_own_gives_a_plain_one():
    class Named(np.ndarray):
        pass

    y = run("shared", X.numpy().view(Named))
    assert type(y) is np.ndarray
    assert (y == run("shared", X.numpy())).all()


def test_arrays_are_taken_while_a_thread_imports_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))  # as far as it is then
    assert run("shared", X.numpy()).shape == X.shape


def test_a_trace_gives_back_what_it_was_given():
    of_tensor, of_array = trace("naive", X, 32), trace("naive", X.numpy(), 32)
    assert torch.equal(of_tensor.y, torch.from_numpy(of_array.y))
    assert (of_tensor.events == of_array.events).all()
    assert trace("naive", X).block_size == kernels["naive"].default_block_size


@pytest.mark.parametrize("offset", [0, 1, 3, 64])
def test_views_of_tensors_and_of_arrays_are_as_misaligned_as_on_a_gpu(offset):
    whole = torch.zeros(offset + 64)
    tensor, array = whole[offset:].view(2, 32), whole.numpy()[offset:].reshape(2, 32)
    for x in (tensor, array):
        first = next(iter(trace("naive", x, 32)))
        assert (first.array, first.address % 256) == ("x", 4 * offset % 256)


def test_an_overlapping_out_is_refused_where_the_kernel_cannot_take_it():
    storage = torch.randn(41 * 6)
    x, shifted = storage[: 40 * 6].view(6, 40), storage[6 : 40 * 6 + 6].view(6, 40)
    before = storage.clone()
    for name, out in [("naive", x), ("naive", shifted), ("fusion", shifted)]:
        with pytest.raises(BadInput, match="overlaps"):
            run(name, x, out=out)
    assert torch.equal(storage, before)


@pytest.mark.parametrize("name", [kernel.name for kernel in rungs()])
def test_a_readers_copy_of_a_kernel_runs_as_that_kernel_does(name, device):
    copied = run(kernels[name].source.text, X.to(device))
    assert torch.equal(copied, run(name, X.to(device)))


def test_a_readers_own_kernel_gets_a_block_a_row(device):
    text = """
extern "C" __global__ void uniform(const float* x, float* y, int rows, int cols) {
    for (int col = threadIdx.x; col < cols; col += BLOCK) y[blockIdx.x * cols + col] = 1.0f / cols;
}
"""
    y = run(text, X.to(device), block_size=64)
    assert torch.equal(y.cpu(), torch.full_like(X, 1 / 40))


def test_kernels_that_differ_in_launch_facts_alone_share_no_launch(device):
    first = resolve(kernel_of("    if (threadIdx.x == 0) y[blockIdx.x * cols] = blockDim.x;\n"))
    smaller = replace(first, default_block_size=64)
    fewer = replace(first, steps=(replace(first.steps[0], grid="thread a row"),))
    x = torch.zeros(3, 32, device=device)
    seen = [run(kernel, x, out=x - 1)[:, 0].tolist() for kernel in (first, smaller, fewer)]
    assert seen == [[256] * 3, [64] * 3, [256, -1, -1]]


def test_a_compile_error_stands_at_the_readers_own_line(device):
    text = 'extern "C" __global__ void f(const float* x, float* y, int rows, int cols) {\n\n    y[0] = nonsense;\n}'
    with pytest.raises(CompileError, match=r"mine\.cu(\(3\)|:3)(.|\n)*nonsense"):
        run(Source("mine.cu", text), X.to(device))


@pytest.mark.gpu
def test_a_launch_goes_to_the_current_stream_without_synchronising():
    x = torch.randn(256, 1024, device="cuda")
    run("shuffle", x)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # about 0.1 s: what is queued behind it cannot have run yet
        y = run("shuffle", x)
        assert not stream.query()
    stream.synchronize()
    assert reference.judge(y, x).mistake is None


@pytest.mark.gpu
@pytest.mark.parametrize("name", SOUND)
def test_a_cuda_graph_replays_the_launch_even_when_it_is_the_first(name):
    x = torch.randn(33, kernels[name].longer(517), device="cuda")
    y = torch.zeros_like(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(name, x, out=y)
    x.copy_(torch.randn(x.shape))
    graph.replay()
    assert reference.judge(y, x).mistake is None


@pytest.mark.gpu
def test_threads_and_streams_do_not_mix_their_arguments():
    xs = [torch.randn(64, 1024, device="cuda") for _ in range(8)]
    wanted = [run("fusion", x).cpu() for x in xs]

    def is_right(index: int) -> bool:
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(200):
                y = run("fusion", xs[index])
            return torch.equal(y.cpu(), wanted[index])

    with ThreadPoolExecutor(len(xs)) as threads:
        assert all(threads.map(is_right, range(len(xs))))


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
@pytest.mark.parametrize("name", SOUND)
def test_the_second_gpu_is_as_good_as_the_first(name):
    x = torch.randn(33, 517)
    y = run(name, x.to("cuda:1"))
    assert y.device == torch.device("cuda:1")
    assert torch.cuda.current_device() == 0
    assert reference.judge(y, x).mistake is None


@pytest.mark.gpu
@pytest.mark.parametrize("name", [kernel.name for kernel in rungs()])
def test_rows_beyond_two_to_the_31_elements(name):
    rows, cols = 131101, 16381  # odd, so that every alignment occurs; 2^31 + 63,033 elements
    x = torch.empty(rows, cols, device="cuda").normal_()
    y = run(name, x, out=torch.full_like(x, float("nan")))
    last = slice(rows - 40, rows)
    assert reference.judge(y[last], x[last]).mistake is None
    assert reference.judge(y[:40], x[:40]).mistake is None
    torch.testing.assert_close(y.sum(1), torch.ones(rows, device="cuda"), rtol=2e-3, atol=0)


MANY_REGISTERS = """\
extern "C" __global__ void BOUND softmax_many(const float* x, float* y, int rows, int cols) {
    float kept[96];
    #pragma unroll
    for (int i = 0; i < 96; i++) kept[i] = x[(threadIdx.x + i * 37) % cols];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 96; i++) y[(threadIdx.x + i * 41) % cols] = kept[i];
}
"""


@pytest.mark.gpu
@pytest.mark.parametrize("bound", ["__launch_bounds__(256)", "__maxnreg__(168)"])
def test_a_block_without_room_for_its_registers_is_one_sentence_and_the_gpu_goes_on(bound):
    x = torch.randn(4, 512, device="cuda")
    text = f"#define BOUND {bound}\n{MANY_REGISTERS}"
    with pytest.raises(BlockSizeNotAllowed, match="has 1024"):
        run(text, x, block_size=1024)
    with pytest.raises(BlockSizeNotAllowed, match="has 1024"):
        gpu.launch(text, 4, 1024, [x, torch.empty_like(x), 4, 512])
    run(text, x, block_size=256)
    assert reference.judge(run("shuffle", x), x).mistake is None


# ---- what a reader may not expect of how their kernel is launched

ONES = np.ones((3, 8), np.float32)
NAIVE = Source("mine.cu", kernels["naive"].source.text)
BLOCK_A_ROW = Source("mine.cu", kernels["shared"].source.text)
OTHER_AXES = kernel_of(
    "    if (threadIdx.x < 8 && blockIdx.x < 1) y[threadIdx.x] = threadIdx . y + blockIdx.z;  // not blockIdx.y\n"
)
AXES = "It is launched in one dimension, where blockIdx.z and threadIdx.y are 0."


@pytest.mark.parametrize(
    ("source", "notes"),
    [
        (NAIVE, ("softmax_naive is launched as the book's kernel of that name: one thread per row.",)),
        (BLOCK_A_ROW, ()),
        ("naive", ()),
        (OTHER_AXES, (AXES,)),
    ],
)  # fmt: skip
def test_an_xray_and_a_check_say_how_a_kernel_is_launched(source, notes, monkeypatch):
    monkeypatch.setattr(
        "softmax_lib.engine.xrays.result.inspect", lambda *_: ()
    )  # which takes seconds
    found = xray(source, 3, 8, 32)
    assert found.notes == tuple(found.as_json()["notes"]) == notes
    result = check(source, ONES, device="cpu", block_size=32)
    assert result.notes == notes
    assert str(result).endswith("".join(f"\n{note}" for note in notes))


def test_run_and_trace_warn_of_other_axes_where_they_are_called():
    for launch in (run, trace):
        with pytest.warns(UserWarning, match=re.escape(AXES)) as heard:
            launch(OTHER_AXES, ONES, block_size=32)
        assert heard[0].filename == __file__
