"""A kernel that no GPU would run is refused here too, with the compiler's or the driver's reason."""

import pytest
from emulated import HEAD, kernel_of, ones

from softmax_lib import check, run, xray
from softmax_lib.engine.errors import BadInput, BlockSizeNotAllowed
from softmax_lib.engine.source import Source
from softmax_lib.gpu.compile import nvrtc
from softmax_lib.worklog.registry import resolve

ON = "    y[(long long)blockIdx.x * cols + threadIdx.x] = "
STATIC = "    __shared__ float big[{0}];\n    big[threadIdx.x] = 1;\n" + ON + "big[threadIdx.x];\n"
UNSIZED = (
    "    extern __shared__ float big[];\n    big[threadIdx.x] = 1;\n" + ON + "big[threadIdx.x];\n"
)
MANY_REGISTERS = f"""\
    float v[200], sum = 1;
#pragma unroll
    for (int i = 0; i < 200; i++) v[i] = x[(i * threadIdx.x) % cols];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 200; i++) sum = sum * v[i] + v[199 - i];
{ON}sum;
"""

both = pytest.mark.parametrize(
    "launch",
    [lambda s, size: run(s, ones(2, 1024), block_size=size), lambda s, size: xray(s, 2, 1024, size)],
    ids=["run", "xray"],
)  # fmt: skip


@both
@pytest.mark.parametrize("floats", [12289, 16384, 750_000_000])
def test_more_than_48_kib_of_static_shared_memory(launch, floats):
    words = f"mine declares {4 * floats} bytes of shared memory; a kernel can declare 49152,"
    with pytest.raises(BadInput, match=words):
        launch(kernel_of(STATIC.format(floats)), 64)


@both
def test_48_kib_are_taken(launch):
    launch(kernel_of(STATIC.format(12288)), 64)


@both
def test_shared_memory_that_nobody_sizes(launch):
    with pytest.raises(BadInput, match=r"big in mine is `extern __shared__`.* 0 bytes of it"):
        launch(kernel_of(UNSIZED), 64)


@both
def test_a_block_beyond_its_launch_bounds(launch):
    source = Source("mine.cu", HEAD.replace("void", "void __launch_bounds__(96)") + f"{ON}1;\n}}\n")
    assert resolve(source).default_block_size == 96
    launch(source, None)
    launch(source, 96)
    with pytest.raises(
        BlockSizeNotAllowed, match=r"128 threads; mine says __launch_bounds__\(96\)"
    ):
        launch(source, 128)


def test_check_goes_by_launch_bounds():
    text = resolve("naive").source.text.replace(
        "void softmax", "void __launch_bounds__(64) softmax"
    )
    sizes = {a.block_size for a in check(Source("naive.cu", text), device="cpu").attempts}
    assert sizes == {32, 64}


def test_a_block_that_has_no_room_for_its_registers():
    try:
        nvrtc()
    except Exception:
        pytest.skip("needs NVRTC")
    assert xray(kernel_of(MANY_REGISTERS), 2, 1024, 256).hazards == ()
    words = r"mine has \d+ registers per thread, so that a block takes at most \d+ threads \(sm_90\); this one has 1024"
    with pytest.raises(BlockSizeNotAllowed, match=words):
        xray(kernel_of(MANY_REGISTERS), 2, 1024, 1024)
