"""Arithmetic, comparison and conversion of numbers of any type."""

from __future__ import annotations

from softmax_lib.engine.compiled.draft import ALL
from softmax_lib.engine.compiled.opcodes.conversions import IN_SHIFT, OUT_SHIFT
from softmax_lib.engine.compiled.opcodes.floats import COMPARISONS, JOINS, SATURATED
from softmax_lib.engine.compiled.opcodes.halves import (
    BOTH_SIGNS,
    COMPARE_SHIFT,
    FLAG_BITS,
    FLUSHES,
    IS_BFLOAT,
    JOIN_SHIFT,
    PASSES_NAN,
    RELU,
    SATURATES,
)
from softmax_lib.engine.compiled.ptx.form import (
    KINDS,
    MADE_SHIFT,
    ROUNDINGS,
    Form,
    kind_bits,
    opcode,
)
from softmax_lib.engine.compiled.ptx.opcodes.bits import widen
from softmax_lib.engine.compiled.ptx.reading import SIZES
from softmax_lib.engine.compiled.ptx.writer import Writer

_FLOATS = ("f32", "f64")
_HALVES = ("f16", "bf16", "f16x2", "bf16x2")
_SIGN = 0x80000000
_PARTS = {"u16x2": 16, "s16x2": 16 | 32}

# Variants of typed operations (cpp/typed_numbers.cpp)
_PASSES_NAN, _WANTS_LEAST = 16, 32
_FLUSHES_BEFORE = 16

_COMPARISONS = {name.lower(): number for name, number in COMPARISONS.items()} | {
    "lo": COMPARISONS["LT"], "ls": COMPARISONS["LE"], "hi": COMPARISONS["GT"], "hs": COMPARISONS["GE"],
}  # fmt: skip
_JOINS = {name.lower(): number for name, number in JOINS.items()}


def _rows(writer: Writer, form: Form, type_: str, slots: str = "abc") -> dict[str, int]:
    """The result, and the operands behind it, all of one type."""
    size = SIZES[type_]
    found = {"d": writer.row(form.args[0], size)}
    for slot, text in zip(slots, form.args[1:], strict=False):
        found[slot] = writer.row(text, size)
    return found


def _simple(writer: Writer, form: Form, operation: str) -> None:
    """An operation of numbers of its type."""
    type_ = form.take_type()
    writer.emit(operation, **_rows(writer, form, type_), variant=kind_bits(type_))


def _of_halves(
    writer: Writer, form: Form, operation: str, type_: str, *, minus: bool = False
) -> None:
    flags = IS_BFLOAT * type_.startswith("b") | FLUSHES * form.has("ftz")
    flags |= SATURATES * form.has("sat") | RELU * form.has("relu")
    form.ignore("rn")
    flip = [0, BOTH_SIGNS if minus else 0, 0]
    rows = _rows(writer, form, type_)
    writer.emit(operation, is_float=True, **rows, variant=flags, flip=flip)


_SUMS = {"add": "typed add", "sub": "typed subtract"}


@opcode(*_SUMS)
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    if type_ in _HALVES:
        _of_halves(writer, form, "half add", type_, minus=form.statement.opcode == "sub")
    elif type_ in _PARTS and form.statement.opcode == "add":
        writer.emit("parts add", **_rows(writer, form, type_), variant=_PARTS[type_])
    else:
        flags = form.flags() if type_ in _FLOATS else 0
        writer.emit(_SUMS[form.statement.opcode], **_rows(writer, form, type_), variant=kind_bits(type_) | flags)  # fmt: skip


@opcode("mul", "mad", "fma")
def _(writer: Writer, form: Form) -> None:
    type_, adds = form.take_type(), form.statement.opcode != "mul"
    if type_ in _HALVES:
        return _of_halves(writer, form, "half fused" if adds else "half multiply", type_)
    if type_ in _FLOATS:
        name = "typed multiply add" if adds else "typed multiply"
        return writer.emit(name, **_rows(writer, form, type_), variant=kind_bits(type_) | form.flags())  # fmt: skip
    name = "typed multiply add"
    if form.has("wide"):
        wide = 2 * SIZES[type_]
        rows = _rows(writer, form, type_, "ab")
        if adds:
            rows["c"] = writer.row(form.args[3], wide)
        return writer.emit(f"{name} wide", **rows, variant=kind_bits(type_))
    is_upper = form.has("hi")
    form.ignore("lo")
    return writer.emit(f"{name} upper" if is_upper else name, **_rows(writer, form, type_), variant=kind_bits(type_))  # fmt: skip


@opcode("div")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    is_rough = form.has("approx", "full")
    flags = form.flags() if type_ in _FLOATS else 0
    name = "typed divide roughly" if is_rough else "typed divide"
    writer.emit(name, **_rows(writer, form, type_), variant=kind_bits(type_) | flags)


@opcode("rem")
def _(writer: Writer, form: Form) -> None:
    _simple(writer, form, "typed remainder")


_SPECIAL = {
    "ex2": ("special power", "typed power of two"),
    "lg2": ("special logarithm", "typed logarithm"),
    "rcp": ("special reciprocal", "typed reciprocal"),
    "rsqrt": ("special reciprocal root", "typed reciprocal root"),
    "sqrt": ("special root", "typed root"),
    "tanh": ("special tangent", "special tangent"),
}
"""What is done where small numbers count as zeros, and where they do not."""


@opcode(*_SPECIAL)
def _(writer: Writer, form: Form) -> None:
    type_, is_rough = form.take_type(), form.has("approx")
    flags = form.flags()
    if type_ not in _FLOATS or (type_ == "f64" and is_rough):
        raise form.refuse()
    name = _SPECIAL[form.statement.opcode][0 if is_rough and flags else 1]
    writer.emit(name, is_float=True, **_rows(writer, form, type_), variant=kind_bits(type_) | flags)


_TURNS_IN_A_RADIAN, _TOWARDS_ZERO = 0x3E22F983, 3
_ANGLES = {"sin": "special sine", "cos": "special cosine"}


@opcode(*_ANGLES)
def _(writer: Writer, form: Form) -> None:
    type_, is_rough, flags = form.take_type(), form.has("approx"), form.flags()
    if type_ != "f32" or not is_rough:
        raise form.refuse()
    d, turn = writer.row(form.args[0]), writer.immediate(_TURNS_IN_A_RADIAN)
    variant = kind_bits(type_) | flags | _TOWARDS_ZERO
    writer.emit(
        "typed multiply", aside=True, d=d, a=writer.row(form.args[1]), b=turn, variant=variant
    )
    writer.emit(_ANGLES[form.statement.opcode], is_float=True, d=d, a=d)


@opcode("min", "max")
def _(writer: Writer, form: Form) -> None:
    type_, least, passes_nan = form.take_type(), form.statement.opcode == "min", form.has("NaN")
    rows = _rows(writer, form, type_)
    if type_ in _HALVES:
        variant = IS_BFLOAT * type_.startswith("b") | FLUSHES * form.has("ftz")
        variant |= PASSES_NAN * passes_nan
        writer.emit("half extreme", is_float=True, **rows, variant=variant, s_flip=int(not least))
    elif type_ in _PARTS:
        writer.emit("parts extreme", **rows, variant=_PARTS[type_], s_flip=int(not least))
    else:
        flags = form.flags() if type_ in _FLOATS else 0
        variant = kind_bits(type_) | flags | _PASSES_NAN * passes_nan | _WANTS_LEAST * least
        writer.emit("typed extreme", **rows, variant=variant)


_SIGNS = {"abs": ("typed size", "typed and", ALL ^ BOTH_SIGNS), "neg": ("typed opposite", "typed xor", BOTH_SIGNS)}  # fmt: skip


@opcode(*_SIGNS)
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    form.ignore("ftz")
    name, of_halves, bits = _SIGNS[form.statement.opcode]
    rows = _rows(writer, form, type_)
    if type_ in _HALVES:
        writer.emit(of_halves, **rows, b=writer.immediate(bits), variant=kind_bits("b32"))
    else:
        writer.emit(name, **rows, variant=kind_bits(type_))


@opcode("copysign")
def _(writer: Writer, form: Form) -> None:
    _simple(writer, form, "typed copy sign")


@opcode("sad")
def _(writer: Writer, form: Form) -> None:
    _simple(writer, form, "typed difference")


# ---- comparisons


@opcode("setp")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    how, join = form.choose(_COMPARISONS), form.choose(_JOINS, 0)
    first, _, second = form.args[0].partition("|")
    fields = {"p": writer.written_predicate(first.strip())}
    if second:
        fields["q"] = writer.written_predicate(second.strip())
    if len(form.args) > 3:
        fields["s"], fields["s_flip"] = writer.predicate(form.args[3])
    rows = {slot: writer.row(text, SIZES[type_]) for slot, text in zip("ab", form.args[1:3], strict=True)}  # fmt: skip
    if type_ in _HALVES:
        if second and not type_.endswith("x2"):
            raise form.refuse()
        variant = IS_BFLOAT * type_.startswith("b") | how << COMPARE_SHIFT | join << JOIN_SHIFT
        form.ignore("ftz")
        writer.emit("half compare", is_float=True, **rows, **fields, variant=variant)
    else:
        variant = how | _FLUSHES_BEFORE * form.has("ftz") | join << 8 | kind_bits(type_)
        writer.emit("typed compare", **rows, **fields, variant=variant)


@opcode("set")
def _(writer: Writer, form: Form) -> None:
    made = form.types[0]
    type_ = form.take_type()
    how, join = form.choose(_COMPARISONS), form.choose(_JOINS, 0)
    fields = {}
    if len(form.args) > 3:
        fields["s"], fields["s_flip"] = writer.predicate(form.args[3])
    rows = _rows(writer, form, type_, "ab")
    if type_ in _HALVES:
        variant = IS_BFLOAT * type_.startswith("b") | how << COMPARE_SHIFT | join << JOIN_SHIFT
        form.ignore("ftz")
        is_mask = made not in _HALVES
        writer.emit(
            "half set", is_float=True, **rows, **fields, variant=variant | FLAG_BITS * is_mask
        )
    else:
        variant = how | _FLUSHES_BEFORE * form.has("ftz") | join << 8 | kind_bits(type_)
        one = writer.immediate(0x3F800000 if made == "f32" else ALL)
        writer.emit("typed set", **{**rows, "c": one}, **fields, variant=variant)


# ---- conversions

_WHOLE_ROUNDINGS = {"rni": 0, "rmi": 1, "rpi": 2, "rzi": 3}


@opcode("cvt")
def _(writer: Writer, form: Form) -> None:
    made, read = form.types
    form.take_type()
    if made in ("f16x2", "bf16x2"):
        return _pack(writer, form, made)
    saturates = form.has("sat")
    d, a = writer.row(form.args[0], SIZES[made]), writer.row(form.args[1], SIZES[read])
    if not made.lstrip("b").startswith("f") and not read.lstrip("b").startswith("f"):
        variant = kind_bits(read) | KINDS[made] << MADE_SHIFT | SATURATED * saturates
        writer.emit("typed convert", d=d, a=a, variant=variant)
        return widen(writer, form.args[0], d, made)
    is_whole = made[0] in "us"
    whole = form.choose(_WHOLE_ROUNDINGS, -1)
    rounding = whole if whole >= 0 else form.choose(ROUNDINGS, 0)
    variant = rounding | 4 * form.has("ftz") | KINDS[read] << IN_SHIFT | KINDS[made] << OUT_SHIFT
    if saturates and not is_whole:
        if (made, read) != ("f32", "f32") or whole >= 0:
            raise form.refuse()
        return writer.emit("typed add", d=d, a=a, b=writer.immediate(_SIGN), variant=kind_bits("f32") | SATURATED)  # fmt: skip
    if is_whole:
        name = "float to whole"
    elif read[0] in "us":
        name = "whole to float"
    else:
        name = "float to round" if whole >= 0 else "float to float"
    keep = [0 if read[0] in "us" else ALL] * 3
    writer.emit(name, d=d, a=a, variant=variant, keep=keep)
    return widen(writer, form.args[0], d, made) if is_whole else None


def _pack(writer: Writer, form: Form, made: str) -> None:
    variant = form.choose(ROUNDINGS, 0) | IS_BFLOAT * made.startswith("b") | RELU * form.has("relu")
    rows = _rows(writer, form, "f32", "ab")
    writer.emit("half pack", is_float=True, **rows, variant=variant)
