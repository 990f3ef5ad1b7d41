"""softmax() on a GPU: torch's results in every regime, its gradients, and its ways of being called."""

import random
import threading
import time

import pytest
import torch
from ops.rows import (
    DTYPES,
    FUNCTIONS,
    assert_as_good,
    assert_gradient_as_good,
    error,
    name_of,
    noise,
)

from softmax_lib import log_softmax, softmax
from softmax_lib.ops import designs, direct, operators, plans, slots

pytestmark = pytest.mark.gpu


# Row lengths on both sides of each limit of the tables, with and without numbers at the edges; then rows
# that are longer than a GPU holds. The numbers of rows are those of a wave and more, of one, of few.
LENGTHS = (
    (1, 1000), (2, 1000), (4, 3000), (8, 3000), (10, 33_000), (33, 33_001), (33, 3000), (3, 1000), (96, 128), (128, 4096), (127, 33_000), (129, 300), (255, 33_000), (257, 300), (500, 300), (1000, 200), (1024, 5000),
    (2047, 300), (4096, 300), (4097, 200), (8192, 150), (16384, 140), (16387, 140), (32768, 200), (32769, 140), (50257, 300),
    (50257, 128), (65536, 140), (65539, 8), (131072, 64), (131073, 140), (131072, 3), (262144, 40), (262147, 8), (400_001, 140),
    (1 << 20, 1), (1 << 20, 9), (3_000_001, 3), (4_200_000, 2), (9_000_001, 2), (5_000_000, 133),
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize(("cols", "rows"), LENGTHS)
def test_rows_of_every_length_are_as_good_as_torchs(cols, rows, dtype):
    if rows * cols > 3e8 and dtype is torch.float32:
        rows //= 2
    x = noise(rows, cols, dtype=dtype)
    places = torch.tensor([0, 1, rows // 2, rows - 2, rows - 1], device="cuda")
    sample = places.clamp(0, rows - 1).unique()
    for ours, theirs in FUNCTIONS:
        out = torch.full((rows * cols + 64,), torch.nan, device="cuda", dtype=dtype)
        y = ours(x, out=out[32 : 32 + rows * cols].view(rows, cols))
        assert not torch.isnan(y).any()
        assert torch.isnan(out[:32]).all()
        assert torch.isnan(out[32 + rows * cols :]).all()
        assert_as_good(y[sample], theirs(x[sample], -1), theirs(x[sample].double(), -1))


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize(("cols", "rows"), LENGTHS)
def test_gradients_are_as_good_as_torchs(cols, rows, dtype):
    rows = max(1, min(rows, int(1e8) // cols))
    x = noise(rows, cols, dtype=dtype)
    grad = noise(rows, cols, dtype=dtype, seed=1)
    for (_, theirs), log in zip(FUNCTIONS, (False, True), strict=True):
        y = theirs(x, -1)
        found = operators._backward(y, grad, -1, log, dtype)
        backward = torch._log_softmax_backward_data if log else torch._softmax_backward_data
        exact = backward(grad.double(), y.double(), -1, torch.float64)
        assert_gradient_as_good(found, backward(grad, y, -1, dtype), exact, grad)


# The same for kernels that a line launches where a matrix is larger than L2.
LARGE = (
    4, 8, 16, 32, 64, 128, 256, 511, 512, 1021, 1024, 2047, 2048, 4096, 4999, 5000, 8191, 8192, 16_383, 16_384, 32_767, 32_768,
    50_257, 65_535, 65_536, 131_071, 131_072, 262_143, 262_144, 524_287, 524_288, 4_194_303, 4_194_304,
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("cols", LARGE)
def test_matrices_larger_than_l2_are_as_good_as_torchs(cols, dtype, monkeypatch):
    monkeypatch.setattr(designs, "L2_BYTES", 0)
    # more rows than the lines for few rows take, and numbers that no other test has, whose plans would be found again
    rows = 2083 if cols < 1000 else 1031 if cols < 40_000 else 281 if cols < 200_000 else 19
    test_rows_of_every_length_are_as_good_as_torchs(cols, rows, dtype)
    test_gradients_are_as_good_as_torchs(cols, rows + 2, dtype)


SHAPES = (
    (), (1,), (7,), (0,), (0, 5), (5, 0), (3, 1), (1, 3), (2, 3, 4), (4, 1, 6), (2, 37, 64), (2, 40, 8), (3, 1000, 7), (64, 300, 128),
    (2, 3, 4, 5, 6), (2, 5000, 64), (4096, 512), (100, 3000, 40),
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_dimension_is_as_good_as_torchs(shape, dtype):
    x = noise(*shape, dtype=dtype)
    for dim in range(-max(1, len(shape)), max(1, len(shape))):
        for ours, theirs in FUNCTIONS:
            clones = (one.detach().clone() for one in (x, x, x.double()))
            leaf, reference, exact = (one.requires_grad_() for one in clones)
            y = ours(leaf, dim)
            made = theirs(reference, dim), theirs(exact, dim)
            assert y.shape == x.shape
            assert y.is_contiguous()
            grad = noise(*shape, dtype=dtype, scale=1.0, seed=1)
            for one in (y, *made):
                one.backward(grad.to(one.dtype))
            if not x.numel():
                continue
            assert_as_good(y, *made)
            assert_gradient_as_good(leaf.grad, reference.grad, exact.grad, grad)


@pytest.mark.parametrize(
    "cols", [5, 200, 1000, 4099, 40_000, 131_072, 300_001, 1_100_000, 9_000_001]
)
def test_infinities_and_nans_are_torchs(cols):
    x = noise(8, cols)
    x[0] = -torch.inf
    x[1, : cols // 2] = -torch.inf
    x[2, cols // 3] = torch.nan
    x[3, -1] = torch.inf
    x[4, ::2], x[4, 1::2] = 3e38, -3e38
    x[5] = -1e30
    x[6] -= 1e6
    x[7, 1:] = -torch.inf
    for dtype in DTYPES:
        for ours, theirs in FUNCTIONS:
            made = theirs(x.to(dtype), -1)
            torch.testing.assert_close(ours(x.to(dtype)), made, equal_nan=True)
            # in float32 for comparison: a log of many is near 16
            assert torch.equal(ours(x.to(dtype)).isnan(), made.isnan())


def test_a_graph_that_was_freed_says_so():
    x = noise(3, 4).requires_grad_()
    y = softmax(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


# ---- memory


@pytest.mark.parametrize("dim", [-1, 0])
@pytest.mark.parametrize(
    "shape", [(100, 96), (50, 1000), (9, 40_001), (2, 1 << 20), (1, 9_000_001)]
)
def test_in_place(shape, dim):
    x = noise(*shape)
    wanted = torch.softmax(x, dim)
    assert softmax(x, dim, out=x) is x
    torch.testing.assert_close(x, wanted)


def test_an_out_that_is_not_in_one_piece():
    x = noise(30, 40)
    out = torch.zeros(40, 30, device="cuda").t()
    assert softmax(x, out=out) is out
    torch.testing.assert_close(out, torch.softmax(x, -1))


def test_other_dtypes_on_the_way():
    x = noise(20, 1000, dtype=torch.bfloat16)
    for ours, theirs in FUNCTIONS:
        for to in (torch.float32, torch.float16, torch.float64, torch.bfloat16):
            torch.testing.assert_close(ours(x, dtype=to), theirs(x, -1, dtype=to))
        whole = torch.arange(12, device="cuda").view(3, 4)
        made = ours(whole, dtype=torch.float32)
        torch.testing.assert_close(made, theirs(whole, -1, dtype=torch.float32))
        out = torch.empty(20, 1000, device="cuda")
        torch.testing.assert_close(ours(x, dtype=torch.float32, out=out), theirs(x.float(), -1))
        assert ours(x.double()).dtype == torch.float64
        leaves = [x.detach().clone().requires_grad_() for _ in range(2)]
        for function, leaf in zip((ours, theirs), leaves, strict=True):
            function(leaf, -1, dtype=torch.float32).square().sum().backward()
        torch.testing.assert_close(leaves[0].grad, leaves[1].grad)


@pytest.mark.full
@pytest.mark.parametrize(
    "shape",
    [(40_000, 60_000), (2_200_000_000, 1), (1, 2_200_000_000), (3, 30_000, 30_000)],
    ids=str,
)
def test_more_than_two_to_the_31_elements(shape):
    x = torch.empty(shape, dtype=torch.bfloat16, device="cuda")
    for part in x.view(-1).split(1 << 30):
        part.normal_()
    y = softmax(x, 1)
    # the last row, in parts: torch's own stops at a row of 2^31
    first, made = (one.movedim(1, -1).flatten(0, -2)[-1] for one in (x, y))
    whole = sum(part.double().exp().sum() for part in first.split(1 << 26))
    for part, of in ((first[:1000], made[:1000]), (first[-1000:], made[-1000:])):
        torch.testing.assert_close(of.double(), part.double().exp() / whole, rtol=8e-3, atol=0)


# ---- ways of being called


def test_the_operators_are_what_torch_asks_of_operators():
    for log in (False, True):
        x = noise(4, 33).requires_grad_()
        torch.library.opcheck(operators.softmax_operator, (x, -1, log, torch.float32))
        y = (log_softmax if log else softmax)(x).detach().requires_grad_()
        grad = noise(4, 33, seed=1).requires_grad_()
        torch.library.opcheck(operators.gradient_operator, (y, grad, -1, log, torch.float32, 0.5))


@pytest.mark.parametrize(
    ("rows", "cols"), [(128, 96), (64, 4096), (8, 131_072), (16, 262_144), (2, 1 << 20)]
)
def test_a_graph_replays_on_new_numbers(rows, cols):
    x = noise(rows, cols)
    softmax(x)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = softmax(x)
        z = softmax(y * cols)
    for seed in range(5):
        x.copy_(noise(rows, cols, seed=seed))
        graph.replay()
        eager = softmax(x)  # beside the graph's own, on the same stream
        torch.testing.assert_close(y, torch.softmax(x, -1))
        assert torch.equal(y, eager)
        torch.testing.assert_close(z, torch.softmax(y * cols, -1))


def test_a_graph_captured_before_anything_else_has_slots_of_its_own(monkeypatch):
    x = noise(1, 1 << 20)
    softmax(x)
    monkeypatch.setattr(slots, "_reserved", {})
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = softmax(x)
    for seed in range(3):
        x.copy_(noise(1, 1 << 20, seed=seed))
        graph.replay()
        torch.testing.assert_close(y, torch.softmax(x, -1))


def test_graphs_that_run_at_once_have_slots_of_their_own():
    inputs = [noise(1, 1 << 20, seed=seed) for seed in range(4)]
    softmax(inputs[0])
    graphs, results = [torch.cuda.CUDAGraph() for _ in inputs], []
    for graph, x in zip(graphs, inputs, strict=True):
        with torch.cuda.graph(graph):
            results.append([softmax(x) for _ in range(20)])
    streams = [torch.cuda.Stream() for _ in graphs]
    torch.cuda.synchronize()
    for _ in range(10):
        for graph, stream in zip(graphs, streams, strict=True):
            with torch.cuda.stream(stream):
                graph.replay()
    torch.cuda.synchronize()
    for x, of_graph in zip(inputs, results, strict=True):
        wanted = torch.softmax(x, -1)
        for y in of_graph:
            torch.testing.assert_close(y, wanted)


def test_launches_captured_into_one_graph_share_their_slots():
    x = noise(1, 1 << 20)
    softmax(x)
    before = len(slots._of_captures)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        for _ in range(50):
            softmax(x)
    assert len(slots._of_captures) == before + 1


kept = pytest.mark.skipif(
    not torch.cuda.is_available() or direct._calls() is None, reason="no calls in C here"
)


@kept
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("shape", [(128, 96), (64, 4097), (8, 50257), (20, 131_072), (64, 300, 64)])
def test_a_call_by_a_kept_launch_gives_the_same_bits(shape, dtype):
    for ours, _ in FUNCTIONS:
        x, log = noise(*shape, dtype=dtype), ours is log_softmax
        first = ours(x, 1)
        again = direct.way.run(x, None, 1, log)
        assert again is not None
        assert torch.equal(first, again)
        out = torch.full_like(x, torch.nan)
        assert ours(x, 1, out=out) is out
        out.fill_(torch.nan)
        assert direct.way.run(x, out, 1, log) is out
        assert torch.equal(first, out)
        ours(x, 1, out=x)
        x = noise(*shape, dtype=dtype)
        assert direct.way.run(x, x, 1, log) is x
        assert torch.equal(first, x)


@kept
def test_a_kept_launch_leaves_gradients_casts_and_transformations_alone():
    x = noise(128, 96)
    wanted, half = softmax(x), x.half()
    softmax(half)
    y = softmax(x.requires_grad_())
    assert y.requires_grad
    with torch.no_grad():
        assert torch.equal(softmax(x), wanted)
    x = x.detach()
    with torch.autocast("cuda", torch.float16):
        assert softmax(half).dtype is torch.float32
    rows = noise(5, 128, 96)
    made = torch.func.vmap(softmax)(rows)
    torch.testing.assert_close(made, torch.softmax(rows, -1))


def test_autograd_hears_of_a_result_that_is_written_over():
    for x in (noise(128, 96), noise(128, 96).requires_grad_()):
        out = torch.empty_like(x)
        for times in range(3):
            with torch.no_grad():
                softmax(x, out=out)
            assert out._version == times + 1


@pytest.mark.parametrize(
    "call", [softmax, pytest.param(lambda x: direct.way.run(x, None, -1, False), marks=kept)]
)
def test_it_runs_on_the_current_stream(call):
    x = torch.zeros(4096, 4096, device="cuda")
    softmax(x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x.fill_(1.0)
        x[:, 0] = 5.0
        y = call(x)
    stream.synchronize()
    torch.testing.assert_close(y, torch.softmax(x, -1))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_tensor_on_another_gpu_than_the_current_one():
    for shape in ((30, 1000), (1, 1 << 20), (4, 40, 64)):
        x = noise(*shape).to("cuda:1").requires_grad_()
        y = softmax(x, 1)
        assert y.device == x.device
        torch.testing.assert_close(y, torch.softmax(x, 1))
        y.square().sum().backward()
        assert torch.cuda.current_device() == 0


def test_plans_are_bounded_and_found_again(monkeypatch):
    monkeypatch.setattr(plans, "KEPT_AT_MOST", 8)
    plans._of_this_thread.table.clear()
    for _ in range(2):
        for cols in range(1, 30):
            x = noise(3, cols)
            torch.testing.assert_close(softmax(x), torch.softmax(x, -1))
            assert len(plans._of_this_thread.table) <= 8


def work(seed, until, failures):
    """In a thread with a stream of its own: random shapes, each checked."""
    chosen = random.Random(seed)
    shapes = (
        (128, 96), (40, 1000), (64, 4097), (5, 50_257), (8, 131_072), (16, 262_144), (1, 1 << 20), (3, 1 << 20),
        (20, 30, 40),
    )  # fmt: skip
    try:
        with torch.cuda.stream(torch.cuda.Stream()):
            while time.monotonic() < until:
                shape = chosen.choice(shapes)
                x = torch.randn(shape, device="cuda", dtype=chosen.choice(DTYPES))
                dim = chosen.randrange(-1, x.dim() - 1)
                y, wanted = softmax(x, dim), torch.softmax(x.float(), dim)
                assert (y.float() - wanted).abs().max() <= 0.01, (shape, dim)
    except BaseException as failure:
        failures.append(failure)


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.full)])
def test_eight_threads_on_eight_streams(seconds):
    failures = []
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=work, args=(seed, until, failures)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 120)
    assert failures == []
    assert not any(thread.is_alive() for thread in threads)


def random_case(chosen):
    """A tensor of random shape, strides, dtype and offset, and a dimension."""
    dims = chosen.choice((1, 2, 2, 2, 3, 4))
    longest = chosen.choice((8, 64, 300, 5000, 70_000))
    shape = [chosen.choice((1, 2, 3, 5, chosen.randint(1, 40))) for _ in range(dims)]
    shape[chosen.randrange(dims)] = chosen.randint(1, longest)
    dtype = chosen.choice(DTYPES)
    steps = [chosen.choice((1, 1, 1, 2)) for _ in shape]
    offset = chosen.choice((0, 0, 1, 3, 8, 17))
    sizes = (size * step for size, step in zip(shape, steps, strict=True))
    whole = [size + chosen.choice((0, 0, 1, 4)) for size in sizes]
    numbers = torch.randn(torch.Size(whole).numel() + offset, device="cuda").mul_(4).to(dtype)
    order = list(range(dims))
    if chosen.random() < 0.3:
        chosen.shuffle(order)
    x = numbers[offset:].view(whole)
    for axis, (size, step) in enumerate(zip(shape, steps, strict=True)):
        x = x.narrow(axis, 0, size * step)
        x = x[(slice(None),) * axis + (slice(None, None, step),)]
    return x.permute(order), chosen.randrange(-dims, dims)


@pytest.mark.parametrize("cases", [200, pytest.param(5000, marks=pytest.mark.full)])
def test_random_tensors(cases):
    chosen = random.Random(cases)
    torch.manual_seed(cases)
    for number in range(cases):
        x, dim = random_case(chosen)
        log = chosen.random() < 0.5
        ours, theirs = FUNCTIONS[log]
        leaf = x.detach().requires_grad_()  # where x is, as it lies there
        exact = x.double().requires_grad_()
        y, wanted = ours(leaf, dim), theirs(exact, dim)
        grad = torch.randn_like(y)
        y.backward(torch.stack((grad, grad), -1)[..., 1])  # every other number
        wanted.backward(grad.double())
        rough = 2e-5 if x.dtype is torch.float32 else 2e-2
        told = f"case {number}: {x.shape} {x.stride()} {x.dtype} dim {dim} log {log}"
        assert error(y.detach(), wanted.detach()) <= rough, told
        assert error(ours(x, dim), wanted.detach()) <= rough, told
        size = exact.grad.abs().max() + 1
        if log:  # of rounded logarithms, exponentials are as far off as those are long
            size = size * (1 + wanted.detach().abs().max() * grad.sum(dim).abs().max())
        assert (leaf.grad.double() - exact.grad).abs().max() <= rough * size, told
