"""What chapter 15 and its evidence state: each phrase as cells, the package or the record have it, or whether it holds."""

from softmax_lib import sharded_times
from softmax_lib.distributed.rooms import SETS, SLOT_BYTES

GPUS, COLS = 4, 131072
SHARD_BYTES = 4 * COLS // GPUS
TRIPS = {"amax": 1, "x - top": 2, "exp_": 2, "sum": 1, "div_": 2}
"""Of a shard, by each line of the eager form."""


def cell(operator="softmax", ranks=2, rows=4096):
    """All that was timed on shards of 32,768 floats."""
    (found,) = sharded_times(operator=operator, ranks=ranks, rows=rows, cols=32768, dtype="float32")
    return found


def on_two_over_one(operator):
    """Our time on two GPUs over that on one, by rows, columns and dtype."""
    us = {(one.ranks, one.rows, one.cols, one.dtype): one.us["softmax_lib"] for one in sharded_times(operator=operator)}  # fmt: skip
    return {key[1:]: time / us[1, *key[1:]] for key, time in us.items() if key[0] == 2}


long, few, loss = cell().us, cell(rows=64).us, cell("cross_entropy").us
copy_us = cell().copy_us
untold = long["all-reduces left out"]
slow = [on_two_over_one(operator) for operator in ("topk", "log_probabilities")]
ODD = 4096, 32768, "float32"
losses = [one.us["softmax_lib"] for one in sharded_times(operator="cross_entropy", rows=64)]
bits = [one.bits for one in sharded_times(operator="softmax")]

FACTS = {
    f"{(GPUS - 1) * SHARD_BYTES // 1024} KB from the others on each GPU": True,
    f"{SLOT_BYTES} bytes per row and rank": True,
    "That's eight trips": sum(TRIPS.values()) == 8,
    "we've paid for four copies": sum(TRIPS.values()) == 2 * 4,
    "Two sets, by turns": SETS == 2,
    f"{100 * (long['softmax_lib'] / copy_us - 1):.0f} % slower than a copy of the shard": True,
    f"two all-reduces take {long['all-reduces'] / copy_us:.1f}x as long as the copy": True,
    f"takes {long['all-reduces']:,.0f} µs there": True,
    f"it still takes {untold:,.0f}: the exchange is {100 * (1 - untold / long['all-reduces']):.0f} %": True,
    f"as long as {untold / copy_us:.1f} copies": True,
    f"One kernel takes {long['softmax_lib']:.0f} µs, and gathering the rows {long['gathered']:,.0f}": True,
    f"the exchange is {100 * (1 - few['all-reduces left out'] / few['all-reduces']):.0f} % of the eager": True,
    f"takes {loss['softmax_lib'] / loss['liger']:.1f}x as long as Liger's kernel": True,
    f"On all {len(bits)} matrices that we timed the bits are the same": set(bits) == {"same"},
    f"{long['all-reduces'] / copy_us:.1f} copies' time, or {long['softmax_lib'] / copy_us:.1f}": True,
    f"floats take {slow[0][ODD]:.1f}x as long as on one": round(slow[1][ODD] - slow[0][ODD], 1)
    == 0,
    f"at most {max(x for of in slow for key, x in of.items() if key != ODD):.1f}x": True,
    f"{min(losses):,.0f} to {max(losses):,.0f} µs whatever their length": True,
}
