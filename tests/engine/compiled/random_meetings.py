"""What threads of a random kernel do together: shared memory, atomics, and the lanes of a warp."""

from engine.compiled.random_bodies import Body
from engine.compiled.random_operations import KINDS

LANES = 32
SLOTS = {
    "unsigned": ("u", "{a}", "{s}"),
    "unsigned short": ("u", "(unsigned short){a}", "{s}"),
    "unsigned char": ("u", "(unsigned char){a}", "{s}"),
    "signed char": ("i", "(signed char){a}", "{s}"),
    "short": ("i", "(short){a}", "{s}"),
    "uint2": ("u", "make_uint2({a}, {b})", "sum({s})"),
    "uint4": ("u", "make_uint4({a}, {b}, hash, thread)", "sum({s})"),
    "unsigned long long": ("q", "{a}", "{s}"),
    "float": ("f", "{a}", "{s}"),
    "double": ("d", "{a}", "{s}"),
}
"""Types of shared arrays: of which kind they are, what is written into a slot, and what is read of it."""

SUMS = {
    "atomicAdd": "0u", "atomicSub": "0u", "atomicMin": "0xffffffffu", "atomicMax": "0u",
    "atomicAnd": "0xffffffffu", "atomicOr": "0u", "atomicXor": "0u", "atomicInc": "0u",
}  # fmt: skip
"""Atomics whose last value is the same in any order, and what they begin with in shared memory."""

IN_GLOBAL = {
    "u": ("atomicAdd", "atomicMax", "atomicOr", "atomicXor", "atomicSub", "atomicInc"),
    "i": ("atomicMin", "atomicMax", "atomicAdd"),
    "q": ("atomicAdd", "atomicMax", "atomicOr", "atomicXor"),
}
"""The same of memory that begins with zeros."""

VOTES = {
    "ballot": "__ballot_sync(warp, {p})",
    "ballots": "(unsigned)__popc(__ballot_sync(warp, {p}))",
    "rank": "(unsigned)__popc(__ballot_sync(warp, {p}) & ((1u << lane) - 1u))",
    "any": "(unsigned)__any_sync(warp, {p})",
    "all": "(unsigned)__all_sync(warp, {p})",
    "match_any": "__match_any_sync(warp, {u} & 3u)",
    "count": "(unsigned)__syncthreads_count({p})",
    "and": "(unsigned)__syncthreads_and({p})",
    "or": "(unsigned)__syncthreads_or({p})",
}
REDUCTIONS = {
    **{f"reduce_{name}": f"__reduce_{name}_sync(warp, {{u}})" for name in "add min max and or xor".split()},
    **{f"reduce_{name}_int": f"(unsigned)__reduce_{name}_sync(warp, {{i}})" for name in "add min max".split()},
}  # fmt: skip
"""They need sm_80."""


def exchange(body: Body, threads: int) -> None:
    """Each thread writes its own slot and reads another's."""
    held = [name for name, (kind, _, _) in SLOTS.items() if kind in body.variables]
    name = body.random.choice(held)
    kind, written, read = SLOTS[name]
    body.used[f"shared.{name}"] += 1
    slots = body.name("slots")
    body.write(f"__shared__ {name} {slots}[{threads}];")
    value = written.format(a=body.value(kind), b=body.value("u"))
    body.write(f"{slots}[thread] = {value};")
    body.write("__syncthreads();")
    for _ in range(body.random.randrange(1, 3)):
        shift = body.random.randrange(1, 64)
        place = body.random.choice(
            (f"(thread + {shift}u) % {threads}u", f"{threads - 1}u - thread",
             f"thread * {shift}u % {threads}u", f"{body.value('u')} % {threads}u"),
        )  # fmt: skip
        target = body.variable(kind)
        body.write(f"{target} = {read.format(s=f'{slots}[{place}]')};")
        body.write(f"hash = (hash ^ bits({target})) * 0x01000193u;")
    body.write("__syncthreads();")


def count_in_shared(body: Body, threads: int) -> None:
    """Threads, some of them in a branch, change a few shared words by one atomic; all read the result."""
    call = body.random.choice(list(SUMS))
    body.used[f"shared.{call}"] += 1
    totals = body.name("totals")
    body.write(f"__shared__ unsigned {totals}[8];")
    body.write(f"for (unsigned j = thread; j < 8u; j += {threads}u) {totals}[j] = {SUMS[call]};")
    body.write("__syncthreads();")
    value = f"{body.random.randrange(5, 99)}u" if call == "atomicInc" else body.value("u")
    change = f"{call}(&{totals}[{body.value('u')} & 7u], {value});"
    body.write(f"if ({body.condition()}) {change}" if body.chance(50) else change)
    body.write("__syncthreads();")
    body.write(f"hash ^= {totals}[(thread + {body.variable('u')}) & 7u];")
    body.write("__syncthreads();")


def count_in_global(body: Body) -> None:
    """An atomic of the words behind all results, whose old value nobody takes.

    Each kind and call has a word of its own there: other calls of the same word would not commute.
    """
    kind = body.random.choice([kind for kind in IN_GLOBAL if kind in body.variables])
    call = body.random.choice(IN_GLOBAL[kind])
    body.used[f"global.{call}_{kind}"] += 1
    word = {"u": 0, "i": 6, "q": 10}[kind] + IN_GLOBAL[kind].index(call) * (1 + (kind == "q"))
    pointer = f"reinterpret_cast<{KINDS[kind].name}*>(y + m + {word})"
    value = "77u" if call == "atomicInc" else body.value(kind)
    change = f"{call}({pointer}, {value});"
    body.write(f"if ({body.condition()}) {change}" if body.chance(60) else change)


def shuffle(body: Body, threads: int) -> None:
    """Values of other lanes; where the last warp is in part, only of lanes that are there."""
    kind = body.random.choice([kind for kind in body.variables if kind in "iulqfdh"])
    is_whole = threads % LANES == 0
    call = body.random.choice(("shfl", "up", "down", "xor") if is_whole else ("shfl", "up"))
    width = body.random.choice((32, 32, 16, 8)) if is_whole else 32
    body.used[f"warp.{call}_{width}"] += 1
    by = str(body.random.randrange(1, width if call != "xor" else 32))
    if call == "shfl":
        by = f"(int)({body.value('u')} % live)" if body.chance(60) else f"{by} % (int)live"
    name = "__shfl_sync" if call == "shfl" else f"__shfl_{call}_sync"
    target = body.variable(kind)
    body.write(f"{target} = {name}(warp, {body.variable(kind)}, {by}, {width});")
    body.write(f"hash = (hash ^ bits({target})) * 0x01000193u;")


def join(body: Body, table: dict[str, str]) -> None:
    """A vote or a reduction of a warp."""
    name = body.random.choice(list(table))
    body.used[f"warp.{name}"] += 1
    formula = table[name].replace("{p}", f"({body.condition()})")
    formula = formula.replace("{u}", body.value("u")).replace("{i}", body.value("i"))
    target = body.variable("u")
    body.write(f"{target} = {formula};")
    body.write(f"hash = (hash ^ {target}) * 0x01000193u;")


MEETINGS = {
    "shared": exchange, "atomics": count_in_shared, "shuffles": shuffle,
    "votes": lambda body, threads: join(body, VOTES), "reductions": lambda body, threads: join(body, REDUCTIONS),
}  # fmt: skip
"""What all threads of a block do together, by the feature that allows it."""
