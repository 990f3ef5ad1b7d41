"""How long a launch may go on while none of its threads comes to its end."""

from __future__ import annotations

import os

from softmax_lib.engine.errors import BadInput

WATCHDOG_VARIABLE = "SOFTMAX_LIB_WATCHDOG_S"
WATCHDOG_S = 10.0
"""Seconds without any CUDA thread finishing after which a launch counts as hanging."""


def watchdog_s() -> float:
    """Seconds until a launch counts as hanging: $SOFTMAX_LIB_WATCHDOG_S or 10."""
    given = os.environ.get(WATCHDOG_VARIABLE, "")
    try:
        return float(given) if given else WATCHDOG_S
    except ValueError:
        raise BadInput(f"{WATCHDOG_VARIABLE} is {given!r}; it takes a number of seconds.") from None
