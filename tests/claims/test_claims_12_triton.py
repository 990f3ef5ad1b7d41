"""What chapter 12 claims, as relations that Triton's compiler and the kept run have to bear out."""

import pytest

from softmax_lib import tile_times, tiles
from softmax_lib.errors import BadInput, CompileError
from softmax_lib.records.measurement import TIE
from softmax_lib.records.tile_times import TileTime
from softmax_lib.tiles import seeds_warps
from softmax_lib.tiles.settings import settle


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


def lengths(who) -> dict[int, TileTime]:
    """By columns, the times of one who: of `simple` those by the source's rule."""
    return {
        found.cols: found
        for found in tile_times(part="lengths", who=who)
        if who != "simple" or found.num_warps == seeds_warps(found.tile)
    }


def test_ahead_of_torch_from_512():
    simple, torch = lengths("simple"), lengths("torch")
    assert min(simple) == 256
    assert simple[256].us > torch[256].us
    gains = {cols: torch[cols].us / simple[cols].us for cols in simple if cols >= 512}
    assert min(gains.values()) > TIE
    assert max(gains, key=gains.__getitem__) == 7168
    assert gains[7168] == pytest.approx(2.2, abs=0.05)


def test_steady_where_torch_is_not():
    within = range(512, 16384 + 1)
    assert min(one.copy_share for cols, one in lengths("simple").items() if cols in within) > 0.94
    shares = [one.copy_share for cols, one in lengths("torch").items() if cols in within]
    assert (min(shares), max(shares)) == pytest.approx((0.45, 0.88), abs=0.005)


def test_falls_outside():
    shares = {cols: one.copy_share for cols, one in lengths("simple").items()}
    low = {cols: share for cols, share in shares.items() if share < 0.94}
    assert low == pytest.approx({256: 0.79, 20480: 0.86, 24576: 0.93}, abs=0.005)
    assert min(shares[28672], shares[32768]) > 0.95


def test_level_with_fusion():
    simple, fusion = lengths("simple"), lengths("fusion")
    for cols in simple:
        if cols <= 8192:
            assert fusion[cols].us / simple[cols].us == pytest.approx(1, abs=0.06)
    assert simple[10240].us / fusion[10240].us == pytest.approx(0.75, abs=0.02)


def test_softmax_is_behind_at_10240():
    simple, ours = lengths("simple"), lengths("softmax()")
    behind = [cols for cols in simple if ours[cols].us > TIE * simple[cols].us]
    assert behind == [10240]
    assert ours[10240].us / simple[10240].us == pytest.approx(1.04, abs=0.005)


SIXTEEN = sorted({one.cols for one in tile_times(part="sixteen")})


def sixteen(who, cols, tile=None) -> float:
    """Microseconds around 1024 columns, in the least tile if none is named."""
    (found,) = tile_times(part="sixteen", who=who, cols=cols, tile=tile or settle(cols).tile)
    return found.us


def test_softmax_is_behind_at_1025():
    behind = {
        cols: tile_times(part="sixteen", who="softmax()", cols=cols)[0].us / sixteen("simple", cols)
        for cols in SIXTEEN
    }
    assert {cols: found for cols, found in behind.items() if found > TIE} == pytest.approx(
        {1025: 1.035}, abs=0.005
    )


def test_the_hint_gains_in_the_larger_tile():
    for cols in (976, 992, 1008, 1024):
        gain = sixteen("simple_no_hint", cols) / sixteen("simple", cols)
        assert 1 < gain < 1.015 < TIE
    gain = sixteen("simple_no_hint", 1040) / sixteen("simple", 1040)
    assert gain == pytest.approx(1.07, abs=0.005)


def test_a_larger_tile_costs():
    cost = sixteen("simple", 1000, 2048) / sixteen("simple", 1000)
    assert cost == pytest.approx(1.09, abs=0.005)
    for cols in (1008, 1024):
        assert 1.02 < sixteen("simple", cols, 2048) / sixteen("simple", cols) < 1.03


def test_one_column_more():
    cost = sixteen("simple", 1025) / sixteen("simple", 1024)
    assert cost == pytest.approx(1.10, abs=0.005)
    before, after = (
        tile_times(part="sixteen", who="torch", cols=cols)[0].us for cols in (1024, 1025)
    )
    assert after / before == pytest.approx(1.21, abs=0.005)


def settings(cols, who="simple", **wanted) -> list[TileTime]:
    """Settings on one matrix, the fastest first."""
    return tile_times(part="settings", cols=cols, who=who, **wanted)


def test_few_warps_for_short_rows():
    us = {one.num_warps: one for one in settings(1024)}
    assert min(us[warps].copy_share for warps in (1, 2, 4)) > 0.97
    assert us[8].us / us[4].us == pytest.approx(1.09, abs=0.005)
    assert us[32].us / us[4].us == pytest.approx(3, abs=0.1)


def test_many_warps_for_long_rows():
    found = settings(32768)
    assert {one.num_warps for one in found[:2]} == {16, 32}
    assert {one.num_warps for one in found if one.spill_bytes} == {4}
    (eight,) = (one for one in found if one.num_warps == 8)
    assert eight.us / found[0].us == pytest.approx(1.22, abs=0.005)


def test_the_longest_rows_spill():
    every = [one for one in tile_times(part="settings", cols=65536) if one.tile]
    assert min(one.spill_bytes for one in every) > 0
    (ours,) = settings(65536, "softmax()")
    assert min(one.us for one in every if one.who == "simple") / ours.us == pytest.approx(
        1.5, abs=0.02
    )
    (torch,) = settings(65536, "torch")
    assert torch.us / ours.us == pytest.approx(2.1, abs=0.02)


def by_stages(warps) -> dict[int, TileTime]:
    """`persistent` on 8192x4096, by its number of stages."""
    return {one.num_stages: one for one in settings(4096, "persistent", num_warps=warps)}


def test_stages_follow_no_rule():
    many, few, one_warp = by_stages(32), by_stages(4), by_stages(1)
    assert many[2].us / many[1].us == pytest.approx(1.06, abs=0.005)
    assert one_warp[4].us / one_warp[1].us == pytest.approx(0.9, abs=0.005)
    assert many[3].us / many[1].us == pytest.approx(5 / 6, abs=0.005)
    assert min(few.values(), key=lambda one: one.us).num_stages == 1


def test_the_keyword_gains_nothing():
    for cols in (96, 1024, 4096, 32768, 65536):
        us = [one.us for one in settings(cols, "persistent_keyword")]
        assert len(us) == 2
        assert max(us) / min(us) < TIE


def test_persistent_never_wins():
    for cols in (96, 1024, 4096, 32768, 65536):
        assert settings(cols, "persistent")[0].us > settings(cols)[0].us
