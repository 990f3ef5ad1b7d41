"""Pictures of what emulated kernels did, drawn as SVG: listings, margins, requests, timelines, steppers."""

from softmax_lib.drawings.agreement_table import agreement
from softmax_lib.drawings.listings import diff, source
from softmax_lib.drawings.margins import margin, totals
from softmax_lib.drawings.matrix_rows import threads
from softmax_lib.drawings.sectors import first_request, requests
from softmax_lib.drawings.steppers import online, shuffle, tree
from softmax_lib.drawings.timelines import timeline
from softmax_lib.drawings.wavefronts import banks

__all__ = [
    "agreement",
    "banks",
    "diff",
    "first_request",
    "margin",
    "online",
    "requests",
    "shuffle",
    "source",
    "threads",
    "timeline",
    "totals",
    "tree",
]
