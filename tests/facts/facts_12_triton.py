"""What chapter 12 and its evidence state: each phrase as the kept run or Triton's compiler has it, or whether it holds."""

from facts.recorded_facts import COLS, ROWS, close, refusal

from softmax_lib import recorded, tile_times, tiles
from softmax_lib.engine.errors import BadInput, CompileError
from softmax_lib.engine.grids import REGISTERS_A_BLOCK
from softmax_lib.records.measurement import TIE
from softmax_lib.worklog.tiles import compile_tile, seeds_warps
from softmax_lib.worklog.tiles.programs import settle

MATRICES = (96, 1024, 4096, 32768, 65536)
"""Columns of the matrices on which every setting was timed."""
USUAL = range(512, 16384 + 1)

fusion_share = recorded.times(ROWS, COLS)["fusion"].copy_share
edit = tiles.kernels["simple"].source.text.replace
no_store_mask, zeros, no_hint, promising = (
    edit("share, mask=inside", "share"),
    edit('-float("inf")', "0.0"),
    edit("@triton.jit", '@triton.jit(do_not_specialize=["cols"])'),
    edit("    start = ", "    cols = cols // 4 * 4\n    start = "),
)


def lengths(who):
    """By columns, the times of one who: of `simple` those by the rule of warps."""
    return {
        one.cols: one
        for one in tile_times(part="lengths", who=who)
        if who != "simple" or one.num_warps == seeds_warps(one.tile)
    }


simple, torch, fusion, ours = map(lengths, ("simple", "torch", "fusion", "softmax()"))
gains = {cols: torch[cols].us / simple[cols].us for cols in simple}
in_usual = [[who[cols].copy_share for cols in who if cols in USUAL] for who in (simple, torch)]


def sixteen(who, cols, tile=None):
    """Microseconds around 1,024 columns, in the least tile if none is named."""
    (one,) = tile_times(part="sixteen", who=who, cols=cols, tile=settle(cols).tile if tile is None else tile)  # fmt: skip
    return one.us


def slower(who, cols, tile=None, than=("simple", None)):
    """How many times as long it takes as another."""
    return sixteen(who, cols, tile) / sixteen(than[0], than[1] or cols)


def settings(cols, who="simple", **wanted):
    """Settings on one matrix, the fastest first."""
    return tile_times(part="settings", cols=cols, who=who, **wanted)


short, long = ({one.num_warps: one for one in settings(cols)} for cols in (1024, 32768))
of_65536 = [one for one in settings(65536) + settings(65536, "persistent") if one.tile]
(ours_65536,), (torch_65536,) = (settings(65536, who) for who in ("softmax()", "torch"))


def by_stages(warps):
    """Microseconds of `persistent` on 8,192 x 4,096 by its stages."""
    return {one.num_stages: one.us for one in settings(4096, "persistent", num_warps=warps)}


few, many, one_warp = map(by_stages, (4, 32, 1))
(rows_around,) = {one.rows for one in tile_times(part="sixteen")}
(four,) = {one.num_warps for one in tile_times(part="sixteen", who="simple")}


def code(cols, warps=4, kernel="simple"):
    """What a thread loads, by bytes, and how many registers it has."""
    made = compile_tile(kernel, cols, num_warps=warps)
    return made.loads, made.registers


def ptx(name, cols=1024):
    return dict(tiles.compare_ptx(name, cols=cols, num_warps=4))


made, narrow, by_hand = ptx("simple"), ptx("simple", 1000), ptx("fusion")
accesses = {"loads of 16 bytes", "loads of 4 bytes", "stores of 16 bytes", "stores of 4 bytes"}


def wrong(text):
    """What a check says of an edit of the kernel."""
    return tiles.check(text, device="cpu").verdict


def stages_bytes(kernel, stages):
    return compile_tile(kernel, 1024, num_warps=8, num_stages=stages).shared_bytes


def cost(ratio):
    """By how many per cent a ratio is above 1."""
    return f"{100 * (ratio - 1):.0f} %"


FACTS = {
    f"fusion, runs at {100 * fusion_share:.0f} % of a copy's speed": True,
    "128 threads with 8 values each, which arrive in two loads of 16 bytes": code(1024)[0] == {16: 2},
    "One column more, and the tile is twice as large": (settle(1024).tile, settle(1025).tile) == (1024, 2048),
    "one takes loads of 4 bytes and the other of 16": (*code(1000)[0], *code(1008)[0]) == (4, 16),
    "16 warps it has 2 values left: 8 bytes, too few for a load of 16": code(1024, 16)[0] == {8: 1},
    "kernel wrote past the end of y": "wrote past the end of y" in wrong(no_store_mask).replace("\n", " "),
    "of the 18 launches that a check makes, 12 are wrong": all("18 launches, 12 wrong" in wrong(text) for text in (no_store_mask, zeros)),
    "8 loads of 4 bytes where it had 2 of 16, and 29 registers, not 22": (
        code(1000) == code(1024, kernel=no_hint) == ({4: 8}, 29) and code(1024) == ({16: 2}, 22)
    ),
    f"torch's own softmax runs at {100 * torch[8192].copy_share:.0f} % of a copy's speed, and fusion at {100 * fusion[8192].copy_share:.0f} %": True,
    "At 1,000 columns only loads and stores differ": {kind for kind in made if made[kind] != narrow[kind]} == accesses,
    f"All with {four} warps, on {rows_around:,} rows": True,
    **{f"| {cols:,} | {settle(cols).tile:,} | {max(code(cols)[0])} bytes | {sixteen('simple', cols):.1f} µs |": True for cols in (1000, 1008, 1024, 1025, 1040)},
    "In a tile of 1,024 it costs nothing": all(close(sixteen("simple_no_hint", cols), sixteen("simple", cols)) for cols in (1008, 1024)),
    f"In one of 2,048 it costs {100 * (slower('simple_no_hint', 1040) - 1):.0f} to {cost(slower('simple', 1000, 2048))}, and that tile itself 2 to 3 %": True,
    "and that tile itself 2 to 3 %": all(1.02 < slower("simple", cols, 2048) < 1.03 for cols in (1008, 1024)),
    "as the kernel's first line it knows that 4 divides it, and wide loads are back": code(1000, kernel=promising)[0] == {16: 2},
    "1,008 columns are as good as 1,024": close(sixteen("simple", 1008), sixteen("simple", 1024)),
    "stay within 6 % of a copy": min(in_usual[0]) > 0.94,
    "level, give or take 6 %, up to 8,192 columns": all(close(fusion[cols].us, simple[cols].us, 0.06) for cols in simple if cols <= 8192),
    "a quarter less time at 10,240": close(simple[10240].us / fusion[10240].us, 0.75),
    "4 warps, 8 from tiles of 2,048 on, and 16 from 4,096 on": [seeds_warps(tile) for tile in (1024, 2048, 4096)] == [4, 8, 16],
    "1, 2 or 4 warps: all three are within 3 % of a copy": min(short[warps].copy_share for warps in (1, 2, 4)) > 0.97,
    "32 take three times as long: only two programs fit on an SM": close(short[32].us, 3 * short[4].us) and short[32].programs == 2,
    "At 32,768 columns 16 and 32 are best": {one.num_warps for one in settings(32768)[:2]} == {16, 32},
    f"8 take {cost(long[8].us / settings(32768)[0].us)} longer": True,
    "4 can't hold 256 values per thread": {warps for warps, one in long.items() if one.spill_bytes} == {4},
    "as many elements as an SM has registers, so every setting spills": REGISTERS_A_BLOCK == 65536 and min(one.spill_bytes for one in of_65536) > 0,
    "It's never faster than the eight lines here": all(settings(cols, "persistent")[0].us > settings(cols)[0].us for cols in MATRICES),
    "at 1,008 and 1,024, not at 1,000": [16 in code(cols)[0] for cols in (1008, 1024, 1000)] == [True, True, False],
    "Up to 1,024 columns the hint makes no difference above a tie": all(1 < slower("simple_no_hint", cols) < TIE for cols in (976, 992, 1008, 1024)),
    f"One column more than 1,024 costs simple {cost(slower('simple', 1025, than=('simple', 1024)))} and torch {cost(sixteen('torch', 1025, 0) / sixteen('torch', 1024, 0))}": True,
    "simple is behind torch at 256 columns": torch[256].us < simple[256].us,
    f"torch goes between {100 * min(in_usual[1]):.0f} and {100 * max(in_usual[1]):.0f} % of one": True,
    f"ahead from 512 on, and at most {max(gains.values()):.1f} times as fast, at {max(gains, key=gains.__getitem__):,}": all((gains[cols] > TIE) == (cols >= 512) for cols in gains),
    "{:.0f} % of a copy at 256, {:.0f} % at 20,480 and {:.0f} % at 24,576".format(*(100 * simple[cols].copy_share for cols in (256, 20480, 24576))): True,
    "95 % or more at 28,672 and 32,768": min(simple[28672].copy_share, simple[32768].copy_share) > 0.95,
    "simple is 4 % faster at 10,240 and 3 % at 1,025": (
        [cols for cols in simple if ours[cols].us > TIE * simple[cols].us] == [10240]
        and [cols for cols in {one.cols for one in tile_times(part="sixteen")} if sixteen("softmax()", cols, 0) > TIE * sixteen("simple", cols)] == [1025]
        and cost(ours[10240].us / simple[10240].us) == "4 %"
        and 1.03 < sixteen("softmax()", 1025, 0) / sixteen("simple", 1025) < 1.04
    ),
    "Triton's exchange has more barriers than ours": made["barriers"] > by_hand["barriers"],
    "takes about four more that multiply and add": 4 <= ptx("float4")["multiply and add"] / ptx("float4")["exponentials"] < 4.5,
    "It divides every element, as the text of the kernel says": made["divisions"] == 8,
    "four stages of a tile of 1,024 take 12 KiB": close(stages_bytes("persistent", 4), 12 * 1024, 0.01),
    "It changes nothing in this loop": len({stages_bytes("persistent_keyword", stages) for stages in (1, 2, 4)}) == 1
    and all(settings(cols, "persistent_keyword")[-1].us < TIE * settings(cols, "persistent_keyword")[0].us for cols in MATRICES),
    "With three stages the longest row has 16,384 columns": [
        compile_tile("persistent", cols, num_warps=16, num_stages=3).programs for cols in (16384, 16385)
    ] == [1, 0],
    "with 32 warps three take a sixth off the time, and two add 6 %": close(many[3] / many[1], 5 / 6) and cost(many[2] / many[1]) == "6 %",
    "with four warps none gains": min(few, key=few.__getitem__) == 1,
    "with one, four take a tenth off": close(one_warp[4] / one_warp[1], 0.9),
    f"the best of simple takes {settings(65536)[0].us / ours_65536.us:.1f} times as long as softmax(), and torch {torch_65536.us / ours_65536.us:.1f} times": True,
    "at two blocks Triton's compiler stops with an error": refusal(CompileError, compile_tile, "simple", 1024, num_ctas=2) != "",
    "is no such word": refusal(BadInput, compile_tile, "simple", 1024, grid=2) != "",
}  # fmt: skip
