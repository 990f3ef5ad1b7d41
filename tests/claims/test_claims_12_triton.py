"""What chapter 12 claims, as relations that Triton's compiler has to bear out."""

import pytest

from softmax_lib import tiles
from softmax_lib.errors import BadInput, CompileError


def test_grid_is_no_word():
    """The compiler takes num_warps, num_stages, num_ctas, maxnreg, enable_fp_fusion, and no grid."""
    with pytest.raises(BadInput, match="not grid"):
        tiles.compile_tile("simple", 1024, grid=2)
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    options = vars(make_backend(GPUTarget("cuda", 90, 32)).parse_options({}))
    words = {"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion"}
    assert words <= set(options)
    assert "grid" not in options


def test_no_cluster_for_one_dimension():
    """In two blocks a tile of one dimension cannot be summed: the compiler fails."""
    with pytest.raises(CompileError, match="Triton does not compile simple"):
        tiles.compile_tile("simple", 1024, num_ctas=2)


def test_three_stages_fit_16384():
    """Two tiles of 16384 fit a multiprocessor, of 32768 they do not."""
    asked = {"num_warps": 16, "num_stages": 3}
    assert tiles.compile_tile("persistent", 16384, **asked).programs == 1
    long = tiles.compile_tile("persistent", 16385, **asked)
    assert (long.programs, long.limit) == (0, "shared memory")
