"""Loads, stores, copies and atomics; what a call is given and gives back."""

from __future__ import annotations

from typing import Any

from softmax_lib.engine.compiled.opcodes.memory import (
    BYPASSES,
    CHANGES,
    GENERIC,
    GLOBAL,
    LOCAL,
    NUMBERS,
    SHARED,
    SIGNED,
    TOLD,
    WIDE,
)
from softmax_lib.engine.compiled.ptx.form import Form, kind_bits, opcode
from softmax_lib.engine.compiled.ptx.layout import CONSTANT_BANK, PARAMETERS_AT
from softmax_lib.engine.compiled.ptx.opcodes.bits import convert, move, pack, unpack, widen
from softmax_lib.engine.compiled.ptx.reading import SIZES
from softmax_lib.engine.compiled.ptx.writer import Writer, vector

_SPACES = {"global": GLOBAL, "shared": SHARED, "shared::cta": SHARED, "local": LOCAL}
_UNCOUNTED = (
    "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "volatile", "weak", "relaxed", "acquire", "release", "acq_rel",
    "cta", "cluster", "gpu", "sys", "mmio", "noftz", "rn", "unified", "L1::evict_normal", "L1::evict_unchanged",
    "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::evict_first", "L2::evict_last", "L2::evict_normal",
    "L2::64B", "L2::128B", "L2::256B", "L2::cache_hint",
)  # fmt: skip
"""Caches and order: of an access they change no number of requests or sectors."""

_VECTORS = ("v2", "v4")


def _space(form: Form) -> str:
    found = next((name for name in (*_SPACES, "param", "const") if form.has(name)), "")
    form.ignore(*_UNCOUNTED, *_VECTORS)
    return found


def _access(writer: Writer, text: str, space: str) -> dict[str, Any]:
    """Rows of an address, and what it is an address of."""
    address = writer.address(text)
    variant = _SPACES.get(space, GLOBAL) | (0 if space else GENERIC)
    if space in ("", "global"):
        variant |= WIDE
    return {"a": address.row, "offset": address.offset, "variant": variant, "site": 0}


@opcode("ld", "ldu")
def _(writer: Writer, form: Form) -> None:
    type_, space = form.take_type(), _space(form)
    to = vector(form.args[0])
    if space == "param":
        return _load_parameter(writer, form, to, type_)
    size = SIZES[type_]
    row, is_staged = _side_by_side(writer, to, size)
    if space == "const":
        address = writer.address(form.args[1])
        fields: dict[str, Any] = {
            "a": address.row,
            "offset": address.offset,
            "variant": CONSTANT_BANK << 8,
        }
    else:
        fields = _access(writer, form.args[1], space)
    fields["variant"] |= SIGNED * (type_ in ("s8", "s16"))
    name = "load constant" if space == "const" else "load"
    writer.emit(name, d=row, bytes=size * len(to), **fields)
    if is_staged:
        for number, register in enumerate(to):
            _unstage(writer, register, row, number, size)
    elif len(to) == 1:
        widen(writer, to[0], row, type_)
    return None


def _side_by_side(writer: Writer, names: list[str], size: int) -> tuple[int, bool]:
    """The first row of registers that an access moves; of others rows beside them, and that they are."""
    rows = [writer.place_of(name) for name in names]
    words = max(1, size // 4)
    first = rows[0]
    if len(rows) == 1 and first is not None:
        return first, False
    if first is not None and size >= 4 and rows == [first + words * n for n in range(len(rows))]:
        return first, False
    return writer.rows.trash, True


def _unstage(writer: Writer, name: str, row: int, number: int, size: int) -> None:
    if name == "_":
        return
    if size < 4:
        unpack(writer, writer.row(name), row, number * size, size, aside=True)
    else:
        move(writer, writer.row(name), row + number * size // 4, size, aside=True)


@opcode("st")
def _(writer: Writer, form: Form) -> None:
    tells = form.has("async")
    type_, space = form.take_type(), _space(form)
    names, size = vector(form.args[1]), SIZES[type_]
    if space == "param":
        return _store_parameter(writer, form, names, type_)
    if len(names) == 1:
        row, is_staged = writer.row(names[0], size), False
    else:
        row, is_staged = _side_by_side(writer, names, size)
    if is_staged and size < 4:
        pack(writer, row, [writer.row(name) for name in names], size, aside=True)
    elif is_staged:
        for number, name in enumerate(names):
            move(writer, row + number * size // 4, writer.row(name, size), size, aside=True)
    if tells:
        form.ignore("shared::cluster", "mbarrier::complete_tx::bytes")
        to, barrier = writer.address(form.args[0]), writer.address(form.args[2])
        if barrier.offset:
            raise form.refuse()
        at = {"a": to.row, "offset": to.offset, "b": barrier.row, "site": 0}
        return writer.emit("store and tell", d=row, bytes=size * len(names), **at)
    return writer.emit(
        "store", d=row, bytes=size * len(names), **_access(writer, form.args[0], space)
    )


# ---- parameters: a kernel's are constants, those of a call are registers


def _load_parameter(writer: Writer, form: Form, to: list[str], type_: str) -> None:
    form.ignore("func", "entry")
    name, offset = writer.parameter(form.args[1])
    size = SIZES[type_]
    for number, register in enumerate(to):
        at, row = offset + number * size, writer.row(register)
        if name in writer.layout.parameters:
            place = PARAMETERS_AT + writer.layout.parameters[name] + at
            variant = SIGNED * (type_ in ("s8", "s16"))
            if size >= 4:
                source = writer.rows.constant(0, place, size // 4)
                move(writer, row, source, size, aside=number > 0)
            else:
                writer.emit("load constant", aside=number > 0, d=row, offset=place, bytes=size, variant=variant)  # fmt: skip
        else:
            _move_parameter(writer, form, row, name, at, type_, is_load=True, aside=number > 0)
        widen(writer, register, row, type_)


def _store_parameter(writer: Writer, form: Form, names: list[str], type_: str) -> None:
    form.ignore("func")
    name, offset = writer.parameter(form.args[0])
    size = SIZES[type_]
    for number, register in enumerate(names):
        row = writer.row(register, size)
        _move_parameter(writer, form, row, name, offset + number * size, type_, is_load=False, aside=number > 0)  # fmt: skip


def _move_parameter(writer: Writer, form: Form, row: int, name: str, at: int, type_: str, *, is_load: bool, aside: bool) -> None:  # fmt: skip
    size, held = SIZES[type_], writer.place_of(name)
    if held is None:
        raise form.refuse()
    held += at // 4
    if size >= 4:
        to, source = (row, held) if is_load else (held, row)
        move(writer, to, source, size, aside=aside)
    elif is_load:
        unpack(writer, row, held, at % 4, size, aside=aside)
        if type_[0] == "s":
            convert(writer, row, type_, "s32")
    else:
        bits = writer.immediate(8 * size)
        writer.emit(
            "typed insert", aside=aside, d=held, a=row, b=held, c=writer.immediate(at % 4 * 8), flip=[bits, 0, 0],
            variant=kind_bits("b32"),
        )  # fmt: skip


# ---- copies and atomics


@opcode("cp")
def _(writer: Writer, form: Form) -> None:
    if not form.has("async") or form.has("bulk", "mbarrier"):
        raise form.refuse()
    if form.has("commit_group", "wait_group", "wait_all"):
        return writer.emit("nothing")
    if not (form.has("global") and form.has("shared", "shared::cta")):
        raise form.refuse()
    bypasses = form.has("cg")
    form.ignore(*_UNCOUNTED)
    to, source = writer.address(form.args[0]), writer.address(form.args[1])
    variant, told = GLOBAL | WIDE | BYPASSES * bypasses, 0
    if len(form.args) > 3 + form.has("L2::cache_hint"):
        variant, told = variant | TOLD, writer.row(form.args[3])
    return writer.emit(
        "copy to shared", d=to.row, flip=[told, 0, to.offset & 0xFFFFFFFF], a=source.row, offset=source.offset,
        bytes=int(form.args[2], 0), variant=variant, site=0,
    )  # fmt: skip


_CHANGES = {name.lower(): number for name, number in CHANGES.items()}
_NUMBERS = {name.lower(): number for name, number in NUMBERS.items()}


@opcode("atom", "red")
def _(writer: Writer, form: Form) -> None:
    type_, space = form.take_type(), _space(form)
    change = form.choose(_CHANGES)
    size = SIZES[type_]
    if size < 4 or form.args[0].startswith("{"):
        raise form.refuse()
    args = list(form.args)
    to = writer.row(args.pop(0), size) if form.statement.opcode == "atom" else writer.rows.trash
    fields = _access(writer, args[0], space)
    fields["variant"] |= (change | _NUMBERS.get(type_, 0) << 4) << 8
    other = writer.row(args[2], size) if len(args) > 2 else writer.rows.zero
    writer.emit(
        "change memory", d=to, c=writer.row(args[1], size), flip=[other, 0, 0], bytes=size, **fields
    )


@opcode("prefetch", "prefetchu", "applypriority", "discard", "createpolicy")
def _(writer: Writer, form: Form) -> None:
    form.ignore(*form.statement.modifiers)
    writer.emit("nothing")
