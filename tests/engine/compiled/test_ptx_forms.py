"""Each form of a PTX instruction gives what the PTX ISA says, run as PTX and as the machine code that the assembler makes of it."""

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from engine.compiled.machine_runs import run, run_ptx, together
from engine.exact_rounding import FORMATS, calculate, to_integer
from full_tables import beside, some

from softmax_lib.engine.source import Source

# ---- forms: each is applied to lanes with three numbers of 64 bits, of which it reads as many bits as it wants

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
    values = list(ENDS)
    if form.is_float:
        values = [to_bits(number, bits_of(form.read[0])) for number in FLOATS]
    count = len(values)
    if form.name.startswith("bfe"):  # where a field begins and how long it is are 8 bits each
        return [(one, n * 5 % 256, n * 11 % 80) for n, one in enumerate(3 * values)]
    return [(values[n % count], values[(7 * n + n // count) % count], values[(11 * n + 5) % count]) for n in range(3 * count)]  # fmt: skip


# ---- numbers and their bits


def bits_of(type_: str) -> int:
    """How wide a type is."""
    return int(type_[1:])


def signed(bits: int, width: int) -> int:
    bits &= (1 << width) - 1
    return bits - (1 << width) if bits >> (width - 1) else bits


def value(bits: int, type_: str) -> float:
    """The number that bits are."""
    width = bits_of(type_)
    if type_[0] == "f":
        return number(bits, width)
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


# ---- the forms


def whole(
    name: str, made: str, read: tuple[str, ...], f: Callable[..., int], tail: str = ""
) -> Form:
    """A form of whole numbers: `f` of their values."""

    def gives(*bits: int) -> int:
        return f(*map(value, bits, read)) & (1 << bits_of(made)) - 1

    return Form(name, made, read, gives, tail=tail)


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0


OF_TWO = {
    "add": operator.add, "sub": operator.sub, "mul.lo": operator.mul, "min": min, "max": max, "div": quotient,
    "rem": lambda a, b: a - quotient(a, b) * b,
}  # fmt: skip
OF_THREE = {"mad.lo": lambda a, b, c: a * b + c, "sad": lambda a, b, c: abs(a - b) + c}
OF_BITS = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def wholes() -> Iterator[Form]:
    for t in WHOLES:
        w = bits_of(t)
        yield from (whole(f"{name}.{t}", t, (t, t), f) for name, f in OF_TWO.items())
        yield from (whole(f"{name}.{t}", t, (t, t, t), f) for name, f in OF_THREE.items())
        yield whole(f"mul.hi.{t}", t, (t, t), lambda a, b, w=w: a * b >> w)
        yield whole(f"shr.{t}", t, (t, "u32"), lambda a, by, w=w: a >> min(by, w))
    for t, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        yield whole(f"mul.wide.{t}", wide, (t, t), operator.mul)
    for t in ("s16", "s32", "s64"):
        yield whole(f"neg.{t}", t, (t,), operator.neg)
        yield whole(f"abs.{t}", t, (t,), abs)
    for t in ("b16", "b32", "b64"):
        w = bits_of(t)
        yield from (whole(f"{name}.{t}", t, (t, t), f) for name, f in OF_BITS.items())
        yield whole(f"not.{t}", t, (t,), operator.invert)
        yield whole(f"shl.{t}", t, (t, "u32"), lambda a, by, w=w: a << min(by, w))
    for t in ("b32", "b64"):
        w = bits_of(t)
        yield whole(f"popc.{t}", "u32", (t,), int.bit_count)
        yield whole(f"clz.{t}", "u32", (t,), lambda a, w=w: w - a.bit_length())
        yield whole(f"brev.{t}", t, (t,), lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2))
    for t in ("u32", "s32", "u64", "s64"):
        yield whole(f"bfe.{t}", t, (t, "u32", "u32"), partial(extracted, type_=t))
        yield whole(f"bfind.{t}", "u32", (t,), highest)
        yield whole(f"bfind.shiftamt.{t}", "u32", (t,), partial(distance, width=bits_of(t)))
    for side, mode in itertools.product("lr", ("clamp", "wrap")):
        words = ("b32", "b32", "u32")
        yield whole(f"shf.{side}.{mode}.b32", "b32", words, partial(funnel, side=side, mode=mode))
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield whole(f"prmt.b32{mode}", "b32", ("b32",) * 3, partial(permuted, mode=mode[1:]))
    for table in (0x80, 0x96, 0xCA, 0x1B, 0xFE):
        yield whole("lop3.b32", "b32", ("b32",) * 3, partial(logic, table=table), f", {table}")


def funnel(a: int, b: int, c: int, side: str, mode: str) -> int:
    by = c & 31 if mode == "wrap" else min(c, 32)
    both = b << 32 | a
    return both >> by if side == "r" else both << by >> 32


def extracted(a: int, at: int, length: int, type_: str) -> int:
    """As the ISA writes it in pseudo-code."""
    most = bits_of(type_) - 1
    at, length, made = at & 255, length & 255, 0
    sign = 0 if type_[0] == "u" or length == 0 else a >> min(at + length - 1, most) & 1
    for n in range(most + 1):
        made |= (a >> at + n & 1 if n < length and at + n <= most else sign) << n
    return made


def highest(a: int) -> int:
    return (~a if a < 0 else a).bit_length() - 1


def distance(a: int, width: int) -> int:
    found = highest(a)
    return found if found < 0 else width - 1 - found


def permuted(a: int, b: int, c: int, mode: str) -> int:
    held = [(b << 32 | a) >> 8 * n & 255 for n in range(8)]
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
        w = bits_of(type_)
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
    width = bits_of(type_)

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


def conversions() -> Iterator[Form]:
    yield Form("cvt.f64.f32", "f64", ("f32",), lambda a: to_bits(number(a, 32), 64))
    for made, read in itertools.permutations(WHOLES, 2):
        yield whole(f"cvt.{made}.{read}", made, (read,), int)
    for how, mode in MODES.items():
        for made, read in itertools.product(("f32", "f64"), WHOLES):
            f = partial(rounded_whole, read=read, width=bits_of(made), how=how)
            yield Form(f"cvt.{how}.{made}.{read}", made, (read,), f)
        for made, read in itertools.product(WHOLES[2:], ("f32", "f64")):
            yield whole(f"cvt.{how}i.{made}.{read}", made, (read,), partial(to_whole, made=made, mode=mode))  # fmt: skip
        yield Form(f"cvt.{how}.f32.f64", "f32", ("f64",), partial(narrowed, how=how))


def rounded_whole(a: int, read: str, width: int, how: str) -> int:
    return rounded(Fraction(value(a, read)), width, how)


def to_whole(x: float, made: str, mode: str) -> int:
    """What is too large is the largest number that there is."""
    limits = np.iinfo({"u": "uint", "s": "int"}[made[0]] + made[1:])
    return to_integer(x, mode, limits)


def narrowed(a: int, how: str) -> int:
    x = number(a, 64)
    if not math.isfinite(x):
        return to_bits(x, 32)
    return rounded(Fraction(x), 32, how, math.copysign(1, x) < 0)


FORMS = {f"{one.name}{one.tail}": one for one in (*wholes(), *floats(), *comparisons(), *conversions())}  # fmt: skip


# ---- kernels of them


def entry(name) -> str:
    """What the kernel of a form is called."""
    return f"form_{[*FORMS].index(name)}"


def kernel(name) -> Source:
    """One thread a lane: it narrows its words, does it once, and widens what it made."""
    form = FORMS[name]
    reads = registers = ""
    for n, (type_, width) in enumerate((one, bits_of(one)) for one in form.read):
        registers += f".reg .b{width} n{n}; .reg .{type_} o{n}; "
        narrow = f"cvt.u{width}.u64" if width < 64 else "mov.b64"
        reads += f"{narrow} n{n}, %{n + 1}; mov.b{width} o{n}, n{n}; "
    made = bits_of(form.made)
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
        given = [one for one in given if one[1] & (1 << bits_of(form.read[0])) - 1]
    expected = [form.gives(*one[: len(form.read)]) for one in given]
    x = np.array(given, np.uint64)
    source = together(kernel(one) for one in beside(name, FORMS, every=7))
    for how in (run_ptx, run):
        y = np.zeros(len(given), np.uint64)
        how(source, entry(name), 1, len(given), [x.copy(), y])
        for one, found, wanted in zip(given, y.tolist(), expected, strict=True):
            assert is_same(form, found, wanted), (how.__name__, [hex(n) for n in one], hex(found), hex(wanted))  # fmt: skip


def is_same(form, found: int, wanted: int) -> bool:
    width = bits_of(form.made)
    if form.made.startswith("f") and math.isnan(number(wanted, width)):
        return math.isnan(number(found, width))
    if not form.ulps:
        return found == wanted
    return abs(signed(found, width) - signed(wanted, width)) <= form.ulps or found == NAN[width]
