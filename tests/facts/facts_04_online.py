"""What chapter 4, its evidence and the page on misaligned rows state: each phrase as the record, a counter or machine code has it."""

from facts.recorded_facts import COLS, ROWS, close, counted, edited, scattered_cycles, us

from softmax_lib import check, hardware, recorded, xray
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
    text = edited(kernels["online"].source.text, (old, new))
    result = check(text, lengths=(1, 31, 127, 1000, 4096))
    return len(result.attempts), len(result.wrong), result.wrong[0].row_name


FACTS = {
    "1 % of a copy's speed and reads each row three times": kernels["naive"].traffic(COLS) == (3, 1)
    and f"{100 * times['naive'].copy_share:.0f}" == "1",
    "{:.3f} × {:.3f} + {:.0f} makes {:.3f}".format(*(orders[0][2].old_sum, orders[0][2].correction, orders[0][2].term, orders[0][2].new_sum)): True,
    "end at the same 1.203": {f"{steps[-1].new_sum:.3f}" for steps in orders} == {"1.203"},
    "Which of them needs a correction at every score but the first, and which needs none?": [
        sum(step.rescales for step in steps) for steps in orders
    ] == [1, 3, 0],
    f"In a row of {COLS:,} random scores the maximum grows about {growths:.0f} times": True,
    "So it's two reads and a write, where naive has three reads and a write": (
        kernels["online"].traffic(COLS), kernels["naive"].traffic(COLS)
    ) == ((2, 1), (3, 1)),
    f"That's the report's {asked['bytes_asked'] / (4 * 64 * 4096):.3g} times the matrix": True,
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
    f"the worklog measured {cited:.2f}x on a {recorded.cited.gpu}": True,
    '"1.05x": 1.05': close(us("naive") / us("online"), 1.05, 0.01),
    "Rows of 32,769 gain nothing": us("online", 32769) > 0.99 * us("naive", 32769),
    "and 1,024 short ones lose": all(us("online", cols) > 1.05 * us("naive", cols) for cols in (512, 1024, 2048, 4096, SHORT)),
    "that's more than the accesses alone explain": cited > 4 / 3,
    "naive's pass for the maximum is the shortest by far": alone("naive", 0) < 0.6 * min(alone("naive", 1), alone("naive", 2)),
    f"takes {alone('online', 0) / 1e3:.1f} ms, {alone('online', 0) / alone('naive', 1):.1f}x as long as the sum's {alone('naive', 1) / 1e3:.1f}": True,
    f"The maximum's {alone('naive', 0) / 1e3:.1f} ms are saved, {(alone('online', 0) - alone('naive', 1)) / 1e3:.1f} come back": True,
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
    f"the {recorded.gpu.split()[-1]} has {recorded.multiprocessors} SMs": True,
    "Seven times as long, not 32": close(us("online", block_size=1024) / us("online"), 7, 0.05),
    f"every access counts: online is {at_1024:.2f}x as fast as naive": True,
    f"near the {3 * load + store:.0f} to {2 * load + store:.0f} cycles that L1 takes for their accesses, {promised:.2f}x": True,
    "A quarter fewer accesses save 5 % of the time on long aligned rows": [
        f"{100 * (1 - us('online', cols) / us('naive', cols)):.0f}" for cols in (16384, COLS, 65536, 131072)
    ] == 4 * ["5"],
    "each load touches 32 sectors, where four would do": counted("online").counters["global_load_sectors"] == 32 * counted("online").counters["global_load_requests"],
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
    f"The new pass takes {100 * alone('online', 0) / two_passes():.0f} % of the two that it replaces": True,
    f"of what the maximum took, {100 * (two_passes() - alone('online', 0)) / alone('naive', 0):.0f} % is saved": True,
    f"the new pass takes {100 * (alone('online', 0, 32769) / two_passes(32769) - 1):.0f} % longer than the two": True,
    f"with 32,772 columns it's {100 * (us('online', 32772) / us('naive', 32772) - 1):.0f} % slower": True,
    "By the passes alone online would save its 10 % here too": close(alone("online", 0, SHORT) / two_passes(SHORT), 0.9, 0.01),
    f"most of the matrix, {4 * ROWS * SHORT / 1e6:.0f} MB, in L2, which holds {recorded.l2_bytes / 1e6:.0f}": True,
    f"naive reads it from memory {read_times('naive', SHORT):.1f} times, not 3": True,
    "Its sum takes two thirds of what it takes alone": close(sum_in_naive(SHORT) / alone("naive", 1, SHORT), 2 / 3, 0.05),
    "less than what online adds to the first pass": sum_in_naive(SHORT) < alone("online", 0, SHORT) - alone("naive", 0, SHORT),
    "and reads no less from memory": read_times("online", SHORT) > read_times("naive", SHORT),
    "in a matrix that L2 holds": recorded.l2_bytes > 4 * 128 * 50257,
    f"3 × {load:.0f} + {store:.0f} = {3 * load + store:.0f} cycles for naive and {2 * load + store:.0f} for online: {promised:.2f}x": True,
    "the gain is within 5 % of that": all(close(us("naive", block_size=size) / us("online", block_size=size), promised, 0.05) for size in CROWDED),
    "online asks for two thirds of the sectors": 3 * counted("online").counters["global_load_sectors"] == 2 * counted("naive").counters["global_load_sectors"],
}  # fmt: skip

LENGTHS = (COLS, 32769, 32770, 32772, 32776, 32800)
steps = kernels["naive_passes"].steps
passes = {cols: [us("naive_passes", cols, step=step.entry) for step in steps] for cols in LENGTHS}
longer = [b / a for a, b in zip(passes[COLS], passes[32769], strict=True)]
naive = {cols: us("naive", cols) for cols in LENGTHS}
levels = hardware().levels
short, long_ = (counted("naive", cols) for cols in (COLS, 32769))
taken, waited = (
    long_.counters["duration_ns"] * long_share - short.counters["duration_ns"] * short_share
    for long_share, short_share in ((1, 1), (long_.stalls["long_scoreboard"], short.stalls["long_scoreboard"]))
)  # fmt: skip


def percent(new, old=1):
    """By how many per cent one is off the other."""
    return f"{100 * abs(new / old - 1):.0f} %"


def at_one_place(cols):
    """Lanes whose floats have the same place in their lines."""
    return max(sum((row * cols - at) % 32 == 0 for row in range(32)) for at in range(32))


def new_sectors(cols):
    """Lanes that come to a new sector, load by load."""
    return [sum((row * cols + col) % 8 == 0 for row in range(32)) for col in range(8)]


fewer_and_faster = [passes[cols][0] for cols in (32772, 32776, COLS)]

FACTS_BATCHES = {
    f"makes chapter 3's naive {percent(naive[32769], naive[COLS])} slower": True,
    "though DRAM reads no more": close(long_.counters["dram_read_bytes"], short.counters["dram_read_bytes"], 0.01),
    f"{levels['DRAM'].cycles:.0f} cycles if that's DRAM": True,
    f"The next seven floats are in L1, {levels['L1'].cycles:.0f} cycles away": True,
    "All lanes come to a new one in the same load, and the next seven loads ask memory for nothing": new_sectors(COLS) == [32] + [0] * 7,
    "four lanes come to a new sector in every load": set(new_sectors(32769)) == {4},
    "32,769, 32,770 and 32,772. The others": [cols for cols in LENGTHS if waiting(cols, 4) == 1] == [32769, 32770, 32772],
    "every second batch is served by L1": {waiting(cols, 4) for cols in (COLS, 32776, 32800)} == {0.5},
    "batches of 16 in the first pass, and of 4 in the other two": batches("naive") == [16, 4, 4],
    "A batch of 16 spans two sectors, so the maximum always waits": {waiting(cols, 16) for cols in LENGTHS} == {1},
    f"the sum takes {percent(longer[1])} longer and the write {percent(longer[2])}": True,
    "32,770 and 32,772 are as bad, within 3 %": all(
        close(passes[cols][step], passes[32769][step], 0.03) for cols in (32770, 32772) for step in (1, 2)
    ),
    "more than 90 % of the extra time is waiting for loads": waited > 0.9 * taken,
    f"would take {2 * levels['DRAM'].cycles / (levels['DRAM'].cycles + levels['L1'].cycles):.1f}x as long as one that waits every second time": True,
    "L1 has as many of the sectors": close(long_.l1_hit_share, short.l1_hit_share, 0.002),
    "with 32,800 columns every pass takes as long": all(close(a, b, 0.02) for a, b in zip(passes[32800], passes[COLS], strict=True)),
    f"The maximum gets faster, by {percent(longer[0])}": True,
    f"all three passes beat 32,768, and naive takes {percent(naive[32776], naive[COLS])} less": all(a < 0.95 * b for a, b in zip(passes[32776], passes[COLS], strict=True)),
    "all 32 with 32,768 columns, eight with 32,776, and one with 32,769": [at_one_place(of) for of in (COLS, 32776, 32769)] == [32, 8, 1],
    "The more, the slower the maximum": max(passes[of][0] for of in LENGTHS[1:4]) < 1.03 * passes[32769][0]
    and 1.05 * fewer_and_faster[0] < fewer_and_faster[1] < 0.9 * fewer_and_faster[2],
    f"keep L1 busy for {scattered_cycles()[0]:.0f} cycles": True,
    "Of these six lengths, 32,776 is naive's fastest": min(naive, key=naive.get) == 32776,
    f"shared takes {percent(us('shared', 32769), us('shared'))} longer, float4 {percent(us('float4', 32769), us('float4'))}": True,
}  # fmt: skip
