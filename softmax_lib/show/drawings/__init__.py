"""Pictures of what emulated kernels did, drawn as SVG: listings, margins, requests, timelines, steppers."""

from softmax_lib.engine.lazy import attach

_STEPPERS = (
    "banks", "climb", "coalescing", "in_flight", "lists", "loads_together", "memory_or_arithmetic", "online",
    "ranks", "row_lanes", "row_shares", "rows_or_columns", "shuffle", "tile", "tree", "trips",
)  # fmt: skip

__getattr__, __dir__ = attach(__name__, __file__, dict.fromkeys(_STEPPERS, "ipywidgets"))
