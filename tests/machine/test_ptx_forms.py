"""Each form of a PTX instruction gives what the PTX ISA says, run as PTX and as the machine code that the assembler makes of it."""

import numpy as np
import pytest
from full_tables import beside, some
from machine.machine_runs import run, run_ptx, together
from machine.ptx_forms import FORMS, NAN, WIDTHS, is_nan, lanes, signed

from softmax_lib.engine.source import Source


def entry(name) -> str:
    """What the kernel of a form is called."""
    return f"form_{[*FORMS].index(name)}"


def kernel(name) -> Source:
    """One thread a lane: it narrows its words, does it once, and widens what it made."""
    form = FORMS[name]
    reads = "".join(
        f"cvt.u{WIDTHS[type_]}.u64 n{n}, %{n + 1}; mov.b{WIDTHS[type_]} o{n}, n{n}; "
        if WIDTHS[type_] < 64
        else f"mov.b64 o{n}, %{n + 1}; "
        for n, type_ in enumerate(form.read)
    )
    registers = "".join(
        f".reg .b{WIDTHS[type_]} n{n}; .reg .{type_} o{n}; " for n, type_ in enumerate(form.read)
    )
    made = WIDTHS[form.made]
    registers += f".reg .{form.made} made; .reg .b{made} bits; .reg .pred p; "
    operands = ", ".join(f"o{n}" for n in range(len(form.read)))
    if form.name.startswith("setp"):
        does = f"{form.name} p, {operands}; selp.u32 made, 1, 0, p; "
    else:
        does = f"{form.name} made, {operands}{form.tail}; "
    widens = "mov.b64 %0, made; " if made == 64 else f"mov.b{made} bits, made; cvt.u64.u{made} %0, bits; "  # fmt: skip
    return Source(
        "form.cu",
        f"""
typedef unsigned long long Word;
extern "C" __global__ void {entry(name)}(const Word* x, Word* y) {{
    Word a = x[3 * threadIdx.x], b = x[3 * threadIdx.x + 1], c = x[3 * threadIdx.x + 2], d;
    asm volatile("{{ {registers}{reads}{does}{widens} }}" : "=l"(d) : "l"(a), "l"(b), "l"(c));
    y[threadIdx.x] = d;
}}
""",
    )


@pytest.mark.parametrize("name", some(FORMS, every=7))
def test_it_gives_what_is_documented(name):
    form = FORMS[name]
    given = lanes(form)
    if name.startswith(("div", "rem")) and not form.is_float:
        given = [one for one in given if one[1] & (1 << WIDTHS[form.read[0]]) - 1]
    expected = [form.gives(*one[: len(form.read)]) for one in given]
    x = np.array(given, np.uint64)
    source = together(kernel(one) for one in beside(name, FORMS, every=7))
    for how in (run_ptx, run):
        y = np.zeros(len(given), np.uint64)
        how(source, entry(name), 1, len(given), [x.copy(), y])
        for one, found, wanted in zip(given, y.tolist(), expected, strict=True):
            assert is_same(form, found, wanted), (how.__name__, [hex(n) for n in one], hex(found), hex(wanted))  # fmt: skip


def is_same(form, found: int, wanted: int) -> bool:
    width = WIDTHS[form.made]
    if form.made.startswith("f") and is_nan(wanted, width):
        return is_nan(found, width)
    if not form.ulps:
        return found == wanted
    return abs(signed(found, width) - signed(wanted, width)) <= form.ulps or found == NAN[width]
