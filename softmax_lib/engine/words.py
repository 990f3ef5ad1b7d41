"""How numbers and words are written in sentences, pictures and tables."""

import difflib
import re
from collections.abc import Iterable

PAGE_WIDTH = 72
"""Characters of a line that a page shows whole."""


LONGEST_WORD = 60
"""Characters of a word in a sentence; no name of a kernel's comes near it."""


def count(number: int, thing: str, several: str = "") -> str:
    """Such as "1 line", "4 lines"; `several` where that is no "s" more: "4 launches"."""
    return f"{number} {plural(number, thing, several)}"


def plural(number: float, thing: str, several: str = "") -> str:
    """The thing that there is a `number` of: "line" of 1, else "lines", or what `several` says."""
    return thing if number == 1 else several or f"{thing}s"


def element(name: str, offset: int, element_bytes: int, bytes_: int) -> str:
    """What lies so many bytes behind the start of an array: "part[8], past the end of its 8 elements"."""
    index, rest = divmod(offset, element_bytes)
    place = f"{name}[{index}]" + (f" + {rest} bytes" if rest else "")
    if 0 <= offset < bytes_:
        return place
    side = "before the start" if offset < 0 else "past the end"
    return f"{place}, {side} of its {bytes_ // element_bytes} elements"


def cut_long_words(text: str) -> str:
    """`text` with dots in place of the end of each word of more than `LONGEST_WORD` characters."""
    return re.sub(rf"(\S{{{LONGEST_WORD}}})\S+", r"\1...", text)


def hint(name: str, known: Iterable[str]) -> str:
    """What was meant by a `name` that is not among those `known`: the nearest three, or all there are."""
    there = list(known)
    near = difflib.get_close_matches(name, there, n=3, cutoff=0.4)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(there)}."


def time_in_words(time_us: float) -> str:
    """Three digits and a unit: "65.1 µs", "10.4 ms"."""
    rounded = float(f"{time_us:.3g}")
    value, unit = (time_us, "µs") if rounded < 1000 else (time_us / 1000, "ms")
    digits = len(str(int(float(f"{value:.3g}"))))
    return f"{value:.{max(0, 3 - digits)}f} {unit}"


def bytes_in_words(number: int, digits: int = 4) -> str:
    """Digits and a unit of powers of ten: "512 B", "402.7 MB"."""
    for power, unit in ((9, "GB"), (6, "MB"), (3, "kB")):
        if number >= 10**power:
            return f"{number / 10**power:.{digits}g} {unit}"
    return f"{number} B"


def percent(share: float) -> str:
    """A share in whole percent, in one piece: "41 %"."""
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def short_number(number: int) -> str:
    """Whole up to 9,999, above it three digits: "8,192", "24.6 K", "101 M"."""
    for power, unit in ((9, "G"), (6, "M"), (3, "K")):
        if number >= max(10**power, 10**4):
            return f"{number / 10**power:.3g} {unit}"
    return f"{number:,}"


def without_colours(text: str) -> str:
    """`text` without the escape sequences by which a compiler colours it in a terminal."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)
