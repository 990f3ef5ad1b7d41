"""Arithmetic, comparison and conversion of numbers of any type."""

from __future__ import annotations

from typing import Any

from softmax_lib.engine.compiled.draft import ALL
from softmax_lib.engine.compiled.opcodes import floats, halves
from softmax_lib.engine.compiled.ptx.form import KINDS, MADE_SHIFT, Form, kind_bits, opcodes
from softmax_lib.engine.compiled.ptx.opcodes.bits import widen
from softmax_lib.engine.compiled.ptx.reading import SIZES
from softmax_lib.engine.compiled.ptx.writer import Writer

_FLOATS = {"f32": "float", "f64": "double"}
_HALVES = dict.fromkeys(("f16", "bf16", "f16x2", "bf16x2"), "half")
_FAMILIES = _FLOATS | _HALVES
"""How the names of operations begin that machine code has of these types."""

_SIGN = 0x80000000
_PARTS = {"u16x2": 16, "s16x2": 16 | 32}

_PASSES_NAN, _WANTS_LEAST = 16, 32
"""Variants of typed operations (cpp/typed_numbers.cpp)."""

_UNSIGNED = {"LO": "LT", "LS": "LE", "HI": "GT", "HS": "GE"}
_COMPARISONS = floats.COMPARISONS | {
    name: floats.COMPARISONS[same] for name, same in _UNSIGNED.items()
}


def _variant(form: Form, type_: str) -> int:
    """The kind of a number, and how one that is a float ends."""
    return kind_bits(type_) | (form.float_flags() if type_ in _FLOATS else 0)


def _half_variant(form: Form, type_: str) -> int:
    return halves.IS_BFLOAT * type_.startswith("b") | form.flags(halves.BITS | {"RN": 0})


def _float_variant(form: Form, type_: str) -> int:
    """How a float of any width is rounded and ends."""
    return _half_variant(form, type_) if type_ in _HALVES else form.float_flags()


@opcodes({"add": ("typed add", False), "sub": ("typed subtract", True)})
def add(writer: Writer, form: Form, operation: str, negates: bool) -> None:
    type_ = form.take_type()
    rows = writer.rows_of("DAB", form.args, type_)
    if family := _FAMILIES.get(type_):
        sign = halves.BOTH_SIGNS if type_ in _HALVES else _SIGN
        fields = {"variant": _float_variant(form, type_), "flip": [0, sign * negates, 0]}
        writer.emit(f"{family} add", is_float=True, **rows, **fields)
    elif type_ in _PARTS and not negates:
        writer.emit("parts add", **rows, variant=_PARTS[type_])
    else:
        writer.emit(operation, **rows, variant=kind_bits(type_))


@opcodes({"mul": ("multiply", "DAB"), "mad fma": ("fused", "DABC")})
def multiply(writer: Writer, form: Form, operation: str, slots: str) -> None:
    type_ = form.take_type()
    is_wide, is_upper = form.has("wide"), form.has("hi")
    rows = writer.rows_of(slots, form.args[:3] if is_wide else form.args, type_)
    if family := _FAMILIES.get(type_):
        variant = _float_variant(form, type_)
        return writer.emit(f"{family} {operation}", is_float=True, **rows, variant=variant)
    form.ignore("lo")
    if is_wide and len(form.args) > 3:
        rows["c"] = writer.row(form.args[3], 2 * SIZES[type_])
    name = "typed multiply add" + " wide" * is_wide + " upper" * is_upper
    return writer.emit(name, **rows, variant=kind_bits(type_))


@opcodes("div")
def div(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    name = "typed divide roughly" if form.has("approx", "full") else "typed divide"
    rows = writer.rows_of("DAB", form.args, type_)
    writer.emit(name, **rows, variant=_variant(form, type_))


@opcodes({
    "ex2": ("special power", "typed power of two"),
    "lg2": ("special logarithm", "typed logarithm"),
    "rcp": ("special reciprocal", "typed reciprocal"),
    "rsqrt": ("special reciprocal root", "typed reciprocal root"),
    "sqrt": ("special root", "typed root"),
    "tanh": ("special tangent", "special tangent"),
})  # fmt: skip
def special(writer: Writer, form: Form, where_flushed: str, elsewhere: str) -> None:
    """What is done where small numbers count as zeros, and where they do not."""
    type_, is_rough, flags = form.take_type(), form.has("approx"), form.float_flags()
    if type_ not in _FLOATS or (type_ == "f64" and is_rough):
        raise form.refuse()
    name = where_flushed if is_rough and flags else elsewhere
    rows = writer.rows_of("DA", form.args, type_)
    writer.emit(name, is_float=True, **rows, variant=kind_bits(type_) | flags)


_TURNS_IN_A_RADIAN, _TOWARDS_ZERO = 0x3E22F983, 3


@opcodes({"sin": ("special sine",), "cos": ("special cosine",)})
def sin(writer: Writer, form: Form, operation: str) -> None:
    type_, is_rough, flags = form.take_type(), form.has("approx"), form.float_flags()
    if type_ != "f32" or not is_rough:
        raise form.refuse()
    rows, turn = writer.rows_of("da", form.args), writer.immediate(_TURNS_IN_A_RADIAN)
    variant = flags | _TOWARDS_ZERO
    writer.emit("float multiply", aside=True, is_float=True, **rows, b=turn, variant=variant)
    writer.emit(operation, is_float=True, d=rows["d"], a=rows["d"])


@opcodes({"min": (True,), "max": (False,)})
def extreme(writer: Writer, form: Form, least: bool) -> None:
    type_, passes_nan = form.take_type(), form.has("NaN")
    rows = writer.rows_of("DAB", form.args, type_)
    if type_ in _HALVES:
        variant = _half_variant(form, type_) | halves.PASSES_NAN * passes_nan
        writer.emit("half extreme", is_float=True, **rows, variant=variant, s_flip=int(not least))
    elif type_ in _PARTS:
        writer.emit("parts extreme", **rows, variant=_PARTS[type_], s_flip=int(not least))
    else:
        variant = _variant(form, type_) | _PASSES_NAN * passes_nan | _WANTS_LEAST * least
        writer.emit("typed extreme", **rows, variant=variant)


_SIGNS = {"f32": _SIGN, "f64": 1 << 63, **dict.fromkeys(_HALVES, halves.BOTH_SIGNS)}
"""The bits of a float that tell whether it is negative."""


@opcodes({"abs": (True,), "neg": (False,)})
def change_sign(writer: Writer, form: Form, is_size: bool) -> None:
    type_ = form.take_type()
    form.ignore("ftz")
    rows = writer.rows_of("DA", form.args, type_)
    if type_ in _SIGNS:
        kind = kind_bits("b64" if type_ == "f64" else "b32")
        bits = writer.immediate(~_SIGNS[type_] if is_size else _SIGNS[type_], 2)
        writer.emit("typed and" if is_size else "typed xor", **rows, b=bits, variant=kind)
    elif is_size:
        writer.emit("typed size", **rows, variant=kind_bits(type_))
    else:
        rows |= {"a": writer.rows.zero, "b": rows["a"]}
        writer.emit("typed subtract", **rows, variant=kind_bits(type_))


# ---- comparisons


def _compared(writer: Writer, form: Form, type_: str) -> dict[str, Any]:
    """How numbers of a type are compared, and the predicate that the outcome joins."""
    how, join = form.choose(_COMPARISONS), form.choose(floats.JOINS, 0)
    flushes = form.flags({"FTZ": 16})
    joined = writer.reads(form.args[3]) if len(form.args) > 3 else {}
    if type_ in _HALVES:
        variant = (
            halves.IS_BFLOAT * type_.startswith("b")
            | how << halves.COMPARE_SHIFT
            | join << halves.JOIN_SHIFT
        )
    else:
        variant = how | join << 8 | (flushes if type_ in _FLOATS else kind_bits(type_))
    return {"variant": variant, "is_float": type_ in _FAMILIES, **joined}


@opcodes("setp")
def setp(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    fields = _compared(writer, form, type_)
    first, _, second = form.args[0].partition("|")
    fields["p"] = writer.written_predicate(first.strip())
    if second:
        fields["q"] = writer.written_predicate(second.strip())
    if second and type_ in ("f16", "bf16"):
        raise form.refuse()
    rows = writer.rows_of("AB", form.args[1:3], type_)
    writer.emit(f"{_FAMILIES.get(type_, 'typed')} compare", **rows, **fields)


@opcodes("set")
def set_(writer: Writer, form: Form) -> None:
    made, type_ = form.types[0], form.take_type()
    rows, fields = writer.rows_of("DAB", form.args, type_), _compared(writer, form, type_)
    if type_ in _HALVES:
        fields["variant"] |= halves.FLAG_BITS * (made not in _HALVES)
        return writer.emit("half set", **rows, **fields)
    is_true, to = writer.own_predicate(), rows.pop("d")
    one = writer.immediate(0x3F800000 if made == "f32" else ALL)
    writer.emit(f"{_FAMILIES.get(type_, 'typed')} compare", **rows, **fields, p=is_true)
    return writer.emit("whole select", aside=True, d=to, a=one, s=is_true)


# ---- conversions

_WHOLE_ROUNDINGS = {"RNI": 0, "RMI": 1, "RPI": 2, "RZI": 3}


@opcodes("cvt")
def cvt(writer: Writer, form: Form) -> None:
    made, read = form.types
    form.take_type()
    if made in ("f16x2", "bf16x2"):
        return _pack(writer, form, made)
    saturates = form.has("sat")
    d, a = writer.row(form.args[0], SIZES[made]), writer.row(form.args[1], SIZES[read])
    if not made.lstrip("b").startswith("f") and not read.lstrip("b").startswith("f"):
        variant = kind_bits(read) | KINDS[made] << MADE_SHIFT | floats.SATURATED * saturates
        writer.emit("typed convert", d=d, a=a, variant=variant)
        return widen(writer, form.args[0], d, made)
    is_whole = made[0] in "us"
    whole = form.choose(_WHOLE_ROUNDINGS, -1)
    rounding = whole if whole >= 0 else form.choose(floats.ROUNDINGS, 0)
    variant = rounding | form.flags({"FTZ": floats.ENDS["FTZ"]})
    if saturates and not is_whole:
        if (made, read) != ("f32", "f32") or whole >= 0:
            raise form.refuse()
        rows = {"d": d, "a": a, "b": writer.immediate(_SIGN)}
        return writer.emit("float add", is_float=True, **rows, variant=floats.SATURATED)
    if is_whole:
        name = "float to whole"
    elif read[0] in "us":
        name = "whole to float"
    else:
        name = "float to round" if whole >= 0 else "float to float"
    variant |= KINDS[read] << floats.IN_SHIFT | KINDS[made] << floats.OUT_SHIFT
    writer.emit(name, d=d, a=a, variant=variant, is_float=read[0] not in "us")
    return widen(writer, form.args[0], d, made) if is_whole else None


def _pack(writer: Writer, form: Form, made: str) -> None:
    variant = form.choose(floats.ROUNDINGS, 0) | _half_variant(form, made)
    writer.emit("half pack", is_float=True, **writer.rows_of("dab", form.args), variant=variant)
