"""Logic, shifts, fields, counts, selections and moves."""

from __future__ import annotations

from softmax_lib.engine.compiled.draft import TRUE
from softmax_lib.engine.compiled.memory import LOCAL_WINDOW, SHARED_WINDOW
from softmax_lib.engine.compiled.opcodes.exchanges import SPECIAL
from softmax_lib.engine.compiled.opcodes.wholes import PERMUTATIONS
from softmax_lib.engine.compiled.ptx.form import KINDS, MADE_SHIFT, Form, kind_bits, opcode
from softmax_lib.engine.compiled.ptx.reading import SIZES
from softmax_lib.engine.compiled.ptx.writer import Writer, vector

_LOGIC = {"and": "typed and", "or": "typed or", "xor": "typed xor", "not": "typed not"}
_COMBINED = {"and": 0, "or": 1, "xor": 2}


@opcode(*_LOGIC)
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    if type_ != "pred":
        rows = dict(
            zip("dab", (writer.row(text, SIZES[type_]) for text in form.args), strict=False)
        )
        return writer.emit(_LOGIC[form.statement.opcode], **rows, variant=kind_bits(type_))
    if form.statement.opcode == "not":
        return _combine(writer, form.args[0], writer.predicate(form.args[1]), (TRUE, 0), 2)
    one, other = (writer.predicate(text) for text in form.args[1:])
    return _combine(writer, form.args[0], one, other, _COMBINED[form.statement.opcode])


def _combine(
    writer: Writer, to: str, one: tuple[int, int], other: tuple[int, int], how: int
) -> None:
    (s, s_flip), (t, t_flip) = one, other
    writer.emit("typed combine", p=writer.written_predicate(to), s=s, s_flip=s_flip, t=t, t_flip=t_flip, variant=how)  # fmt: skip


@opcode("lop3")
def _(writer: Writer, form: Form) -> None:
    form.take_type()
    rows = dict(zip("dabc", map(writer.row, form.args[:4]), strict=True))
    writer.emit("whole logic", **rows, variant=int(form.args[4], 0) & 255)


@opcode("shl", "shr")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    d, a = (writer.row(text, SIZES[type_]) for text in form.args[:2])
    name = "typed shift left" if form.statement.opcode == "shl" else "typed shift right"
    writer.emit(name, d=d, a=a, b=writer.row(form.args[2]), variant=kind_bits(type_))


@opcode("shf")
def _(writer: Writer, form: Form) -> None:
    form.take_type()
    is_right = form.has("r")
    form.ignore("l")
    wraps = form.has("wrap")
    form.ignore("clamp")
    rows = dict(zip("dabc", map(writer.row, form.args), strict=True))
    writer.emit("typed funnel", **rows, variant=is_right | 2 * wraps)


@opcode("bfe")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    d, a = (writer.row(text, SIZES[type_]) for text in form.args[:2])
    b, c = map(writer.row, form.args[2:])
    writer.emit("typed extract", d=d, a=a, b=b, c=c, variant=kind_bits(type_))


@opcode("bfi")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    d, a, b = (writer.row(text, SIZES[type_]) for text in form.args[:3])
    c, many = map(writer.row, form.args[3:])
    writer.emit("typed insert", d=d, a=a, b=b, c=c, flip=[many, 0, 0], variant=kind_bits(type_))


_COUNTS = {"clz": "typed count zeros", "popc": "typed count ones", "bfind": "typed find bit"}


@opcode(*_COUNTS)
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    rows = {"d": writer.row(form.args[0]), "a": writer.row(form.args[1], SIZES[type_])}
    from_top = form.has("shiftamt")
    writer.emit(_COUNTS[form.statement.opcode], **rows, variant=kind_bits(type_) | from_top)


@opcode("brev")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    d, a = (writer.row(text, SIZES[type_]) for text in form.args)
    writer.emit("typed reverse", d=d, a=a, variant=kind_bits(type_))


_PERMUTATIONS = {name.lower(): number for name, number in PERMUTATIONS.items()}


@opcode("prmt")
def _(writer: Writer, form: Form) -> None:
    form.take_type()
    d, a, c, b = map(writer.row, form.args)  # the selectors come last
    writer.emit("whole permute", d=d, a=a, b=b, c=c, variant=form.choose(_PERMUTATIONS, 0))


@opcode("dp4a", "dp2a")
def _(writer: Writer, form: Form) -> None:
    is_signed = [one[0] == "s" for one in form.types]
    form.take_type()
    variant = is_signed[0] | 2 * is_signed[1]
    if form.statement.opcode == "dp2a":
        variant |= 4 | 8 * form.has("hi")
        form.ignore("lo")
    rows = dict(zip("dabc", map(writer.row, form.args), strict=True))
    writer.emit("whole dot", **rows, variant=variant)


@opcode("vabsdiff4", "vabsdiff2")
def _(writer: Writer, form: Form) -> None:
    bits = 8 if form.statement.opcode == "vabsdiff4" else 16
    variant = bits | 32 * (form.types[1][0] == "s")
    form.take_type()
    rows = dict(zip("dabc", map(writer.row, form.args), strict=True))
    writer.emit(
        "parts differences" if form.has("add") else "parts difference", **rows, variant=variant
    )


@opcode("selp")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    rows = dict(zip("dab", (writer.row(text, SIZES[type_]) for text in form.args[:3]), strict=True))
    s, s_flip = writer.predicate(form.args[3])
    kind = "b64" if SIZES[type_] == 8 else "b32"
    writer.emit("typed select", **rows, s=s, s_flip=s_flip, variant=kind_bits(kind))


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


@opcode("mov")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    to, text = form.args
    if type_ == "pred":
        _combine(writer, to, writer.predicate(text), (TRUE, 0), 0)
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
        size = SIZES[type_]
        writer.emit("typed move", d=writer.row(to, size), a=writer.row(text, size), variant=kind_bits(type_))  # fmt: skip


def _split(writer: Writer, to: list[str], row: int, type_: str) -> None:
    """The parts of a number, the lowest first."""
    size = SIZES[type_] // len(to)
    for number, name in enumerate(to):
        if name == "_":
            continue
        aside = number > 0
        if size == 4:
            move(writer, writer.row(name), row + number, size, aside=aside)
        else:
            unpack(writer, writer.row(name), row, number * size, size, aside=aside)


def move(writer: Writer, to: int, row: int, size: int, *, aside: bool) -> None:
    """A number of 4 or 8 bytes."""
    kind = kind_bits("b64" if size == 8 else "b32")
    writer.emit("typed move", aside=aside, d=to, a=row, variant=kind)


def convert(writer: Writer, row: int, read: str, made: str) -> None:
    """A number where it is becomes one of another type."""
    variant = kind_bits(read) | KINDS[made] << MADE_SHIFT
    writer.emit("typed convert", aside=True, d=row, a=row, variant=variant)


def widen(writer: Writer, name: str, row: int, type_: str) -> None:
    """A number of 32 bits or fewer fills a register of 64 with its sign."""
    if SIZES[type_] < SIZES.get(writer.type_of(name), 4) == 8:
        sign = "s" if type_[0] == "s" else "u"
        convert(writer, row, f"{sign}32", f"{sign}64")


def unpack(writer: Writer, to: int, row: int, at: int, size: int, *, aside: bool) -> None:
    """A byte or half from rows that lie behind each other, `at` so many bytes."""
    kind = "b8" if size == 1 else "b16"
    writer.emit(
        "typed unpack", aside=aside, d=to, a=row + at // 4, variant=kind_bits(kind) | at % 4 * 8
    )


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
    for number in range(0, len(parts), a_word):
        some = [*parts[number : number + a_word], *[writer.rows.zero] * 4][:4]
        writer.emit(
            "typed pack", aside=aside or number > 0, d=row + number // a_word, a=some[0], b=some[1],
            c=some[2], flip=[some[3], 0, 0], variant=int(size == 1),
        )  # fmt: skip


_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


@opcode("cvta")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    to_space = form.has("to")
    window = next((bits for name, bits in _WINDOWS.items() if form.has(name, f"{name}::cta")), 0)  # fmt: skip
    form.ignore("global", "const", "param")
    rows = {"d": writer.row(form.args[0], 8), "a": writer.row(form.args[1], 8)}
    if SIZES[type_] != 8:
        raise form.refuse()
    change = writer.immediate(window << 32, 2)
    writer.emit("typed subtract" if to_space else "typed add", **rows, b=change, variant=kind_bits("u64"))  # fmt: skip


@opcode("isspacep")
def _(writer: Writer, form: Form) -> None:
    window = next((bits for name, bits in _WINDOWS.items() if form.has(name, f"{name}::cta")), 0)  # fmt: skip
    if not window:
        raise form.refuse()
    p, a = writer.written_predicate(form.args[0]), writer.row(form.args[1], 8) + 1
    writer.emit("typed compare", p=p, a=a, b=writer.immediate(window), variant=2 | kind_bits("u32"))
