"""Floats that become whole numbers as on a GPU: what is out of range saturates, where a CPU has one value for all of it.

Of g++'s, an instruction that has made what no number makes asks the runtime (cpp/checks.cpp) for a signed number. Of
unsigned ones, for which x86-64 has the same instructions, the runtime is told before.
clang++'s instructions are replaced in LLVM's own language, where there are some that saturate.
"""

from __future__ import annotations

import re

# ---- g++, for x86-64

GCC_ONE_BY_ONE = ("-fno-tree-loop-vectorize", "-fno-tree-slp-vectorize")
GCC_TOLD = (
    "-fsanitize=float-cast-overflow", "-fno-code-hoisting", "-fno-gcse", "-fno-lra-remat", "-fno-move-loop-invariants",
    "-fno-schedule-insns2", "-fno-tree-loop-im", "-fno-tree-pre", "-fno-tree-sink", "-fdisable-rtl-cse1",
    "-fdisable-rtl-cse_local", "-fdisable-rtl-cse2", "-fdisable-rtl-postreload", *GCC_ONE_BY_ONE,
)  # fmt: skip
"""An instruction stays behind what is told of it, and is there for one number alone."""

_FLOATS = re.compile(r"^(\.Lubsan_type\d+):\n\t\.value\t1\n", re.MULTILINE)
_UNSIGNED = re.compile(r"^(\.Lubsan_type\d+):\n\t\.value\t0\n\t\.value\t\d*[02468]\n", re.MULTILINE)
_FROM_AND_TO = re.compile(
    r"^\t\.quad\t(\.Lubsan_type\d+)\n\t\.quad\t(\.Lubsan_type\d+)$", re.MULTILINE
)

_TOLD = "__ubsan_handle_float_cast_overflow"
_CALL = re.compile(rf"\b(call|jmp)\t\*?{_TOLD}\S*")
_CAST = re.compile(r"^\tv?(cvtts([sd])2si)[lq]?\t(.+), %(\w+)$")
_PLACE = re.compile(r"\t\.loc \d+ (\d+) (\d+)")
_WIDE = {f"e{name}": f"r{name}" for name in ("ax", "bx", "cx", "dx", "si", "di", "bp")}
_WIDE |= {f"r{number}d": f"r{number}" for number in range(8, 16)}
_HALF = {wide: half for half, wide in _WIDE.items()}

_TELL = f"""
	.data
emulator_casts:
	.long	0
	.text
emulator_tell:
	movl	$1, emulator_casts(%rip)
	jmp	*{_TOLD}@GOTPCREL(%rip)
"""


def tells_unsigned(assembly: str) -> bool:
    """Whether any is told of that becomes an unsigned number, in what `GCC_TOLD` makes."""
    floats, unsigned = ({*kind.findall(assembly)} for kind in (_FLOATS, _UNSIGNED))
    pairs = _FROM_AND_TO.findall(assembly)
    return any(of in floats and to in unsigned for of, to in pairs)


def settle(assembly: str) -> str:
    """The same where each instruction of x86-64 asks, once something was told or where it has made what no number makes."""
    at_place, lines = 0, _CALL.sub(r"\1\temulator_tell", assembly).split("\n")
    for at, text in enumerate(lines):
        if place := _PLACE.match(text):
            at_place = int(place[1]) % (1 << 17) << 12 | min(int(place[2]), 4095)
        elif cast := _CAST.match(text):
            lines[at] = _asking(at_place, *cast.groups())
    return "\n".join((*lines, _TELL)) if "cvtts" in assembly else assembly


def _asking(place: int, cast: str, of: str, source: str, into: str) -> str:
    """With flags and other registers as they were, and what lies below the stack left alone."""
    wide, is_wide, is_double = _WIDE.get(into, into), into in _HALF, of == "d"
    held = wide if is_double else _HALF[wide]
    move = "q" if is_double else "d" if source.startswith("%xmm") else "l"
    return f"""\
	mov{move}	{source}, %{held}
	leaq	-128(%rsp), %rsp
	pushq	%{wide}
	{cast}	(%rsp), %{into}
	pushfq
	pushq	%{wide}
	cmpl	$0x80000000, {4 * is_wide}(%rsp)
	je	7f
	cmpl	$0, emulator_casts(%rip)
	je	8f
7:	pushq	${place << 2 | is_double << 1 | is_wide}
	call	*emulator_settle_cast@GOTPCREL(%rip)
	leaq	8(%rsp), %rsp
8:	popq	%{wide}
	popfq
	leaq	136(%rsp), %rsp"""


# ---- clang++

HAS_CASTS = re.compile(r"\bv?cvtt|\bfcvtz")
"""In assembly, what makes whole numbers of floats."""

_LLVM = re.compile(
    r"^  (%\S+) = fpto([su])i (<\d+ x )?(float|double)(>?) (.+?) to (?:<\d+ x )?i(8|16|32|64)\b>?(.*)$", re.MULTILINE
)  # fmt: skip


def saturate_llvm(code: str) -> str:
    """The same where each saturates, and makes of no number what a GPU makes of it."""
    functions: dict[str, None] = {}

    def saturating(found: re.Match) -> str:
        name, sign, many, of, end, value, bits, place = found.groups()
        size = 64 if bits == "64" else 32
        lanes, many = int(re.sub(r"\D", "", many or "1")), many or ""
        whole, real, own = f"{many}i{size}{end}", f"{many}{of}{end}", "%cast." + name[1:].strip('"')
        vector = f"v{lanes}" if many else ""
        call = f"{whole} @llvm.fpto{sign}i.sat.{vector}i{size}.{vector}f{32 if of == 'float' else 64}({real}"
        functions[f"declare {call})"] = None
        no_number = 0 if size == 32 and of == "float" else -1 << size - 1
        values = ", ".join([f"i{size} {no_number}"] * lanes)
        return "\n".join((
            f"  {own} = call {call} {value}){place}",
            f"  {own}.no = fcmp uno {real} {value}, {value}{place}",
            f"  {own}.all = select {many}i1{end} {own}.no, {whole} {f'<{values}>' if many else values.split()[1]}, {whole} {own}",
            f"  {name} = {f'trunc {whole}' if int(bits) < size else f'bitcast {whole}'} {own}.all to {many}i{bits}{end}{place}",
        ))  # fmt: skip

    changed = _LLVM.sub(saturating, code)
    return "\n".join((changed, *(one for one in functions if one not in changed), ""))
