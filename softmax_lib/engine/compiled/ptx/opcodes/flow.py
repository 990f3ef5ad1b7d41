"""Branches, ends and barriers, and what lanes tell each other."""

from __future__ import annotations

from softmax_lib.engine.compiled.opcodes.exchanges import REDUCTIONS, SHUFFLES, SIGNED
from softmax_lib.engine.compiled.opcodes.flow import VOTES
from softmax_lib.engine.compiled.ptx.form import Form, kind_bits, opcode
from softmax_lib.engine.compiled.ptx.reading import SIZES
from softmax_lib.engine.compiled.ptx.writer import Writer


@opcode("bra")
def _(writer: Writer, form: Form) -> None:
    form.ignore("uni")
    writer.emit("part")
    writer.goes_to(form.args[0])


@opcode("brx")
def _(writer: Writer, form: Form) -> None:
    form.ignore("idx", "uni")
    goals = writer.flat.tables[form.args[1]]
    which = writer.row(form.args[0])
    found = writer.own_predicate()
    for number, goal in enumerate(goals[:-1]):
        writer.emit(
            "typed compare",
            aside=True,
            p=found,
            a=which,
            b=writer.immediate(number),
            variant=2 | kind_bits("u32"),
        )
        writer.emit("part", aside=True, s=found)
        writer.goes_to(goal)
    writer.emit("part")
    writer.goes_to(goals[-1])


@opcode("ret", "exit")
def _(writer: Writer, form: Form) -> None:
    form.ignore("uni")
    writer.emit("exit")


@opcode("trap", "brkpt")
def _(writer: Writer, form: Form) -> None:
    writer.emit("trap")


@opcode("nanosleep")
def _(writer: Writer, form: Form) -> None:
    form.take_type()
    writer.emit("sleep")


@opcode("membar", "fence", "pragma", "griddepcontrol")
def _(writer: Writer, form: Form) -> None:
    form.ignore(*form.statement.modifiers)
    writer.emit("nothing")


_VOTES = {name.lower(): number for name, number in VOTES.items()}


@opcode("bar", "barrier")
def _(writer: Writer, form: Form) -> None:
    form.ignore("aligned", "cta")
    if form.has("warp"):
        form.ignore("sync")
        return writer.emit("sync named", a=writer.row(form.args[0]))
    if form.has("cluster"):
        form.ignore("relaxed", "release", "acquire")
        arrives = form.has("arrive")
        if not arrives and not form.has("wait"):
            raise form.refuse()
        return writer.emit("arrive cluster" if arrives else "await cluster")
    args = list(form.args)
    if not form.has("red"):
        arrives = form.has("arrive")
        form.ignore("sync")
        rows = dict(zip("ab", map(writer.row, args), strict=False))
        return writer.emit("block barrier", **rows, variant=int(arrives))
    form.take_type()
    how = form.choose(_VOTES)
    to, s_text = args.pop(0), args.pop()
    s, s_flip = writer.predicate(s_text)
    rows = dict(zip("ab", map(writer.row, args), strict=False))
    writer.emit("block barrier", **rows, s=s, s_flip=s_flip, variant=how)
    if how == _VOTES["popc"]:
        return writer.emit("read barrier", aside=True, d=writer.row(to))
    return writer.emit("read barrier", aside=True, p=writer.written_predicate(to))


# ---- lanes of a warp


def _meet(writer: Writer, form: Form, mask: str) -> None:
    """The lanes that a mask names come together."""
    if not form.has("sync"):
        raise form.refuse()
    writer.emit("sync named", aside=True, a=writer.row(mask))


_SHUFFLES = {name.lower(): number for name, number in SHUFFLES.items()}


@opcode("shfl")
def _(writer: Writer, form: Form) -> None:
    form.take_type()
    to, _, held = form.args[0].partition("|")
    _meet(writer, form, form.args[4])
    how = form.choose(_SHUFFLES)
    rows = dict(zip("abc", map(writer.row, form.args[1:4]), strict=True))
    fields = {"p": writer.written_predicate(held.strip())} if held else {}
    writer.emit("shuffle", d=writer.row(to.strip()), **rows, **fields, variant=how)


@opcode("vote")
def _(writer: Writer, form: Form) -> None:
    form.take_type()
    _meet(writer, form, form.args[2])
    s, s_flip = writer.predicate(form.args[1])
    if form.has("ballot"):
        return writer.emit("vote", d=writer.row(form.args[0]), s=s, s_flip=s_flip)
    how = form.choose({"any": 0, "all": 1, "uni": 2})
    return writer.emit(
        "vote", p=writer.written_predicate(form.args[0]), s=s, s_flip=s_flip, variant=how
    )


@opcode("activemask")
def _(writer: Writer, form: Form) -> None:
    form.take_type()
    writer.emit("vote", d=writer.row(form.args[0]))


@opcode("match")
def _(writer: Writer, form: Form) -> None:
    type_, is_all = form.take_type(), form.has("all")
    form.ignore("any")
    _meet(writer, form, form.args[2])
    to, _, held = form.args[0].partition("|")
    fields = {"p": writer.written_predicate(held.strip())} if held else {}
    variant = int(SIZES[type_] == 8) | 2 * is_all
    a = writer.row(form.args[1], SIZES[type_])
    writer.emit("match", d=writer.row(to.strip()), a=a, **fields, variant=variant)


_REDUCTIONS = {name.lower(): number for name, number in REDUCTIONS.items()} | {"add": REDUCTIONS["SUM"]}  # fmt: skip
_OWN_LANES = 16


@opcode("redux")
def _(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    _meet(writer, form, form.args[2])
    how = form.choose(_REDUCTIONS)
    variant = how | SIGNED * (type_ == "s32") | _OWN_LANES
    writer.emit("reduce", d=writer.row(form.args[0]), a=writer.row(form.args[1]), variant=variant)
