"""Each form of a PTX instruction gives what the PTX ISA says, run as PTX and as the machine code that the assembler makes of it."""

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from engine.compiled.machine_runs import run, run_ptx, together
from engine.exact_rounding import FORMATS, calculate, to_integer
from full_tables import beside, some

from softmax_lib.engine.source import Source

# ---- forms: each is applied to lanes with three numbers of 64 bits, of which it reads as many bits as it wants

WIDTHS = {"b16": 16, "u16": 16, "s16": 16, "b32": 32, "u32": 32, "s32": 32, "f32": 32, "b64": 64, "u64": 64, "s64": 64, "f64": 64}  # fmt: skip
WHOLES = ("u16", "s16", "u32", "s32", "u64", "s64")
ENDS = (0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF, 0xFEDCBA9876543210)  # fmt: skip
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 0.1, -0.3, 1e-40, -1e-45, 1e-30, 3e38, -3e38, 16777216.0, 16777217.0, 1.25e9, -4e9, math.inf, -math.inf, 123.456, 2**-126)  # fmt: skip


@dataclass(frozen=True)
class Form:
    """An instruction without its operands, the types of what it makes and reads, and what it makes of their bits."""

    name: str
    made: str
    read: tuple[str, ...]
    gives: Callable[..., int]
    ulps: int = 0
    tail: str = ""

    @property
    def is_float(self) -> bool:
        """Whether what it reads first is a float."""
        return self.read[0].startswith("f")


def lanes(form: Form) -> list[tuple[int, int, int]]:
    """What the lanes have: bits of all kinds, and of floats those of floats."""
    if form.is_float:
        width = WIDTHS[form.read[0]]
        values = [to_bits(number, width) for number in FLOATS]
    else:
        values = list(ENDS)
    count = len(values)
    if form.name.startswith("bfe"):  # where a field begins and how long it is are 8 bits each
        return [(one, n * 5 % 256, n * 11 % 80) for n, one in enumerate(3 * values)]
    return [(values[n % count], values[(7 * n + n // count) % count], values[(11 * n + 5) % count]) for n in range(3 * count)]  # fmt: skip


# ---- numbers and their bits


def signed(bits: int, width: int) -> int:
    bits &= (1 << width) - 1
    return bits - (1 << width) if bits >> (width - 1) else bits


def of_type(bits: int, type_: str) -> int:
    width = WIDTHS[type_]
    return signed(bits, width) if type_[0] == "s" else bits & (1 << width) - 1


def number(bits: int, width: int) -> float:
    return float(np.array(bits & (1 << width) - 1, f"u{width // 8}").view(f"f{width // 8}"))


def to_bits(value: float, width: int) -> int:
    """The nearest float's bits."""
    with np.errstate(over="ignore"):
        return int(np.array(value, f"f{width // 8}").view(f"u{width // 8}"))


KINDS = {32: "float", 64: "double"}
MODES = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}
"""Of rounding, by their names in PTX: those of CUDA."""


def rounded(exact: Fraction, width: int, how: str, minus_zero: bool = False) -> int:
    """Bits of the float that an exact number is rounded to: rn, rz, rm or rp."""
    return to_bits(FORMATS[KINDS[width]].round(exact, MODES[how], minus_zero), width)


NAN = {32: 0x7FFFFFFF, 64: 0x7FFFFFFFFFFFFFFF}


def is_nan(bits: int, width: int) -> bool:
    return math.isnan(number(bits, width))


# ---- the forms


def whole(name: str, type_: str, f: Callable[..., int], count: int = 2, made: str = "") -> Form:
    """A form of whole numbers of one type."""
    made = made or type_

    def gives(*bits: int) -> int:
        return f(*(of_type(one, type_) for one in bits)) & (1 << WIDTHS[made]) - 1

    return Form(f"{name}.{type_}", made, (type_,) * count, gives)


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0


def wholes() -> list[Form]:
    found = []
    for type_ in WHOLES:
        width = WIDTHS[type_]
        found += [
            whole("add", type_, lambda a, b: a + b),
            whole("sub", type_, lambda a, b: a - b),
            whole("mul.lo", type_, lambda a, b: a * b),
            whole("mul.hi", type_, lambda a, b, w=width: a * b >> w),
            whole("mad.lo", type_, lambda a, b, c: a * b + c, 3),
            whole("min", type_, min),
            whole("max", type_, max),
            whole("sad", type_, lambda a, b, c: abs(a - b) + c, 3),
            whole("div", type_, quotient),
            whole("rem", type_, lambda a, b: a - quotient(a, b) * b),
        ]
    for type_, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        found.append(whole("mul.wide", type_, lambda a, b: a * b, made=wide))
    for type_ in ("s16", "s32", "s64"):
        found += [whole("neg", type_, lambda a: -a, 1), whole("abs", type_, abs, 1)]
    for type_ in ("b16", "b32", "b64"):
        found += [
            whole("and", type_, lambda a, b: a & b),
            whole("or", type_, lambda a, b: a | b),
            whole("xor", type_, lambda a, b: a ^ b),
            whole("not", type_, lambda a: ~a, 1),
        ]
    for type_ in ("b32", "b64"):
        width = WIDTHS[type_]
        found += [
            whole("popc", type_, lambda a: a.bit_count(), 1, "u32"),
            whole("clz", type_, lambda a, w=width: w - a.bit_length(), 1, "u32"),
            whole("brev", type_, lambda a, w=width: int(f"{a:0{w}b}"[::-1], 2), 1),
        ]
    return found


def shifted(a: int, by: int, width: int) -> int:
    return a >> min(by, width) if by < width or a < 0 else 0


def shifts() -> list[Form]:
    found = []
    for type_ in ("b16", "b32", "b64"):
        width = WIDTHS[type_]
        found.append(Form(f"shl.{type_}", type_, (type_, "u32"), lambda a, by, w=width: of_type(a, f"b{w}") << min(by & 0xFFFFFFFF, w) & (1 << w) - 1))  # fmt: skip
    for type_ in WHOLES:
        width = WIDTHS[type_]
        found.append(Form(f"shr.{type_}", type_, (type_, "u32"), lambda a, by, t=type_, w=width: shifted(of_type(a, t), by & 0xFFFFFFFF, w) & (1 << w) - 1))  # fmt: skip
    for side in "lr":
        for mode in ("clamp", "wrap"):
            found.append(Form(f"shf.{side}.{mode}.b32", "b32", ("b32", "b32", "u32"), lambda a, b, c, s=side, m=mode: funnel(a, b, c, s, m)))  # fmt: skip
    for type_ in ("u32", "s32", "u64", "s64"):
        found.append(Form(f"bfe.{type_}", type_, (type_, "u32", "u32"), lambda a, b, c, t=type_: extracted(a, b, c, t)))  # fmt: skip
        found.append(Form(f"bfind.{type_}", "u32", (type_,), lambda a, t=type_: highest(a, t)))
        found.append(Form(f"bfind.shiftamt.{type_}", "u32", (type_,), lambda a, t=type_: distance(a, t)))  # fmt: skip
    for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        name = f"prmt.b32.{mode}".rstrip(".")
        found.append(Form(name, "b32", ("b32", "b32", "b32"), lambda a, b, c, m=mode: permuted(a, b, c, m)))  # fmt: skip
    for table in (0x80, 0x96, 0xCA, 0x1B, 0xFE):
        found.append(Form("lop3.b32", "b32", ("b32", "b32", "b32"), lambda a, b, c, t=table: logic(a, b, c, t), tail=f", {table}"))  # fmt: skip
    return found


def funnel(a: int, b: int, c: int, side: str, mode: str) -> int:
    by = c & 31 if mode == "wrap" else min(c & 0xFFFFFFFF, 32)
    both = (b & 0xFFFFFFFF) << 32 | a & 0xFFFFFFFF
    return both >> by & 0xFFFFFFFF if side == "r" else both << by >> 32 & 0xFFFFFFFF


def extracted(a: int, b: int, c: int, type_: str) -> int:
    """As the ISA writes it in pseudo-code."""
    most = WIDTHS[type_] - 1
    at, length = b & 255, c & 255
    bits = a & (1 << most + 1) - 1
    sign = 0 if type_[0] == "u" or length == 0 else bits >> min(at + length - 1, most) & 1
    made = 0
    for n in range(most + 1):
        bit = bits >> at + n & 1 if n < length and at + n <= most else sign
        made |= bit << n
    return made


def highest(a: int, type_: str) -> int:
    value = of_type(a, type_)
    value = ~value if value < 0 else value
    return value.bit_length() - 1 if value else 0xFFFFFFFF


def distance(a: int, type_: str) -> int:
    found = highest(a, type_)
    return found if found == 0xFFFFFFFF else WIDTHS[type_] - 1 - found


def permuted(a: int, b: int, c: int, mode: str) -> int:
    held = [((b & 0xFFFFFFFF) << 32 | a & 0xFFFFFFFF) >> 8 * n & 255 for n in range(8)]
    n = c & 3
    rows = {
        "f4e": [n, n + 1, n + 2, n + 3],
        "b4e": [n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8],
        "rc8": [n] * 4,
        "ecl": [max(byte, n) for byte in range(4)],
        "ecr": [min(byte, n) for byte in range(4)],
        "rc16": [0, 1, 0, 1] if n % 2 == 0 else [2, 3, 2, 3],
    }
    made = 0
    for byte in range(4):
        which = rows[mode][byte] if mode else c >> 4 * byte & 15
        found = held[which & 7]
        if not mode and which & 8:
            found = 255 if found & 128 else 0
        made |= found << 8 * byte
    return made


def logic(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n for n in range(32))  # fmt: skip


def floats() -> list[Form]:
    found = []
    for type_ in ("f32", "f64"):
        w = WIDTHS[type_]
        for how in MODES:
            found += [arithmetic(name, type_, how) for name in COUNTS]
        top = 1 << w - 1
        found += [
            Form(f"abs.{type_}", type_, (type_,), lambda a, top=top: a & top - 1),
            Form(f"neg.{type_}", type_, (type_,), lambda a, top=top: a ^ top),
            Form(f"copysign.{type_}", type_, (type_,) * 2, lambda a, b, top=top: a & top | b & top - 1),
            Form(f"min.{type_}", type_, (type_,) * 2, lambda a, b, w=w: extreme(a, b, w)[0]),
            Form(f"max.{type_}", type_, (type_,) * 2, lambda a, b, w=w: extreme(a, b, w)[1]),
        ]  # fmt: skip
    found += [
        approximate("ex2", np.exp2, 2),
        approximate("sqrt", np.sqrt, 3),
        approximate("rcp", lambda a: 1 / a, 1),
        approximate("rsqrt", lambda a: 1 / np.sqrt(a), 2),
    ]
    return found


COUNTS = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "div": 2, "rcp": 1}
"""How many floats each operation takes."""


def arithmetic(name: str, type_: str, how: str) -> Form:
    width = WIDTHS[type_]

    def gives(*bits: int) -> int:
        values = (number(one, width) for one in bits)
        return to_bits(calculate(KINDS[width], name, MODES[how], *values), width)

    return Form(f"{name}.{how}.{type_}", type_, (type_,) * COUNTS[name], gives)


def approximate(name: str, f: Callable[[np.float64], np.float64], ulps: int) -> Form:
    """A function of the special unit, within the error that the ISA gives."""

    def gives(a: int) -> int:
        with np.errstate(all="ignore"):
            return to_bits(f(np.float64(number(a, 32))), 32)

    return Form(f"{name}.approx.f32", "f32", ("f32",), gives, ulps)


def extreme(a: int, b: int, width: int) -> list[int]:
    """The smaller and the larger; -0 is less than 0."""
    return sorted((a, b), key=lambda one: (number(one, width), not one >> width - 1))


COMPARED = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def comparisons() -> list[Form]:
    """Each sets a predicate, which then chooses between 1 and 0."""
    return [
        Form(f"setp.{f.__name__}.{t}", "u32", (t, t), lambda a, b, f=f, t=t: int(f(value(a, t), value(b, t))))
        for t in (*WHOLES, "f32", "f64")
        for f in COMPARED
    ]  # fmt: skip


def value(bits: int, type_: str) -> float:
    return number(bits, WIDTHS[type_]) if type_[0] == "f" else of_type(bits, type_)


def conversions() -> list[Form]:
    found = [Form("cvt.f64.f32", "f64", ("f32",), lambda a: to_bits(number(a, 32), 64))]
    found += [
        Form(f"cvt.{made}.{read}", made, (read,), lambda a, r=read, m=made: of_type(a, r) & (1 << WIDTHS[m]) - 1)
        for made, read in itertools.permutations(WHOLES, 2)
    ]  # fmt: skip
    for how, mode in MODES.items():
        found += [
            Form(f"cvt.{how}.{made}.{read}", made, (read,), lambda a, r=read, w=WIDTHS[made], h=how: rounded(Fraction(of_type(a, r)), w, h))
            for made in ("f32", "f64") for read in WHOLES
        ]  # fmt: skip
        found += [
            Form(f"cvt.{how}i.{made}.{read}", made, (read,), lambda a, m=made, r=read, h=mode: to_whole(number(a, WIDTHS[r]), m, h))
            for made in WHOLES[2:] for read in ("f32", "f64")
        ]  # fmt: skip
        found.append(Form(f"cvt.{how}.f32.f64", "f32", ("f64",), lambda a, h=how: narrowed(a, h)))
    return found


def to_whole(x: float, made: str, mode: str) -> int:
    """What is too large is the largest number that there is."""
    limits = np.iinfo({"u": "uint", "s": "int"}[made[0]] + made[1:])
    return to_integer(x, mode, limits) & (1 << WIDTHS[made]) - 1


def narrowed(a: int, how: str) -> int:
    x = number(a, 64)
    if not math.isfinite(x):
        return to_bits(x, 32)
    return rounded(Fraction(x), 32, how, math.copysign(1, x) < 0)


FORMS = {f"{one.name}{one.tail}": one for one in (*wholes(), *shifts(), *floats(), *comparisons(), *conversions())}  # fmt: skip


# ---- kernels of them


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
