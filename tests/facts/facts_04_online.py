"""What chapter 4 and its evidence state: each phrase as the record, a counter or machine code has it, or whether it holds."""

from facts.recorded_facts import COLS, ROWS, close, counted, scattered_cycles, us

from softmax_lib import check, recorded, xray
from softmax_lib.worklog.reads import reads
from softmax_lib.worklog.reductions import online_steps
from softmax_lib.worklog.registry import kernels

SHORT = 8192
ANYWHERE = (32769, 32770, 32772)
"""Columns with which rows start at other places than the start of a sector."""
CROWDED = (256, 512, 1024)
"""Threads of a block that keep L1 busy."""
ORDERS = ((3, 2, 5, 1), (1, 2, 3, 5), (5, 3, 2, 1))

times = recorded.times(ROWS, COLS)
asked = xray("online", 64, 4096).total
orders = [online_steps(row) for row in ORDERS]
load, store = scattered_cycles()
cited = recorded.cited.ms["naive"] / recorded.cited.ms["online"]
growths = sum(1 / j for j in range(1, COLS + 1))
at_1024 = us("naive", block_size=1024) / us("online", block_size=1024)
promised = (3 * load + store) / (2 * load + store)


def alone(name, number, cols=COLS):
    """Microseconds of one of a kernel's passes in a launch by itself."""
    passes = f"{name}_passes"
    return us(passes, cols, step=kernels[passes].steps[number].entry)


def two_passes(cols=COLS):
    """naive's maximum and sum, each alone."""
    return alone("naive", 0, cols) + alone("naive", 1, cols)


def sum_in_naive(cols):
    """What the sum takes inside the whole kernel, if the write takes as long as in online."""
    return us("naive", cols) - alone("naive", 0, cols) - us("online", cols) + alone("online", 0, cols)  # fmt: skip


def sectors(name):
    """Those that loads and stores ask L1 for."""
    counters = counted(name).counters
    return counters["global_load_sectors"] + counters["global_store_sectors"]


def read_times(name, cols=COLS):
    """How often a kernel reads the matrix from memory."""
    return counted(name, cols).counters["dram_read_bytes"] / (4 * ROWS * cols)


def batches(name, arch=90):
    """Loads that leave together in each loop of a kernel, by its machine code."""
    found = reads(kernels[name], 32, COLS, arch)
    return [read.loads for read in sorted(found, key=lambda read: read.lines)]


def waiting(cols, batch, floats=8):
    """The share of a warp's batches of loads in which a lane comes to a new sector, of `floats` floats."""
    first = [
        any((row * cols + col) % floats == 0 for row in range(32) for col in range(at, at + batch))
        for at in range(0, 16 * floats, batch)
    ]
    return sum(first) / len(first)


def broken(old, new):
    """How many launches of so many are wrong once a line of online is changed, and in what row the first."""
    text = kernels["online"].source.text
    assert old in text
    result = check(text.replace(old, new), lengths=(1, 31, 127, 1000, 4096))
    return len(result.attempts), len(result.wrong), result.wrong[0].row_name


FACTS = {
    # the first screen and the idea
    "1 % of a copy's speed and reads each row three times": kernels["naive"].traffic(COLS) == (3, 1)
    and f"{100 * times['naive'].copy_share:.0f}" == "1",
    "1.368 × 0.135 + 1 makes 1.185": "{:.3f} × {:.3f} + {:.0f} makes {:.3f}".format(
        *(orders[0][2].old_sum, orders[0][2].correction, orders[0][2].term, orders[0][2].new_sum)
    ),
    "end at the same 1.203": {f"{steps[-1].new_sum:.3f}" for steps in orders} == {"1.203"},
    "Which of them needs a correction at every score but the first, and which needs none?": [
        sum(step.rescales for step in steps) for steps in orders
    ] == [1, 3, 0],
    "In a row of 32,768 random scores the maximum grows about 11 times": f"In a row of {COLS:,} random scores the maximum grows about {growths:.0f} times",
    # the kernel
    "So it's two reads and a write, where naive has three reads and a write": (
        kernels["online"].traffic(COLS), kernels["naive"].traffic(COLS)
    ) == ((2, 1), (3, 1)),
    "That's the report's 3 times the matrix": f"That's the report's {asked['bytes_asked'] / (4 * 64 * 4096):.3g} times the matrix",
    "With 0 all 15 launches are wrong, first in a row that's all very negative": broken(
        "row_max = -INFINITY", "row_max = 0.0f"
    ) == (15, 15, "all very negative"),
    "Without the test 12 launches are wrong, first in a row with -inf first": broken(
        "if (value != -INFINITY) row_sum", "row_sum"
    ) == (15, 12, "-inf first"),
    "With the lines swapped 12 are wrong, first in a normal row": broken(
        "row_sum *= expf(row_max - value);\n            row_max = value;",
        "row_max = value;\n            row_sum *= expf(row_max - value);",
    ) == (15, 12, "normal"),
    # the guess and why
    "online makes three accesses to memory per element, not four": [
        sum(kernels[name].traffic(COLS)) for name in ("online", "naive")
    ] == [3, 4],
    "the worklog measured 1.41x on a GTX 1050 Ti": f"the worklog measured {cited:.2f}x on a {recorded.cited.gpu}",
    '"1.05x": 1.05': close(us("naive") / us("online"), 1.05, 0.01),
    "Rows of 32,769 gain nothing": us("online", 32769) > 0.99 * us("naive", 32769),
    "and 1,024 short ones lose": all(us("online", cols) > 1.05 * us("naive", cols) for cols in (512, 1024, 2048, 4096, SHORT)),
    "that's more than the accesses alone explain": cited > 4 / 3,
    "naive's pass for the maximum is the shortest by far": alone("naive", 0) < 0.6 * min(alone("naive", 1), alone("naive", 2)),
    "takes 4.5 ms, 1.4x as long as the sum's 3.2": f"takes {alone('online', 0) / 1e3:.1f} ms, {alone('online', 0) / alone('naive', 1):.1f}x as long as the sum's {alone('naive', 1) / 1e3:.1f}",
    "The maximum's 1.8 ms are saved, 1.3 come back": f"The maximum's {alone('naive', 0) / 1e3:.1f} ms are saved, {(alone('online', 0) - alone('naive', 1)) / 1e3:.1f} come back",
    "The write, the longest of all, stays as it was": alone("naive", 2) > 1.3 * alone("naive", 1)
    and close(alone("online", 1), alone("naive", 2), 0.02),
    "It's the only pass with 16 loads in flight, where all others have 4": all(
        (batches("naive", arch), batches("online", arch)) == ([16, 4, 4], [4, 4]) for arch in (75, 80, 90)
    ),
    "every second batch of 4 loads finds its floats in sectors that the one before has brought; here each waits for memory": all(
        waiting(cols, 4) > waiting(COLS, 4) and waiting(cols, 16) == waiting(COLS, 16) for cols in ANYWHERE
    ),
    "That slows naive's sum, but not its maximum": all(
        alone("naive", 1, cols) > 1.3 * alone("naive", 1) and alone("naive", 0, cols) < alone("naive", 0) for cols in ANYWHERE
    ),
    "In online it slows the pass for both": all(alone("online", 0, cols) > 1.3 * alone("online", 0) for cols in ANYWHERE),
    "With 1,024 rows of up to 8,192 columns online is slower. L2 holds the matrix": recorded.l2_bytes > 4 * ROWS * SHORT,
    "With 32,768 rows there are warps enough to hide that, and short rows gain 1.16x": {
        f"{times['naive'].median_us / times['online'].median_us:.2f}" for times in (recorded.times(32768, cols) for cols in (128, 256, 1024))
    } == {"1.16"},
    # the slider
    "the H200 has 132 SMs": f"the {recorded.gpu.split()[-1]} has {recorded.multiprocessors} SMs",
    "Seven times as long, not 32": close(us("online", block_size=1024) / us("online"), 7, 0.05),
    "every access counts: online is 1.27x as fast as naive": f"every access counts: online is {at_1024:.2f}x as fast as naive",
    "near the 160 to 128 cycles that L1 takes for their accesses, 1.25x": f"near the {3 * load + store:.0f} to {2 * load + store:.0f} cycles that L1 takes for their accesses, {promised:.2f}x",
    # the summary
    "A quarter fewer accesses save 5 % of the time on long aligned rows": [
        f"{100 * (1 - us('online', cols) / us('naive', cols)):.0f}" for cols in (16384, COLS, 65536, 131072)
    ] == 4 * ["5"],
    "each load touches 32 sectors, where four would do": counted("online").counters["global_load_sectors"] == 32 * counted("online").counters["global_load_requests"],
    # the evidence
    "At L1 online asks for three quarters of the sectors of naive": sectors("online") == 3 / 4 * sectors("naive"),
    "from DRAM it reads two thirds of the bytes": close(read_times("online") / read_times("naive"), 2 / 3, 0.02),
    "online executes a quarter more per element": close(
        counted("online").instructions_per_element / counted("naive").instructions_per_element, 1.25, 0.02
    ),
    "its warps wait less for loads and more than twice as much for their own results": (
        counted("online").stalls["long_scoreboard"] < 0.9 * counted("naive").stalls["long_scoreboard"]
        and counted("online").stalls["wait"] > 2 * counted("naive").stalls["wait"]
    ),
    "The passes add up to their kernels within 3 %": all(
        close(sum(alone(name, i) for i in range(passes)), us(name), 0.03) for name, passes in (("naive", 3), ("online", 2))
    ),
    "The new pass takes 90 % of the two that it replaces": f"The new pass takes {100 * alone('online', 0) / two_passes():.0f} % of the two that it replaces",
    "of what the maximum took, 28 % is saved": f"of what the maximum took, {100 * (two_passes() - alone('online', 0)) / alone('naive', 0):.0f} % is saved",
    "the new pass takes 3 % longer than the two": f"the new pass takes {100 * (alone('online', 0, 32769) / two_passes(32769) - 1):.0f} % longer than the two",
    "Every batch of 4 loads waits for memory there, where on aligned rows every second one does; a batch of 16 waits in either case": [
        waiting(cols, batch) for cols, batch in ((32769, 4), (COLS, 4), (32769, 16), (COLS, 16))
    ] == [1, 1 / 2, 1, 1],
    "naive's sum takes a third longer and its maximum doesn't": close(alone("naive", 1, 32769) / alone("naive", 1), 4 / 3, 0.04),
    "In all, online is no faster there": all(us("online", cols) > 0.99 * us("naive", cols) for cols in ANYWHERE),
    "with 32,772 columns it's 3 % slower": f"with 32,772 columns it's {100 * (us('online', 32772) / us('naive', 32772) - 1):.0f} % slower",
    "By the passes alone online would save its 10 % here too": close(alone("online", 0, SHORT) / two_passes(SHORT), 0.9, 0.01),
    "most of the matrix, 34 MB, in L2, which holds 63": f"most of the matrix, {4 * ROWS * SHORT / 1e6:.0f} MB, in L2, which holds {recorded.l2_bytes / 1e6:.0f}",
    "naive reads it from memory 1.4 times, not 3": f"naive reads it from memory {read_times('naive', SHORT):.1f} times, not 3",
    "Its sum takes two thirds of what it takes alone": close(sum_in_naive(SHORT) / alone("naive", 1, SHORT), 2 / 3, 0.05),
    "less than what online adds to the first pass": sum_in_naive(SHORT) < alone("online", 0, SHORT) - alone("naive", 0, SHORT),
    "and reads no less from memory": read_times("online", SHORT) > read_times("naive", SHORT),
    "in a matrix that L2 holds": recorded.l2_bytes > 4 * 128 * 50257,
    "L1 takes 32 cycles for a load that touches 32 lines and 64 for a store": f"L1 takes {load:.0f} cycles for a load that touches 32 lines and {store:.0f} for a store",
    "3 × 32 + 64 = 160 cycles for naive and 128 for online: 1.25x": f"3 × {load:.0f} + {store:.0f} = {3 * load + store:.0f} cycles for naive and {2 * load + store:.0f} for online: {promised:.2f}x",
    "the gain is within 5 % of that": all(
        close(us("naive", block_size=size) / us("online", block_size=size), promised, 0.05) for size in CROWDED
    ),
    "online asks for two thirds of the sectors": 3 * counted("online").counters["global_load_sectors"] == 2 * counted("naive").counters["global_load_sectors"],
}  # fmt: skip
