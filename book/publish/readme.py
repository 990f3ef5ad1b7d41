"""What the README has of the book: chapters, results from the record, pictures. `make readme` writes it."""

from __future__ import annotations

import re
import sys
import textwrap
from collections import Counter
from itertools import product
from pathlib import Path

import yaml
from address import ROOT, Address
from glossary import markdown_of
from jinja2 import Environment
from marks import rewrite

from softmax_lib.engine.caches import replace_file
from softmax_lib.engine.source import Source
from softmax_lib.records.measurement import LABELS, Case, Measurement
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import recorded
from softmax_lib.show.figures import ladder
from softmax_lib.suites.conform.record import FAULTS, conform_rows
from softmax_lib.suites.conform.record import OURS as OUR_OPERATORS
from softmax_lib.suites.model.record import ONE_PASS, OURS, Text, texts
from softmax_lib.suites.peers.record import MANY, Contest, contests, mean_gain
from softmax_lib.suites.plan import WORKLOG
from softmax_lib.widgets.views import draw
from softmax_lib.worklog.errors import BadInput, SoftmaxLibError
from softmax_lib.worklog.registry import kernels, rungs
from softmax_lib.worklog.xray import xray

BOOK = ROOT / "book"
README = ROOT / "README.md"
CHART = BOOK / "static" / "ladder.svg"


def chapters() -> str:
    """The pages of the book by their titles, a line for each part, as Markdown."""
    address = Address.read()
    toc = yaml.safe_load((BOOK.parent / "_toc.yml").read_text(encoding="utf-8"))
    lines = []
    for part in toc["parts"]:
        links = []
        for chapter in part["chapters"]:
            name = Path(chapter["file"]).stem
            number = name.partition("_")[0].lstrip("0") + " " if part.get("numbered") else ""
            links.append(f"[{number}{_title(name)}]({address.page(name)})")
        lines.append(f"- **{part['caption']}:** {' · '.join(links)}")
    return "\n".join(lines)


def _title(name: str) -> str:
    """A page's heading."""
    text = markdown_of(next(BOOK.glob(f"{name}.*")))
    return text.partition("\n")[0].removeprefix("# ").strip()


def results(record: Record) -> str:
    """Chart, table and provenance as Markdown: rungs and peers on the worklog's shape."""
    rows, cols = WORKLOG
    times = record.times(rows, cols)
    naive = record.find(Case("naive", rows, cols))
    ours = [times[kernel.name] for kernel in rungs() if kernel.name in times]
    waiting = record.unmeasured(kernel.name for kernel in rungs())
    peers = [timing for name, timing in times.items() if name not in kernels]
    others = sorted(peers, key=lambda timing: -timing.median_us)
    shown = ours + others
    alt = ladder(rows, cols, gpu=record.gpu).alt
    lines = [
        f"![{alt}]({CHART.relative_to(ROOT).as_posix()})",
        "",
        f"| {rows:,} × {cols:,}, float32 | time | GB/s | of a copy's speed | times as fast as naive |",
        "|---|---:|---:|---:|---:|",
        *(_line(timing, naive) for timing in ours),
        *(f"| **{name}** | not yet measured | | | |" for name in waiting),
        *(_line(timing, naive) for timing in others),
        _cells("a copy", shown[0].copy_us, shown[0].copy_gb_per_s, 1, naive),
        "",
        f"{_beside_peers(contests(record.gpu))} {_in_a_model(texts(record.gpu))}{_asked(record.gpu)}",
        "",
        f"{_sources(shown)}, with {record.versions(times)}. Medians of CUDA graph replays, cold L2; GB/s counts one "
        "read and one write. Made by `make readme` from `book/measurements`.",
    ]
    return "\n".join(lines)


def _beside_peers(found: list[Contest]) -> str:
    """How `softmax()` does on every matrix on which it was timed with its peers."""
    count = Counter(one.verdict for one in found)
    forward, backward, hard_forward, hard_backward = (
        f"{mean_gain([one for one in found if one.direction == direction], dedicated):.2f}x"
        for dedicated, direction in product((0, MANY), ("forward", "backward"))
    )
    return (
        f"The package's own `softmax()` was timed beside its peers on {len(found)} matrices: ahead of the best of them by "
        f"more than 1 % on {count['ahead']}, level on {count['level']}, behind on {count['behind']}; {forward} as fast forward "
        f"and {backward} backward (geometric means), and where {MANY} dedicated kernels or more ran {hard_forward} and {hard_backward}."
    )


def _in_a_model(found: list[Text]) -> str:
    """What `softmax()` gains in a small transformer."""

    def gains(name: str) -> str:
        some = [text.gain[name] for text in found]
        return f"{min(some):.2f}x to {max(some):.2f}x"

    return (
        f"In a small transformer, `patch_torch()` brings {gains(OURS)} the tokens per second of torch's softmax, and "
        f"{gains(ONE_PASS)} with attention's scale and mask in the same pass."
    )


def _asked(gpu: str) -> str:
    """How our operators answer `softmax-lib conform`, where that was run."""
    try:
        found = [(row.kind, *one) for row in conform_rows(gpu) for one in row.found.items()]
    except BadInput:
        return ""
    ours = Counter(verdict for _, name, verdict in found if name in OUR_OPERATORS)
    failed = sum(ours[fault] for fault in FAULTS)
    dependent = dict.fromkeys(
        LABELS.get(name, name) for kind, name, verdict in found if kind.startswith("bits") and verdict == "wrong"
    )  # fmt: skip
    return (
        f" Asked {ours.total():,} times what torch's softmax can do (`softmax-lib conform`), ours give torch's answer "
        f"{ours['holds']:,} times, refuse {ours['refused']:,} times in a sentence, and fail {failed or 'never'}"
        f"{' times' * bool(failed)}; a row's bits depend on the batch in {', '.join(dependent) or 'none'}."
    )


def _line(timing: Measurement, naive: Measurement) -> str:
    provider = timing.case.provider
    name = f"**{provider}**" if provider in kernels else LABELS.get(provider, provider)
    name += " \\*" if timing.stale else ""
    return _cells(name, timing.median_us, timing.gb_per_s, timing.copy_share, naive)


def _cells(name: str, us: float, gb_per_s: float, share: float, naive: Measurement) -> str:
    return f"| {name} | {us:.1f} µs | {gb_per_s:.0f} | {100 * share:.0f} % | {naive.median_us / us:.1f} |"


def _sources(shown: list[Measurement]) -> str:
    sources = {timing.source: timing.stale for timing in shown}
    words = "; ".join(f"\\* {source}" if stale else source for source, stale in sources.items())
    return words[:1].upper() + words[1:]


def chart(record: Record) -> str:
    """The ladder as the text of an SVG file."""
    svg = draw(
        ladder(*WORKLOG, gpu=record.gpu), "svg", {"Date": None, "Creator": None}, facecolor="white"
    ).decode()
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


# ---- the picture that moves: a barrier is taken out of a kernel, and the x-ray finds the race

PICTURE = BOOK / "static" / "race.svg"

FILE = "mine.cu"
COMMAND = f"$ softmax-lib xray {FILE} --rows 1 --cols 1000"
MARK = "everyone has read partial[0]"
"""What the comment of the barrier says that is taken out."""

BEFORE, AFTER = 5, 3
"""Lines of the kernel around the barrier."""

MOST_CHARACTERS = 92
"""Of a line of the picture."""

_DRAWN = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 {{ height }}" role="img" aria-label="{{ alt }}">
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre }
.number { fill: #8b949e }
.found { fill: #ff7b72 }
.out { animation: out 12s infinite }
.strike { stroke: #ff7b72; stroke-width: 2; animation: strike 12s infinite }
.told { animation: told 12s infinite }
.later { animation: later 12s infinite }
@keyframes out { 0%, 10% { opacity: 1 } 22%, 97% { opacity: .35 } 100% { opacity: 1 } }
@keyframes strike { 0%, 8% { stroke-dashoffset: 700 } 20%, 97% { stroke-dashoffset: 0 } 100% { stroke-dashoffset: 700 } }
@keyframes told { 0%, 24% { opacity: 0 } 26%, 97% { opacity: 1 } 100% { opacity: 0 } }
@keyframes later { 0%, 38% { opacity: 0 } 42%, 97% { opacity: 1 } 100% { opacity: 0 } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important } .out { opacity: .35 } }
</style>
<rect width="840" height="{{ height }}" rx="8" fill="#0d1117"/>
{% for number, line, state in code %}
{% if state == "race" %}
<rect class="later" x="8" y="{{ 20 * loop.index - 2 }}" width="824" height="20" fill="#3d1a1f"/>
{% endif %}
<text class="number" x="16" y="{{ 20 * loop.index + 12 }}">{{ number }}</text>
<text{% if state == "out" %} class="out"{% endif %} x="48" y="{{ 20 * loop.index + 12 }}">{{ line }}</text>
{% if state == "out" %}
<path class="strike" d="M48 {{ 20 * loop.index + 8 }}h700" stroke-dasharray="700"/>
{% endif %}
{% endfor %}
<text class="told" x="16" y="{{ 20 * code|length + 52 }}">{{ command }}</text>
{% for line in said %}
<text class="later found" x="16" y="{{ 20 * (code|length + loop.index) + 52 }}">{{ line }}</text>
{% endfor %}
</svg>
""")


def picture() -> str:
    """The text of an SVG file: lines of `shared`, the barrier that goes, and what `softmax-lib xray` says then."""
    whole = kernels["shared"].source.text
    barrier = next(line for line in whole.splitlines() if MARK in line)
    mine = Source(FILE, whole.replace(f"{barrier}\n", "", 1))
    (race,) = {hazard.message: hazard for hazard in xray(mine, 1, 1000).hazards}.values()
    lines = whole.splitlines()
    at = lines.index(barrier)
    named = {int(number) for number in re.findall(rf"{FILE}:(\d+)", race.message)}
    code = []
    for place in range(at - BEFORE, at + AFTER + 1):
        number = place + 1 - (place > at)  # lines of the file without the barrier
        state = "out" if place == at else "race" if number in named else ""
        code.append(("" if place == at else number, lines[place], state))
    said = textwrap.wrap(race.message, MOST_CHARACTERS)
    alt = f"A barrier is taken out of a kernel; then {COMMAND[2:]} says: {race.message}"
    height = 20 * (len(code) + len(said)) + 76
    return _DRAWN.render(code=code, said=said, command=COMMAND, alt=alt, height=height)


# ----


def main() -> int:
    """Rewrite README.md and the chart. Status 2 with one line on stderr when that cannot be done."""
    try:
        record = recorded()
        text = rewrite(README.read_text(encoding="utf-8"), "chapters", chapters())
        text = rewrite(text, "results", results(record))
        replace_file(CHART, chart(record).encode())
        replace_file(PICTURE, picture().encode())
        replace_file(README, text.encode())
    except (OSError, SoftmaxLibError) as error:
        print(f"readme: {error}", file=sys.stderr)
        return 2
    print(f"Wrote {README.name} and its pictures.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
