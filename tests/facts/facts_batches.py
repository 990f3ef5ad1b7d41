"""What the page on misaligned rows states: passes and kernels as they were timed, counted and compiled."""

from facts.facts_04_online import batches, waiting
from facts.recorded_facts import COLS, close, counted, scattered_cycles, us

from softmax_lib import hardware
from softmax_lib.worklog.registry import kernels

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

FACTS = {
    # the first screen and the idea
    "makes chapter 3's naive 20 % slower": f"makes chapter 3's naive {percent(naive[32769], naive[COLS])} slower",
    "though DRAM reads no more": close(long_.counters["dram_read_bytes"], short.counters["dram_read_bytes"], 0.01),
    "666 cycles if that's DRAM": f"{levels['DRAM'].cycles:.0f} cycles if that's DRAM",
    "The next seven floats are in L1, 40 cycles away": f"The next seven floats are in L1, {levels['L1'].cycles:.0f} cycles away",
    "All lanes come to a new one in the same load, and the next seven loads ask memory for nothing": new_sectors(COLS) == [32] + [0] * 7,
    "four lanes come to a new sector in every load": set(new_sectors(32769)) == {4},
    "32,769, 32,770 and 32,772. The others": [cols for cols in LENGTHS if waiting(cols, 4) == 1] == [32769, 32770, 32772],
    "every second batch is served by L1": {waiting(cols, 4) for cols in (COLS, 32776, 32800)} == {0.5},
    "batches of 16 in the first pass, and of 4 in the other two": batches("naive") == [16, 4, 4],
    # the guess
    "A batch of 16 spans two sectors, so the maximum always waits": {waiting(cols, 16) for cols in LENGTHS} == {1},
    # what batches explain
    "the sum takes 35 % longer and the write 26 %": f"the sum takes {percent(longer[1])} longer and the write {percent(longer[2])}",
    "32,770 and 32,772 are as bad, within 3 %": all(
        close(passes[cols][step], passes[32769][step], 0.03) for cols in (32770, 32772) for step in (1, 2)
    ),
    "more than 90 % of the extra time is waiting for loads": waited > 0.9 * taken,
    "would take 1.9x as long as one that waits every second time": f"would take {2 * levels['DRAM'].cycles / (levels['DRAM'].cycles + levels['L1'].cycles):.1f}x as long as one that waits every second time",
    "L1 has as many of the sectors": close(long_.l1_hit_share, short.l1_hit_share, 0.002),
    "with 32,800 columns every pass takes as long": all(close(a, b, 0.02) for a, b in zip(passes[32800], passes[COLS], strict=True)),
    # what they don't
    "The maximum gets faster, by 24 %": f"The maximum gets faster, by {percent(longer[0])}",
    "all three passes beat 32,768, and naive takes 11 % less": all(a < 0.95 * b for a, b in zip(passes[32776], passes[COLS], strict=True))
    and f"all three passes beat 32,768, and naive takes {percent(naive[32776], naive[COLS])} less",
    "all 32 with 32,768 columns, eight with 32,776, and one with 32,769": [at_one_place(of) for of in (COLS, 32776, 32769)] == [32, 8, 1],
    "The more, the slower the maximum": max(passes[of][0] for of in LENGTHS[1:4]) < 1.03 * passes[32769][0]
    and 1.05 * fewer_and_faster[0] < fewer_and_faster[1] < 0.9 * fewer_and_faster[2],
    "keep L1 busy for 32 cycles": f"keep L1 busy for {scattered_cycles()[0]:.0f} cycles",
    # what you can do
    "Of these six lengths, 32,776 is naive's fastest": min(naive, key=naive.get) == 32776,
    "shared takes 2 % longer, float4 4 %": f"shared takes {percent(us('shared', 32769), us('shared'))} longer, float4 {percent(us('float4', 32769), us('float4'))}",
}  # fmt: skip
