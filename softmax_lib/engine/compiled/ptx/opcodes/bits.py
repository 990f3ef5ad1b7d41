"""Logic, shifts, fields, counts, selections and moves."""

from __future__ import annotations

from collections.abc import Mapping

from softmax_lib.engine.compiled.draft import NO_BITS, TRUE
from softmax_lib.engine.compiled.memory import LOCAL_WINDOW, SHARED_WINDOW
from softmax_lib.engine.compiled.opcodes.exchanges import SPECIAL
from softmax_lib.engine.compiled.opcodes.wholes import PERMUTATIONS
from softmax_lib.engine.compiled.ptx.form import KINDS, MADE_SHIFT, Form, kind_bits, opcodes
from softmax_lib.engine.compiled.ptx.reading import SIZES
from softmax_lib.engine.compiled.ptx.writer import Writer, vector


@opcodes({
    "rem": ("typed remainder", "DAB"),
    "copysign": ("typed copy sign", "DAB"),
    "sad": ("typed difference", "DABC"),
    "shl": ("typed shift left", "DAb"),
    "shr": ("typed shift right", "DAb"),
    "bfe": ("typed extract", "DAbc"),
    "brev": ("typed reverse", "DA"),
    "clz": ("typed count zeros", "dA"),
    "popc": ("typed count ones", "dA"),
    "bfind": ("typed find bit", "dA", {"shiftamt": 1}),
})  # fmt: skip
def do_typed(
    writer: Writer, form: Form, operation: str, slots: str, bits: Mapping[str, int] = NO_BITS
) -> None:
    """Slots are as in `Writer.rows_of`."""
    type_ = form.take_type()
    rows = writer.rows_of(slots, form.args, type_)
    writer.emit(operation, **rows, variant=kind_bits(type_) | form.flags(bits))


@opcodes({
    "shf": ("whole shift", "dacb", {"l": 2, "r": 1, "clamp": 0, "wrap": 16}),
    "prmt": ("whole permute", "dacb", PERMUTATIONS),
})  # fmt: skip
def do_words(
    writer: Writer, form: Form, operation: str, slots: str, bits: Mapping[str, int]
) -> None:
    form.take_type()
    writer.emit(operation, **writer.rows_of(slots, form.args), variant=form.flags(bits))


_AND, _OR, _EXCLUSIVE_OR = 0xC0, 0xFC, 0x3C
"""Tables of functions of three bits that do not ask for the last one."""


@opcodes({"and": ("typed and", _AND), "or": ("typed or", _OR), "xor not": ("typed xor", _EXCLUSIVE_OR)})  # fmt: skip
def logic(writer: Writer, form: Form, operation: str, of_predicates: int) -> None:
    type_ = form.take_type()
    if type_ != "pred":
        rows = {"b": writer.immediate(-1, 2)} | writer.rows_of("DAB", form.args, type_)
        return writer.emit(operation, **rows, variant=kind_bits(type_))
    read = (writer.reads(text, slot) for text, slot in zip(form.args[1:], "st", strict=False))
    fields = {name: number for one in read for name, number in one.items()}
    return combine_predicates(writer, form.args[0], fields, of_predicates)


def combine_predicates(writer: Writer, to: str, read: Mapping[str, int], table: int) -> None:
    """Makes a predicate of those in s and t, which is true where none is given."""
    to_row = {"p": writer.written_predicate(to), "d": TRUE, "c": 0}
    writer.emit("predicate logic", **to_row, **read, variant=table)


@opcodes("lop3")
def lop3(writer: Writer, form: Form) -> None:
    form.take_type()
    rows = writer.rows_of("dabc", form.args[:4])
    writer.emit("whole logic", **rows, variant=int(form.args[4], 0) & 255)


@opcodes("bfi")
def bfi(writer: Writer, form: Form) -> None:
    type_, many = form.take_type(), writer.row(form.args[4])
    rows = writer.rows_of("DABc", form.args, type_)
    writer.emit("typed insert", **rows, flip=[many, 0, 0], variant=kind_bits(type_))


@opcodes({"dp4a": (0, {}), "dp2a": (4, {"lo": 0, "hi": 8})})
def dot(writer: Writer, form: Form, variant: int, bits: Mapping[str, int]) -> None:
    is_signed = [one[0] == "s" for one in form.types]
    form.take_type()
    variant |= is_signed[0] | 2 * is_signed[1] | form.flags(bits)
    writer.emit("whole dot", **writer.rows_of("dabc", form.args), variant=variant)


@opcodes({"vabsdiff4": (8,), "vabsdiff2": (16,)})
def vabsdiff(writer: Writer, form: Form, bits: int) -> None:
    variant = bits | 32 * (form.types[1][0] == "s")
    form.take_type()
    name = "parts differences" if form.has("add") else "parts difference"
    writer.emit(name, **writer.rows_of("dabc", form.args), variant=variant)


@opcodes("selp")
def selp(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    rows, told = writer.rows_of("DAB", form.args, type_), writer.reads(form.args[3])
    writer.emit("whole select", **rows, **told)
    if SIZES[type_] == 8:
        upper = {slot: row + 1 for slot, row in rows.items()}
        writer.emit("whole select", aside=True, **upper, **told)


# ---- moves

_NAMES = {
    "%laneid": "SR_LANEID", "%lanemask_eq": "SR_EQMASK", "%lanemask_lt": "SR_LTMASK", "%lanemask_le": "SR_LEMASK",
    "%lanemask_gt": "SR_GTMASK", "%lanemask_ge": "SR_GEMASK", "%warpid": "SR_VIRTID", "%clock": "SR_CLOCKLO",
    "%clock_hi": "SR_CLOCKHI", "%smid": "SRZ", "%cluster_ctarank": "SR_CgaCtaId",
    **{f"%{name}.{axis}": f"SR_{name}.{axis}".upper() for name in ("tid", "ctaid") for axis in "xyz"},
    **{f"%cluster_ctaid.{axis}": f"%cluster_ctaid.{axis}" for axis in "xyz"},
}  # fmt: skip
_SPECIAL = {name: SPECIAL.index(register) for name, register in _NAMES.items()}
_CLOCK = "%clock64"


@opcodes("mov")
def mov(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    to, text = form.args
    if type_ == "pred":
        combine_predicates(writer, to, writer.reads(text), _AND)
    elif to.startswith("{"):
        _split(writer, vector(to), writer.row(text, SIZES[type_]), type_)
    elif text.startswith("{"):
        _join(writer, writer.row(to), vector(text), type_)
    elif text in _SPECIAL:
        writer.emit("read special", d=writer.row(to), variant=_SPECIAL[text])
    elif text == _CLOCK:
        writer.emit("read special", d=writer.row(to), variant=_SPECIAL["%clock"])
        writer.emit("read special", aside=True, d=writer.row(to) + 1, variant=_SPECIAL["%clock_hi"])
    else:
        rows = writer.rows_of("DA", form.args, type_)
        move(writer, rows["d"], rows["a"], SIZES[type_], aside=False)


def _split(writer: Writer, to: list[str], row: int, type_: str) -> None:
    """The parts of a number, the lowest first."""
    size = SIZES[type_] // len(to)
    for number, name in enumerate(to):
        if name != "_":
            split(writer, writer.row(name), row, number * size, size, aside=number > 0)


def move(writer: Writer, to: int, row: int, size: int, *, aside: bool) -> None:
    """A number of up to 8 bytes."""
    writer.emit("whole move pair" if size == 8 else "whole move", aside=aside, d=to, a=row)


def convert(writer: Writer, row: int, read: str, made: str) -> None:
    """A number where it is becomes one of another type."""
    variant = kind_bits(read) | KINDS[made] << MADE_SHIFT
    writer.emit("typed convert", aside=True, d=row, a=row, variant=variant)


def widen(writer: Writer, name: str, row: int, type_: str) -> None:
    """A number of 32 bits or fewer fills a register of 64 with its sign."""
    if SIZES[type_] < SIZES.get(writer.type_of(name), 4) == 8:
        sign = "s" if type_[0] == "s" else "u"
        convert(writer, row, f"{sign}32", f"{sign}64")


def split(writer: Writer, to: int, row: int, at: int, size: int, *, aside: bool) -> None:
    """A number of so many bytes from rows that lie behind each other, `at` so many bytes."""
    if size >= 4:
        return move(writer, to, row + at // 4, size, aside=aside)
    field = {"b": writer.immediate(at % 4 * 8), "c": writer.immediate(8 * size)}
    a, variant = row + at // 4, kind_bits("u32")
    return writer.emit("typed extract", aside=aside, d=to, a=a, **field, variant=variant)


def _join(writer: Writer, row: int, parts: list[str], type_: str) -> None:
    size = SIZES[type_] // len(parts)
    rows = [writer.row(part) for part in parts]
    if size == 4:
        for number, part in enumerate(rows):
            move(writer, row + number, part, size, aside=number > 0)
    else:
        pack(writer, row, rows, size, aside=False)


def pack(writer: Writer, row: int, parts: list[int], size: int, *, aside: bool) -> None:
    """Bytes or halves into rows that lie behind each other."""
    a_word = 4 // size
    for first in range(0, len(parts), a_word):
        d, (a, *others) = row + first // a_word, parts[first : first + a_word]
        for number, part in enumerate(others, 1):
            at = number * size  # from this byte on, the part's
            chosen = sum((k if k < at else 4 + k - at) << 4 * k for k in range(4))
            rows = {"d": d, "a": a, "b": writer.immediate(chosen), "c": part}
            writer.emit("whole permute", aside=aside, **rows)
            a, aside = d, True


_WINDOWS = {"shared": SHARED_WINDOW, "shared::cta": SHARED_WINDOW, "local": LOCAL_WINDOW}


@opcodes("cvta")
def cvta(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    to_space = form.has("to")
    change = writer.immediate(form.flags(_WINDOWS | {"global": 0, "const": 0, "param": 0}) << 32, 2)
    if SIZES[type_] != 8:
        raise form.refuse()
    name = "typed subtract" if to_space else "typed add"
    rows = writer.rows_of("DA", form.args, type_)
    writer.emit(name, **rows, b=change, variant=kind_bits("u64"))


@opcodes("isspacep")
def isspacep(writer: Writer, form: Form) -> None:
    window = form.choose(_WINDOWS)
    p, a = writer.written_predicate(form.args[0]), writer.row(form.args[1], 8) + 1
    writer.emit("typed compare", p=p, a=a, b=writer.immediate(window), variant=2 | kind_bits("u32"))
