"""What blocks of a cluster tell each other, and barriers in shared memory that count arrivals and bytes."""

from __future__ import annotations

from softmax_lib.engine.compiled.opcodes.clusters import ARRIVALS, LOWEST, TRIES
from softmax_lib.engine.compiled.ptx.form import Form, opcodes
from softmax_lib.engine.compiled.ptx.opcodes.bits import move
from softmax_lib.engine.compiled.ptx.reading import SIZES
from softmax_lib.engine.compiled.ptx.writer import Writer

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
        variant=ARRIVALS["" if arrives and expects else told],
    )  # fmt: skip


def _wait(writer: Writer, form: Form) -> None:
    at = writer.address(form.args[1])
    variant = form.flags({"try_wait": TRIES, "parity": LOWEST})
    parity = writer.row(form.args[2]) if variant & LOWEST else writer.row(form.args[2], 8) + 1
    p = writer.written_predicate(form.args[0])
    writer.emit("await phase", **at, b=parity, p=p, variant=variant)
