"""The kernels of broken_kernels.cu and sound_kernels.cu, one source each, and what is expected of an x-ray of each."""

import re
from dataclasses import dataclass
from pathlib import Path

from emulated import kernel_of

from softmax_lib import xray
from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.hazards import Hazard

_KERNEL = re.compile(
    r"^(?:DEVICE\((?P<device>[^\n]*)\)\n)?KERNEL\((?P<name>\w+)\) \{(?: *// (?P<how>[^\n]*))?\n(?P<body>.*?)^\}$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"//! (.*)$")
_HOW = re.compile(r"(rows|cols|block) (\d+)")
SHAPE = {"rows": 4, "cols": 512, "block": 128}


@dataclass(frozen=True)
class Written:
    """One of those kernels. `marks` are line, kind, and whether the x-ray must find it, of each hazard."""

    name: str
    source: Source
    shape: dict[str, int]
    marks: tuple[tuple[int, str, bool], ...]

    def hazards(self) -> tuple[Hazard, ...]:
        """What an x-ray finds in it."""
        shape = (self.shape[name] for name in ("rows", "cols", "block"))
        return xray(self.source, *shape, path="written").hazards


def read_kernels(file_name: str) -> dict[str, Written]:
    """By name: what the file of this name among the tests of x-rays holds."""
    text = (Path(__file__).parent / "xrays" / file_name).read_text()
    found = {}
    for match in _KERNEL.finditer(text):
        before = f"__device__ {match['device']}\n" if match["device"] else ""
        source = kernel_of(match["body"], f"{match['name']}.cu", before)
        marks = [
            (line, kind.rstrip("?"), not kind.endswith("?"))
            for line, content in enumerate(source.text.splitlines(), 1)
            if (mark := _MARK.search(content))
            for kind in mark[1].split(", ")
        ]
        shape = SHAPE | {key: int(number) for key, number in _HOW.findall(match["how"] or "")}
        found[match["name"]] = Written(match["name"], source, shape, tuple(marks))
    assert len(found) == text.count("\nKERNEL(")
    return found
