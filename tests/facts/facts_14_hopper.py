"""What chapter 14 and its evidence state: each phrase as the record or a counter has it, or whether it holds."""

from facts.recorded_facts import close, tie

from softmax_lib import cluster_times, hopper, recorded
from softmax_lib.ops.designs import Task
from softmax_lib.ops.xray import outline_of
from softmax_lib.show.drawings import row_shares
from softmax_lib.suites.clusters import FEW, LONG

LINE = (1024, 131072)
SM_SHARED = 227 * 1024


def best(who, matrix=LINE, **wanted):
    """The fastest of one on a matrix."""
    rows, cols = matrix
    return cluster_times(who=who, rows=rows, cols=cols, **wanted)[0]


def us(who, matrix=LINE, **wanted):
    return best(who, matrix, **wanted).us


def more(who, matrix=LINE, than="cluster"):
    """How much longer one takes than another, in per cent."""
    return 100 * (us(who, matrix) / us(than, matrix) - 1)


def at(who, cluster, size):
    return us(who, cluster=cluster, block_size=size)


def span(who):
    """The least and the most of `more` on long rows."""
    found = [more(who, matrix) for matrix in LONG]
    return f"{min(found):.0f} to {max(found):.0f} %"


def design(rows, cols):
    """What `softmax()` launches on an H200."""
    return outline_of(Task(rows, cols, "float32", "float32"), 1, 90)[0]


held = hopper["cluster"].setting(CLUSTER=1).max_cols(1024)
few, few_unroll = FEW[0], us("unroll", FEW[0])
settings = {cols: best("cluster", (1024, cols)) for cols in (32768, 65536, 131072)}
ahead = [100 * (at("tma", 8, size) / at("tma_loads", 8, size) - 1) for size in (256, 512, 1024)]
gap = us("unroll") - us("cluster")

FACTS = {
    f"runs at {100 * recorded.times(1024, 32768)['fusion'].copy_share:.0f} % of a copy's speed on rows of 32,768 floats": held == 32768,
    f"which reads each of them twice: {100 * best('float4').copy_share:.0f} %": True,
    f"with one block, {100 * (1 - held / LINE[1]):.0f} % of a row of 131,072 has to be read again. With four, nothing": LINE[1] == 4 * held and row_shares().choice == (131072, 1),
    "With the write it moves 1.6 GB, where a copy moves 1.07": [round(passes * 4 * LINE[0] * LINE[1] / 1e9, 2) for passes in (3, 2)] == [1.61, 1.07],
    f"costs {more('cluster_again'):.0f} %: {us('cluster_again') - us('cluster'):.0f} µs of the {gap:.0f} between cluster and unroll": True,
    f"Sending pairs through global memory costs {more('cluster_global'):.0f} %: {100 * (at('cluster_global', 8, 256) / at('cluster', 8, 256) - 1):.0f} % with 256 threads per block for both, and {100 * (at('cluster_global', 8, 512) / at('cluster', 8, 512) - 1):.0f} % with 512": True,
    "cost more than reading the share again": all(us("cluster_global", one) > us("cluster_again", one) for one in LONG),
    "softmax() gets there": best("softmax()").copy_share > 0.98 and design(*LINE).regime == "cluster",
    "one thread asks for the whole share, 128 KiB": 4 * LINE[1] // 4 == 128 * 1024,
    f"With 1,024 threads plain loads are even {100 * (at('tma', 4, 1024) / at('tma_loads', 4, 1024) - 1):.0f} % faster here": True,
    "on most other matrices TMA is ahead by a little": sum(0.96 < us("tma", one) / us("tma_loads", one) < 1 for one in (*LONG, *FEW) if one != LINE) == 4,
    f"beats both: {us('cluster', cluster=4):.0f} µs": us("cluster", cluster=4) < min(us("tma", cluster=4), us("tma_loads", cluster=4)) / 1.1,
    "2 blocks at 32,768 columns, 4 at 65,536, 8 at 131,072": [one.cluster for one in settings.values()] == [2, 4, 8],
    "a share of 16,384 floats, 32 for each of 512 threads": all((cols // one.cluster, one.block_size) == (16384, 512) for cols, one in settings.items()),
    "For cluster sixteen blocks are never ahead; at 262,144 columns they tie with eight": all(best("cluster", one).cluster < 16 for one in (*LONG, *FEW)) and tie(us("cluster", LONG[-1], cluster=16), us("cluster", LONG[-1], cluster=8)),
    f"16 rows with a block each leave {recorded.multiprocessors - 16} of the 132 SMs idle": recorded.multiprocessors == 132,
    f"eight blocks per row are {few_unroll / us('cluster', few):.1f}x as fast as unroll, and even ahead of softmax()": best("cluster", few).cluster == 8 and us("softmax()", few) > 1.05 * us("cluster", few),
    f"one read, {us('unroll') / us('cluster'):.2f}x as fast as two": True,
    f"Through global memory that takes {more('cluster_global'):.0f} % longer": True,
    "A kernel with enough threads doesn't need it": all(us("tma_loads", one) < 1.03 * us("tma", one) for one in LONG),
    f"cluster_again takes {span('cluster_again')} longer than cluster, and cluster_global {span('cluster_global')}": True,
    f"16 blocks of 1,024 threads have 512, each pair lies in a sector of its own, every warp looks at all of them, and one launch on 1024 × 131072 takes {at('cluster_global', 16, 1024) / 1000:.1f} ms": 16 * 1024 // 32 == 512,
    "a cluster of two ties with it there": tie(us("fusion_aligned", LONG[0]), us("cluster", LONG[0], cluster=2)),
    "On 16 rows it gains most": few_unroll / us("cluster", few) > max(us("unroll", one) / us("cluster", one) for one in (*LONG, FEW[1])),
    "takes clusters on the first four matrices, 16 blocks of 256 threads at 1024 × 131072": all(design(*one).regime == "cluster" for one in LONG) and (design(*LINE).team, design(*LINE).threads) == (16, 256),
    f"There it takes {100 * (1 - us('softmax()') / us('cluster')):.0f} % less than cluster": True,
    "tma takes the same time with 256 threads as with 512, and 4 % more with 1,024": close(at("tma", 4, 256), at("tma", 4, 512)) and round(100 * (at("tma", 4, 1024) / at("tma", 4, 256) - 1)) == 4,
    "tma_loads needs all 1,024 to keep up": at("tma_loads", 4, 512) > 1.1 * at("tma", 4, 512) and at("tma_loads", 4, 1024) < at("tma", 4, 1024),
    f"of which an SM has room for three, plain loads are ahead by {min(ahead):.0f} to {max(ahead):.0f} %": SM_SHARED // (hopper["tma"].shared_bytes(LINE[1]) + 3072) == 3,
}  # fmt: skip
