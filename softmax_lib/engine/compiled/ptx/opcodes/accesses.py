"""Loads, stores, copies and atomics; what a call is given and gives back; barriers in shared memory."""

from __future__ import annotations

from softmax_lib.engine.compiled.draft import ALL
from softmax_lib.engine.compiled.opcodes import memory
from softmax_lib.engine.compiled.ptx.form import Form, kind_bits, opcodes
from softmax_lib.engine.compiled.ptx.inlining import CONSTANT_BANK, PARAMETERS_AT
from softmax_lib.engine.compiled.ptx.opcodes.bits import convert, move, pack, split, widen
from softmax_lib.engine.compiled.ptx.reading import SIZES
from softmax_lib.engine.compiled.ptx.writer import Writer, vector

_SPACES = {
    "global": memory.GLOBAL,
    "shared": memory.SHARED,
    "shared::cta": memory.SHARED,
    "local": memory.LOCAL,
}
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


def _access(writer: Writer, text: str, space: str) -> dict[str, int]:
    """Rows of an address, and what it is an address of."""
    variant = _SPACES.get(space, memory.GLOBAL) | (0 if space else memory.GENERIC)
    if space in ("", "global"):
        variant |= memory.WIDE
    return {**writer.address(text), "variant": variant, "site": 0}


@opcodes("ld ldu")
def load(writer: Writer, form: Form) -> None:
    type_, space = form.take_type(), _space(form)
    to = vector(form.args[0])
    if space == "param":
        return _load_parameter(writer, form, to, type_)
    size = SIZES[type_]
    row, is_staged = _side_by_side(writer, to, size)
    if space == "const":
        name, fields = "load constant", writer.address(form.args[1])
        fields["variant"] = CONSTANT_BANK << 8
    else:
        name, fields = "load", _access(writer, form.args[1], space)
    fields["variant"] |= memory.SIGNED * (type_ in ("s8", "s16"))
    writer.emit(name, d=row, bytes=size * len(to), **fields)
    if is_staged:
        for number, register in enumerate(to):
            if register != "_":
                split(writer, writer.row(register), row, number * size, size, aside=True)
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


@opcodes("st")
def store(writer: Writer, form: Form) -> None:
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
        if barrier["offset"]:
            raise form.refuse()
        fields = {**to, "b": barrier["a"], "site": 0}
        return writer.emit("store and tell", d=row, bytes=size * len(names), **fields)
    fields = _access(writer, form.args[0], space)
    return writer.emit("store", d=row, bytes=size * len(names), **fields)


# ---- parameters: a kernel's are constants, those of a call are registers


def _load_parameter(writer: Writer, form: Form, to: list[str], type_: str) -> None:
    form.ignore("func", "entry")
    name, offset = writer.symbol(form.args[1])
    size, place = SIZES[type_], writer.layout.parameters.get(name)
    for number, register in enumerate(to):
        at, row, aside = offset + number * size, writer.row(register), number > 0
        if place is None:
            split(writer, row, _held(writer, form, name), at, size, aside=aside)
            if size < 4 and type_[0] == "s":
                convert(writer, row, type_, "s32")
        elif size >= 4:
            source = writer.rows.constant(0, PARAMETERS_AT + place + at, size // 4)
            move(writer, row, source, size, aside=aside)
        else:
            fields = {"offset": PARAMETERS_AT + place + at, "bytes": size}
            fields["variant"] = memory.SIGNED * (type_ in ("s8", "s16"))
            writer.emit("load constant", aside=aside, d=row, **fields)
        widen(writer, register, row, type_)


def _store_parameter(writer: Writer, form: Form, names: list[str], type_: str) -> None:
    form.ignore("func")
    name, offset = writer.symbol(form.args[0])
    size = SIZES[type_]
    for number, register in enumerate(names):
        row, at, aside = writer.row(register, size), offset + number * size, number > 0
        held = _held(writer, form, name) + at // 4
        if size >= 4:
            move(writer, held, row, size, aside=aside)
        else:
            fields = {"c": writer.immediate(at % 4 * 8), "variant": kind_bits("b32")}
            flip = [writer.immediate(8 * size), 0, 0]
            writer.emit("typed insert", aside=aside, d=held, a=row, b=held, flip=flip, **fields)


def _held(writer: Writer, form: Form, name: str) -> int:
    """The first row of a call's parameter."""
    held = writer.place_of(name)
    if held is None:
        raise form.refuse()
    return held


# ---- copies and atomics


@opcodes("cp")
def cp_async(writer: Writer, form: Form) -> None:
    if not form.has("async") or form.has("bulk", "mbarrier"):
        raise form.refuse()
    if form.has("commit_group", "wait_group", "wait_all"):
        return writer.emit("nothing")
    if not (form.has("global") and form.has("shared", "shared::cta")):
        raise form.refuse()
    bypasses = form.has("cg")
    form.ignore(*_UNCOUNTED)
    to, source = writer.address(form.args[0]), writer.address(form.args[1])
    variant, told = memory.GLOBAL | memory.WIDE | memory.BYPASSES * bypasses, 0
    if len(form.args) > 3 + form.has("L2::cache_hint"):
        variant, told = variant | memory.TOLD, writer.row(form.args[3])
    return writer.emit(
        "copy to shared", d=to["a"], flip=[told, 0, to["offset"] & ALL], **source,
        bytes=int(form.args[2], 0), variant=variant, site=0,
    )  # fmt: skip


_NUMBERS = {name.lower(): number for name, number in memory.NUMBERS.items()}


@opcodes({"atom": (True,), "red": (False,)})
def change(writer: Writer, form: Form, gives: bool) -> None:
    type_, space = form.take_type(), _space(form)
    how = form.choose(memory.CHANGES)
    size = SIZES[type_]
    if size < 4 or form.args[0].startswith("{"):
        raise form.refuse()
    args = list(form.args)
    to = writer.row(args.pop(0), size) if gives else writer.rows.trash
    fields = _access(writer, args[0], space)
    fields["variant"] |= (how | _NUMBERS.get(type_, 0) << 4) << 8
    other = writer.row(args[2], size) if len(args) > 2 else writer.rows.zero
    writer.emit(
        "change memory", d=to, c=writer.row(args[1], size), flip=[other, 0, 0], bytes=size, **fields
    )


# ---- what blocks of a cluster tell each other, and barriers in shared memory that count arrivals and bytes

_FROM_COUNT = 1
_ORDERS = (
    "shared", "shared::cta", "shared::cluster", "relaxed", "release", "acquire", "cta", "cluster", "b64",
)  # fmt: skip


@opcodes("mapa")
def mapa(writer: Writer, form: Form) -> None:
    size = SIZES[form.take_type()]
    form.ignore("shared::cluster")
    to, source = writer.row(form.args[0], size), writer.row(form.args[1], size)
    if size == 8:  # of a generic address the upper word stays
        move(writer, to + 1, source + 1, 4, aside=True)
    writer.emit("to rank", d=to, a=source, b=writer.row(form.args[2]))


@opcodes("mbarrier")
def mbarrier(writer: Writer, form: Form) -> None:
    form.ignore(*_ORDERS)
    if form.has("inval"):
        return writer.emit("nothing")
    if form.has("init"):
        at, count = writer.address(form.args[0]), writer.row(form.args[1])
        return writer.emit("set mbarrier", **at, c=count, variant=_FROM_COUNT)
    if form.has("try_wait", "test_wait"):
        return _wait(writer, form)
    arrives, expects = form.has("arrive"), form.has("expect_tx")
    args = list(form.args)
    to = args.pop(0) if arrives and not args[0].startswith("[") else "_"
    at = writer.address(args[0])
    told = "A0TR" if expects else "ART0" if len(args) > 1 else "A1T0"
    return writer.emit(
        "arrive at mbarrier", **at,
        d=writer.rows.trash if to == "_" else writer.row(to, 8),
        c=writer.row(args[1]) if len(args) > 1 else writer.rows.zero,
        variant=memory.ARRIVALS["" if arrives and expects else told],
    )  # fmt: skip


def _wait(writer: Writer, form: Form) -> None:
    at = writer.address(form.args[1])
    variant = form.flags({"try_wait": memory.TRIES, "parity": memory.LOWEST})
    is_bit = variant & memory.LOWEST  # else the upper word of a state, whose highest bit it is
    parity = writer.row(form.args[2]) if is_bit else writer.row(form.args[2], 8) + 1
    p = writer.written_predicate(form.args[0])
    writer.emit("await phase", **at, b=parity, p=p, variant=variant)
