"""The kernels of broken_kernels.cu and sound_kernels.cu, one source each, and what is expected of an x-ray of each."""

import re
from dataclasses import dataclass
from pathlib import Path

from emulated import kernel_of

from softmax_lib import xray
from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.hazards import Hazard

_KERNEL = re.compile(
    r"^(?:DEVICE\((?P<device>[^\n]*)\)\n)?KERNEL\((?P<name>\w+)(?:, (?P<sound>\w+))?\) \{(?: *// (?P<how>[^\n]*))?\n(?P<body>.*?)^\}$",
    re.MULTILINE | re.DOTALL,
)
_EITHER = re.compile(r"@([^@|]*)\|?([^@]*)@")
"""What the sound one of two kernels has, and what the broken one."""
_MARK = re.compile(r"//! (.*)$")
_HOW = re.compile(r"(rows|cols|block) (\d+)")
_WRONG = re.compile(r"(\w+check) is wrong")
SHAPE = {"rows": 4, "cols": 512, "block": 128}


@dataclass(frozen=True)
class Written:
    """One of those kernels. `marks` are line, kind, and whether the x-ray must find it, of each hazard.

    Tools of compute-sanitizer that are `wrong` report a hazard of it though it is sound.
    """

    name: str
    source: Source
    shape: dict[str, int]
    marks: tuple[tuple[int, str, bool], ...]
    wrong: tuple[str, ...]

    def hazards(self) -> tuple[Hazard, ...]:
        """What an x-ray finds in it."""
        shape = (self.shape[name] for name in ("rows", "cols", "block"))
        return xray(self.source, *shape, path="written").hazards


def read_kernels() -> tuple[dict[str, Written], dict[str, Written]]:
    """By name: the broken ones and the sound ones."""
    broken, sound = {}, {}
    for file_name, found in (("broken_kernels.cu", broken), ("sound_kernels.cu", sound)):
        text = (Path(__file__).parent / "xrays" / file_name).read_text()
        for match in _KERNEL.finditer(text):
            found[match["name"]] = _read(match, match["name"], r"\2")
            if match["sound"]:
                sound[match["sound"]] = _read(match, match["sound"], r"\1")
        assert found.keys() >= {*re.findall(r"^KERNEL\((\w+)", text, re.MULTILINE)}
    return broken, sound


def _read(match: re.Match[str], name: str, which: str) -> Written:
    before = f"__device__ {match['device']}\n" if match["device"] else ""
    source = kernel_of(_EITHER.sub(which, match["body"]), f"{name}.cu", before)
    marks = [
        (line, kind.rstrip("?"), not kind.endswith("?"))
        for line, content in enumerate(source.text.splitlines(), 1)
        if (mark := _MARK.search(content))
        for kind in mark[1].split(", ")
    ]
    shape = SHAPE | {key: int(number) for key, number in _HOW.findall(match["how"] or "")}
    return Written(name, source, shape, tuple(marks), tuple(_WRONG.findall(match["how"] or "")))
