"""What chapter 15 and its evidence state: each phrase as cells, the package or the record have it, or whether it holds."""

from softmax_lib import sharded_times
from softmax_lib.distributed.rooms import SETS, SLOT_BYTES

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
bits = [one.bits for one in sharded_times(operator="softmax", ranks=2)]
alone = cell(ranks=1).us
machinery = alone["softmax_lib"] - alone["softmax() of the shard"]

FACTS = {
    "two words of 8 bytes": SLOT_BYTES == 2 * 8,
    "That's eight trips": sum(TRIPS.values()) == 8,
    "we'd still pay for four copies": sum(TRIPS.values()) == 2 * 4,
    "Why two sets of slots": SETS == 2,
    f"{100 * (long['softmax_lib'] / copy_us - 1):.0f} % slower than the copy": True,
    f"{long['all-reduces'] / copy_us:.1f}x as long as copying it": True,
    f"takes {long['all-reduces']:,.0f} µs, and {untold:,.0f} without them": True,
    f"as long as {untold / copy_us:.1f} copies": True,
    f"One kernel takes {long['softmax_lib']:.0f} µs, and gathering the rows {long['gathered']:,.0f}": True,
    f"the exchange is {100 * (1 - few['all-reduces left out'] / few['all-reduces']):.0f} % of the time": True,
    f"takes {loss['softmax_lib'] / loss['liger']:.1f}x as long as Liger's": True,
    f"compared {len(bits)} matrices, and the bits are the same": set(bits) == {"same"},
    f"the time of {long['all-reduces'] / copy_us:.1f} copies against {long['softmax_lib'] / copy_us:.1f}": True,
    f"takes {alone['softmax_lib']:.0f} µs for 4,096 × 32,768 floats": True,
    f"takes {alone['softmax() of the shard']:.0f}: dealing out rows and meeting in slots cost {machinery:.0f} µs": True,
    f"A second GPU adds {long['softmax_lib'] - alone['softmax_lib']:.0f}": True,
    f"floats take {slow[0][ODD]:.1f}x as long as on one": round(slow[1][ODD] - slow[0][ODD], 1)
    == 0,
    f"at most {max(x for of in slow for key, x in of.items() if key != ODD):.1f}x": True,
    f"{min(losses):,.0f} to {max(losses):,.0f} µs whatever their length": True,
}
