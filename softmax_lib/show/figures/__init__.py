"""Figures of what was measured, drawn by matplotlib; each says where its numbers come from.

Every function here but `over_records`, which shows what they draw for every GPU with a record,
returns a `Figure`: a matplotlib figure with a text alternative in `.alt`, which shows itself in a
notebook and is drawn the same, byte for byte, each time.
"""

from softmax_lib.show.figures.controls import gains, time_by_rows
from softmax_lib.show.figures.gpu_switch import over_records
from softmax_lib.show.figures.in_flight import bytes_in_flight
from softmax_lib.show.figures.ledger import traffic_ledger
from softmax_lib.show.figures.sweeps import bandwidth_by_cols
from softmax_lib.show.figures.times import ladder
from softmax_lib.suites.lies.figure import lie
from softmax_lib.suites.look import Figure
from softmax_lib.suites.model.figure import in_a_model
from softmax_lib.suites.peers.figure import beside_peers
from softmax_lib.suites.phases.figure import reads_and_writes
from softmax_lib.suites.rmsnorm.figure import rmsnorm_roof
from softmax_lib.suites.tiles.figure import tiles_by_cols
from softmax_lib.suites.topk.figure import fused_topk, topk_by_k
from softmax_lib.suites.unroll.figure import time_by_bytes_asked, unroll_map
from softmax_lib.suites.warps.figure import lanes_map, time_by_blocks
from softmax_lib.suites.warps.plane import plane_of_kernels

__all__ = [
    "Figure",
    "bandwidth_by_cols",
    "beside_peers",
    "bytes_in_flight",
    "fused_topk",
    "gains",
    "in_a_model",
    "ladder",
    "lanes_map",
    "lie",
    "over_records",
    "plane_of_kernels",
    "reads_and_writes",
    "rmsnorm_roof",
    "tiles_by_cols",
    "time_by_blocks",
    "time_by_bytes_asked",
    "time_by_rows",
    "topk_by_k",
    "traffic_ledger",
    "unroll_map",
]
