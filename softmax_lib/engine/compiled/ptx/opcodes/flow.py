"""Branches, ends and barriers, and what lanes tell each other."""

from __future__ import annotations

from softmax_lib.engine.compiled.opcodes.exchanges import REDUCTIONS, SHUFFLES, SIGNED
from softmax_lib.engine.compiled.opcodes.flow import APART, VOTES
from softmax_lib.engine.compiled.ptx.form import Form, kind_bits, opcodes
from softmax_lib.engine.compiled.ptx.reading import SIZES
from softmax_lib.engine.compiled.ptx.writer import Writer


@opcodes("bra")
def bra(writer: Writer, form: Form) -> None:
    form.ignore("uni")
    writer.emit("part")
    writer.goes_to(form.args[0])


@opcodes("brx")
def brx(writer: Writer, form: Form) -> None:
    form.ignore("idx", "uni")
    goals = writer.flat.tables[form.args[1]]
    which = writer.row(form.args[0])
    found = writer.own_predicate()
    variant = 2 | kind_bits("u32")
    for number, goal in enumerate(goals[:-1]):
        b = writer.immediate(number)
        writer.emit("typed compare", aside=True, p=found, a=which, b=b, variant=variant)
        writer.emit("part", aside=True, s=found)
        writer.goes_to(goal)
    writer.emit("part")
    writer.goes_to(goals[-1])


@opcodes({
    "ret exit": ("exit",),
    "trap brkpt": ("trap",),
    "nanosleep": ("sleep",),
    "membar fence pragma griddepcontrol": ("nothing",),
    "prefetch prefetchu applypriority discard createpolicy": ("nothing",),
})  # fmt: skip
def do_without_operands(writer: Writer, form: Form, operation: str) -> None:
    form.ignore(*form.statement.modifiers)
    writer.emit(operation)


@opcodes("bar barrier")
def bar(writer: Writer, form: Form) -> None:
    form.ignore("aligned", "cta", "sync")
    if form.has("warp"):
        return writer.emit("warp sync", a=writer.row(form.args[0]), variant=APART)
    if form.has("cluster"):
        form.ignore("relaxed", "release", "acquire")
        arrives = form.has("arrive")
        if not arrives and not form.has("wait"):
            raise form.refuse()
        return writer.emit("arrive cluster" if arrives else "await cluster")
    if not form.has("red"):
        rows = writer.rows_of("ab", form.args)
        return writer.emit("block barrier", **rows, variant=int(form.has("arrive")))
    form.take_type()
    how = form.choose(VOTES)
    to, *numbers, told = form.args
    rows = writer.rows_of("ab", numbers)
    writer.emit("block barrier", **rows, **writer.reads(told), variant=how)
    if how == VOTES["POPC"]:
        return writer.emit("read barrier", aside=True, d=writer.row(to))
    return writer.emit("read barrier", aside=True, p=writer.written_predicate(to))


# ---- lanes of a warp


def _meet(writer: Writer, form: Form, mask: str) -> None:
    """The lanes that a mask names come together."""
    if not form.has("sync"):
        raise form.refuse()
    writer.emit("warp sync", aside=True, a=writer.row(mask), variant=APART)


def _result(writer: Writer, text: str) -> dict[str, int]:
    """A register, and behind a bar a predicate."""
    to, _, held = text.partition("|")
    fields = {"p": writer.written_predicate(held.strip())} if held else {}
    return {"d": writer.row(to.strip()), **fields}


@opcodes("shfl")
def shfl(writer: Writer, form: Form) -> None:
    form.take_type()
    _meet(writer, form, form.args[4])
    rows = writer.rows_of("abc", form.args[1:4])
    how = form.choose(SHUFFLES)
    writer.emit("shuffle", **_result(writer, form.args[0]), **rows, variant=how)


@opcodes("vote")
def vote(writer: Writer, form: Form) -> None:
    form.take_type()
    to, told, mask = form.args
    _meet(writer, form, mask)
    read = writer.reads(told)
    if form.has("ballot"):
        return writer.emit("vote", d=writer.row(to), **read)
    how = form.choose({"any": 0, "all": 1, "uni": 2})
    return writer.emit("vote", p=writer.written_predicate(to), **read, variant=how)


@opcodes("activemask")
def activemask(writer: Writer, form: Form) -> None:
    form.take_type()
    writer.emit("vote", d=writer.row(form.args[0]))


@opcodes("match")
def match(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    _meet(writer, form, form.args[2])
    variant = int(SIZES[type_] == 8) | form.flags({"any": 0, "all": 2})
    a = writer.row(form.args[1], SIZES[type_])
    writer.emit("match", **_result(writer, form.args[0]), a=a, variant=variant)


_OWN_LANES = 16


@opcodes("redux")
def redux(writer: Writer, form: Form) -> None:
    type_ = form.take_type()
    _meet(writer, form, form.args[2])
    variant = form.choose(REDUCTIONS) | SIGNED * (type_ == "s32") | _OWN_LANES
    writer.emit("reduce", **writer.rows_of("da", form.args), variant=variant)
