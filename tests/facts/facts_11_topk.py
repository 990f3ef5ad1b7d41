"""What chapter 11 and its evidence state: each phrase as the record, a counter or machine code has it, or whether it holds."""

import re
from dataclasses import replace

import torch
from facts.recorded_facts import COLS, ROWS, cells

from softmax_lib import recorded, selections, topk_sizes, topk_times, xray_launch
from softmax_lib.engine.compiled.code import code_of
from softmax_lib.engine.source import Program, Source
from softmax_lib.records.cited import FUSED_TOPK
from softmax_lib.show.live.cells import read_line
from softmax_lib.suites.times import shown_times
from softmax_lib.worklog.launch_words import read_launch
from softmax_lib.worklog.reads import reads

KS, SIZES = (5, 10, 15, 30), (32, 64, 128, 256, 512, 1024)

times = {(one.kernel, one.k, one.block_size, one.rows): one.us for one in topk_sizes()}


def us(name, k=5, size=256, rows=4000):
    """Time of a kernel of the chapter on rows of 25,200."""
    return times[name, k, size, rows]


def cell(k=5, rows=4000, cols=25200):
    """All that was timed on one matrix of noise."""
    (found,) = topk_times(rows=rows, cols=cols, k=k, data="normal", dtype="float32")
    return found


def over_torch(one):
    """The time of torch's best form over that of softmax_topk()."""
    return one.torch_us / one.ours_us


def over_read(k):
    """The time of softmax_topk() over that of one read, half of a copy, less one, in per cent."""
    return 100 * (cell(k).ours_us / (cell(k).copy_us / 2) - 1)


def gain(k):
    """What fusing gains with a list per thread."""
    return cell(k).kernels["topk_unfused"] / cell(k).kernels["topk"]


def online_loss(one):
    """How many times as long as the safe softmax the online one takes alone."""
    return one["online softmax"] / one["safe softmax"]


def saved(name, of, k):
    """What a control saves of a kernel's time, in per cent."""
    return 100 * (1 - us(name, k) / us(of, k))


def list_us(k):
    """Microseconds that lists and meeting take with a list per thread."""
    return us("topk", k) - us("topk_no_lists", k)


def changes(k):
    """In how many of its turns some lane's list of a warp changes, and how many scores enter a list of the warp."""
    row = torch.randn(25200, generator=torch.Generator().manual_seed(1))
    turns = row[: 98 * 256].view(98, 256)[:, :32]
    lanes = k + sum(bool((turns[t] > turns[:t].topk(k, 0)[0][-1]).any()) for t in range(k, 98))
    return lanes, 32 + sum(
        int((turns[t] > turns[:t].flatten().topk(k)[0][-1]).sum()) for t in range(1, 98)
    )


def shuffles(old="", new=""):
    """What the x-ray counts of the chapter's cell with one text in place of another."""
    (cell,) = (one for one in cells("11_topk").values() if one.startswith("%%cuda"))
    line, text = cell.replace(old, new).removeprefix("%%cuda").split("\n", 1)
    words, _ = read_launch(read_line(line), Source("kernel.cu", text))
    return xray_launch(**words).total["shuffles"]


def in_flight(name):
    """Loads and their bytes that leave before a thread waits, in the loop over the row."""
    kernel = replace(selections.kernels[name], macros=(("K", 5),))
    return next(
        (one.loads, one.asked_bytes) for one in reads(kernel, 256, 25200, 90) if one.in_loop
    )


def machine_moves(name):
    """Moves between registers in the machine code at k = 30."""
    program = Program(selections.kernels[name].source, (("BLOCK", 256), ("K", 30)))
    return len(re.findall(r"\bMOV\b", code_of(program, 90).text))


def trips(name):
    """What the launches of a form move, in multiples of the matrix."""
    x = torch.randn(4, 8192, generator=torch.Generator().manual_seed(0))
    totals = [xray_launch(**words).total for words in selections.select(name, x, k=5).launches]
    moved = sum(one["global_load_sectors"] + one["global_store_sectors"] for one in totals)
    return round(32 * moved / x.nbytes, 1)


few, many = (
    {one.cols: one.kernels for one in topk_times(rows=of, k=5, dtype="float32", data="normal") if one.kernels}
    for of in (10, 4000)
)  # fmt: skip
plain = {(one.rows, one.cols): one.us / one.full_us - 1 for one in shown_times(kernel="topk_warp_plain")}  # fmt: skip
(router,) = topk_times(rows=16384, cols=256)
rising = [one for one in topk_times() if one.data in ("ascending", "in steps")]

FACTS = {
    f"{100 * recorded.times(ROWS, COLS)['fusion'].copy_share:.0f} % of a copy's speed": True,
    "in one read of the row, where the paper's two calls make five trips": (trips("topk_unfused"), trips("topk_warp_plain")) == (5, 1),
    f"With k = 30 and a list per thread, some list changes in all {changes(30)[0]}: {30 * changes(30)[0]:,} steps": True,
    f"A list per warp lets {changes(30)[1]} of its scores in": True,
    f"every score takes a step: {shuffles('next > __shfl_sync(ALL_LANES, mine, K - 1)', 'true'):,} shuffles, not {shuffles():,}": True,
    f"each score beats the list: {shuffles('x:f32:4x25200', 'x:f32:4x25200:arange'):,} shuffles": True,
    f"the paper's was {FUSED_TOPK.gains[5]:.0f} times as fast as unfused": True,
    "at a copy's speed, most of the unfused kernels' time": 0.5 < 2.5 * cell().copy_us / us("topk_unfused") < 0.8,
    "softmax_topk() is nearly there": over_read(5) < 5,
    f"{100 - saved('topk_warp_no_list', 'topk_warp', 5):.0f} % of the time is still there": True,
    "more than twice what a read takes at a copy's speed": us("topk_warp_no_list") > 2 * cell().copy_us / 2,
    "a thread asks for one score, and has to have it before it asks for the next": (
        in_flight("topk_warp") == in_flight("topk_warp_no_list") == in_flight("topk_warp_plain") == (1, 4)
    ),
    f"{saved('topk_warp_loads_first', 'topk_warp', 5):.0f} % of the time is gone": True,
    "At k = 5 a list per thread is even a little faster": 1.05 < us("topk_warp") / us("topk") < 1.07,
    "at k = 30 it needs four times as long": 3.8 < us("topk", 30) / us("topk_warp", 30) < 4.2,
    f"From 5 to 30 a list per warp takes only {100 * (us('topk_warp', 30) / us('topk_warp') - 1):.0f} % longer": True,
    "it takes nearly four times as long as going through all k places": 3.6 < us("topk_early_exit", 30) / us("topk", 30) < 4,
    f"On random rows it's within {over_read(5):.0f} % of one read for k = 5, within {over_read(30):.0f} % for k = 30": True,
    "at least 13x faster than the best that torch offers": int(min(over_torch(cell(k)) for k in KS)) == 13,
    f"10 of the {recorded.multiprocessors} SMs have work": True,
    "at k = 5 the unfused form takes less than half the time": us("topk_unfused", rows=10) < us("topk_warp", rows=10) / 2,
    "unfused is ahead of it as well": cell(cols=1008).kernels["topk_warp"] > cell(cols=1008).kernels["topk_unfused"],
    f"The packed kernel takes {100 * plain[4000, 25200]:.0f} % longer on 25,200 columns, and {-100 * plain[4000, 1008]:.0f} % less on 1,008": True,
    "topk gains {:.2f}x there".format(cell(cols=1008).kernels["topk_unfused"] / cell(cols=1008).kernels["topk"]): True,
    "two to four warps for topk_warp": all(min(SIZES, key=lambda size: us("topk_warp", k, size)) in (64, 128) for k in KS),
    "up to 128 threads for topk": all(
        max(small := [us("topk", k, size) for size in SIZES[:3]]) < 16 / 15 * min(small)
        and us("topk", k, 1024) > 1.33 * min(small)
        for k in KS
    ),
    "lists and the final meeting together are more than half of the time at k = 5 and 92 % at k = 30": (
        saved("topk_no_lists", "topk", 5) > 50 and round(saved("topk_no_lists", "topk", 30)) == 92
    ),
    f"the meeting alone is at most {max(saved('topk_no_meeting', 'topk', k) for k in KS):.0f} %": True,
    f"Six times the k takes them {list_us(30) / list_us(5):.1f}x as long": True,
    "Four loads first gain at most 5 %": 4 < max(saved("topk_loads_first", "topk", k) for k in KS) < 5,
    "costs 20 % at k = 5, 10 % at 10, and nothing at 15 and 30": [round(-saved("topk_few_blocks", "topk", k) / 5) * 5 for k in KS] == [20, 10, 0, 0],
    "one load in flight per thread, where a list per thread leaves the compiler two, and no list four": (
        (in_flight("topk_warp"), in_flight("topk"), in_flight("topk_no_lists")) == ((1, 4), (2, 8), (4, 16))
    ),
    "Four loads first gain {:.0f} % at k = 5, and {:.0f} % at k = 30".format(*(saved("topk_warp_loads_first", "topk_warp", k) for k in (5, 30))): True,
    f"At k = 30 that takes {us('topk_early_exit', 30) / us('topk', 30):.1f}x as long": True,
    "it's slower at every k": all(us("topk_early_exit", k) > 1.1 * us("topk", k) for k in KS),
    "more than ten times as many moves": machine_moves("topk_early_exit") > 10 * machine_moves("topk"),
    "the slowest of all that was timed on this matrix": max((key for key in times if key[3] == 4000), key=times.get)[:3] == ("topk_early_exit", 30, 1024),
    f"from {FUSED_TOPK.gains[5]:.0f} to {FUSED_TOPK.gains[30]} on its V100, and from {gain(5):.1f} to {gain(30):.1f} here": True,
    "Its gain melts with k": all(list(found) == sorted(found, reverse=True) for found in (list(map(gain, KS)), [FUSED_TOPK.gains[k] for k in KS])),
    f"up to {max(1 / online_loss(one) for one in many.values()):.2f} here on 4,000 rows": True,
    "There the fused, online form takes longer than unfused at 25,200 columns, and the safe one is ahead of both": all(
        (one := cell(k, rows=10).kernels)["topk_safe"] < one["topk_unfused"] < one["topk"] for k in KS
    ),
    "online softmax alone takes about twice as long as the safe one there": 1.9 < online_loss(few[25200]) < 2.3,
    "Four loads first win back about half of what it loses to the safe one, or more": all(
        us("topk", k, rows=10) - us("topk_loads_first", k, rows=10) > 0.45 * (us("topk", k, rows=10) - us("topk_safe", k, rows=10)) for k in KS
    ),
    "it takes more than three times as long as softmax_topk()": min(cell(k).peers["flashinfer.top_k"] / cell(k).ours_us for k in KS) > 3,
    "on ten long rows with k = 30, about 10 % longer": all(1.04 < one.peers["flashinfer.top_k"] / one.ours_us < 1.16 for one in topk_times(rows=10, k=30)),
    "On none of the matrices that were timed is anybody else ahead": min(one.gain for one in topk_times()) > 1,
    f"takes up to {max(2 * one.ours_us / one.copy_us for one in rising):.1f} reads": True,
    "torch at least five times as long as that": min(map(over_torch, rising)) > 5,
    "16,384 rows of 256 in bfloat16 it's 20x faster": (router.dtype, router.k, int(over_torch(router))) == ("bfloat16", 8, 20),
}  # fmt: skip
