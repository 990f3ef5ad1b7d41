"""The README's picture that moves: a barrier is taken out of a kernel, and the x-ray finds the race. `make readme`."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from jinja2 import Environment

from softmax_lib.engine.source import Source
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.xray import xray

PICTURE = Path(__file__).parents[1] / "static" / "race.svg"

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
