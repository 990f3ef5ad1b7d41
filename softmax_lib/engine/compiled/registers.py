"""Which registers an instruction reads and writes, and which ones hold something that is needed later."""

from __future__ import annotations

import re

from softmax_lib.engine.compiled.listing import INSTRUCTION_BYTES, Listing, Statement, goal_of

_PREDICATE = re.compile(r"!?U?P[\dT]$")
_WRITTEN = re.compile(r"R(\d+)$")
_RESULT = re.compile(r"U?R(\d+|Z)$")
_READ = re.compile(r"(?<![A-Z])R(\d+)(\.64)?")

_BITS = re.compile(r"\.[US]?(128|64|16|8)\b")

_DOUBLES = {"DADD", "DMUL", "DFMA", "DMNMX", "DSETP"}
_ADDRESSED = {"RET", "CALL", "BRX"}
"""These take an address of code in two registers."""

_NOTHING_WRITTEN = {*"ST STG STS STL RED REDG FCHK BAR NANOSLEEP".split(), *_ADDRESSED}
_FORMATS = {"F16", "F32", "F64", "U64", "S64"}
_NO_WAY_ON = {"BRA", "BRX", "EXIT", "RET", "KILL"}


def written(statement: Statement) -> frozenset[int]:
    """Numbers of the registers that a statement writes."""
    if statement.opcode in _NOTHING_WRITTEN or statement.opcode.endswith("SETP"):
        return frozenset()
    operands = (one for one in statement.operands if not _PREDICATE.match(one))
    match = _WRITTEN.match(next(operands, ""))
    return _span(int(match[1]), _words_written(statement)) if match else frozenset()


def read(statement: Statement) -> frozenset[int]:
    """Numbers of the registers that a statement reads."""
    skipped = 1 if written(statement) else 0
    operands = [one for one in statement.operands if not _PREDICATE.match(one)]
    found: frozenset[int] = frozenset()
    for number, operand in enumerate(operands[skipped:]):
        for match in _READ.finditer(operand):
            words = 2 if match[2] else _words_read(statement, operand, number)
            found |= _span(int(match[1]), words)
    return found


def bytes_moved(access: Statement) -> int:
    """Bytes that a load or a store moves for each thread: 16 of LDG.E.128, 2 of LDG.E.U16."""
    said = _BITS.search(f".{'.'.join(access.modifiers)}")
    return int(said[1]) // 8 if said else 4


def _span(first: int, words: int) -> frozenset[int]:
    return frozenset(range(first, first + words))


def _words_written(statement: Statement) -> int:
    """Registers that a result takes."""
    opcode, named = statement.opcode, statement.modifiers
    if opcode.startswith(("LD", "ATOM")):
        return max(1, bytes_moved(statement) // 4)
    formats = [one for one in named if one in _FORMATS]
    is_long = {
        "CS2R": "32" not in named,
        "F2F": formats[:1] == ["F64"],  # to, and then from
        "FRND": "F64" in formats,
        "I2F": "F64" in formats,
        "F2I": not {"U64", "S64"}.isdisjoint(formats),
    }
    return 2 if opcode in _DOUBLES or "WIDE" in named or is_long.get(opcode) else 1


def _words_read(statement: Statement, operand: str, number: int) -> int:
    """Registers that the source `operand` takes, which is so far behind the result."""
    opcode, named = statement.opcode, statement.modifiers
    if opcode.startswith(("ST", "ATOM", "RED")):
        is_address = operand.startswith(("[", "desc["))
        return 1 if is_address else max(1, bytes_moved(statement) // 4)
    formats = [one for one in named if one in _FORMATS]
    is_long = {
        "IMAD": number == 2 and not {"WIDE", "HI"}.isdisjoint(named),
        "F2F": formats[1:2] == ["F64"],
        "FRND": "F64" in formats,
        "F2I": "F64" in formats,
        "I2F": not {"U64", "S64"}.isdisjoint(formats),
    }
    return 2 if opcode in _DOUBLES or opcode in _ADDRESSED or is_long.get(opcode) else 1


def live_after(listing: Listing) -> list[frozenset[int]]:
    """For each statement the registers that hold, once it is done, what some way through the code reads later.

    Within a function that is called they are the function's own. What is read under a predicate counts where that
    may hold.
    """
    statements = listing.statements
    following, called = _following(listing), _called(listing)
    before: list[_Wanted] = [frozenset()] * len(statements)
    after = list(before)
    lost = {
        n: frozenset().union(*(written(statements[m]) for m in _reached(goal, following)))
        for n, goal in called.items()
    }
    changed = True
    while changed:
        changed = False
        for n, one in reversed([*enumerate(statements)]):
            after[n] = _join(one, n, following[n], before)
            now = _before(one, after[n], lost.get(n, frozenset()))
            now |= before[called[n]] if n in called else frozenset()
            changed |= now != before[n]
            before[n] = now
    filled = _filled_after(listing, following, lost)
    return [
        frozenset(register for register, _ in wanted) & there
        for wanted, there in zip(after, filled, strict=True)
    ]


def _filled_after(
    listing: Listing, following: list[list[int]], lost: dict[int, frozenset[int]]
) -> list[frozenset[int]]:
    """For each statement the registers that some way to it has written, or it does; a call what its function does."""
    statements = listing.statements
    filled = [written(one) | lost.get(n, frozenset()) for n, one in enumerate(statements)]
    starts = {0, *_called(listing).values()}
    before = [frozenset[int]() for _ in statements]
    waiting = sorted(starts, reverse=True)
    seen: set[int] = set()
    while waiting:
        n = waiting.pop()
        seen.add(n)
        now = before[n] | filled[n]
        for then in following[n]:
            if then not in seen or not now <= before[then]:
                before[then] |= now
                waiting.append(then)
    return [there | own for there, own in zip(before, filled, strict=True)]


_Wanted = frozenset[tuple[int, str]]
"""Registers that are read later, each with the predicate under which it is, "" for always."""


def _opposite(guard: str) -> str:
    return guard[1:] if guard.startswith("!") else f"!{guard}"


def _join(one: Statement, number: int, following: list[int], before: list[_Wanted]) -> _Wanted:
    """What is wanted behind a statement: behind a branch with a predicate, what each way wants under it."""
    found = set()
    for then in following:
        under = ""
        if one.opcode == "BRA" and one.guard:
            under = _opposite(one.guard) if then == number + 1 else one.guard
        found |= {(register, guard or under) for register, guard in before[then]}
    both = {(register, "") for register, guard in found if (register, _opposite(guard)) in found}
    always = {register for register, guard in found | both if not guard}
    return frozenset(pair for pair in found | both if not pair[1] or pair[0] not in always)


def _before(one: Statement, wanted: _Wanted, lost: frozenset[int]) -> _Wanted:
    """What is wanted before a statement, of what is `wanted` behind it; a call loses what its function writes."""
    gone, changed = written(one) | lost, predicates_written(one)
    kept = {
        (register, "" if guard.lstrip("!") in changed else guard)
        for register, guard in wanted
        if register not in gone or (one.guard and guard != one.guard)
    }
    return frozenset(kept | {(register, one.guard) for register in read(one)})


def predicates_written(statement: Statement) -> frozenset[str]:
    """Names of the predicates that a statement may write: those at its start, and right behind its result."""
    if statement.opcode == "R2P":
        return frozenset(f"P{number}" for number in range(7))
    found, results = set(), 0
    for operand in statement.operands:
        if _PREDICATE.match(operand):
            found.add(operand.lstrip("!"))
        elif results or not _RESULT.match(operand):
            break
        else:
            results += 1
    return frozenset(found)


def _called(listing: Listing) -> dict[int, int]:
    """Calls by their number, and where each leads to."""
    calls = ((n, one) for n, one in enumerate(listing.statements) if one.opcode == "CALL")
    goals = ((n, goal_of(listing, one)) for n, one in calls)
    return {n: goal for n, goal in goals if goal is not None}


def _following(listing: Listing) -> list[list[int]]:
    """By statement the numbers of those that may come next; behind a call it is where it returns to."""
    statements = listing.statements
    every = [at // INSTRUCTION_BYTES for at in listing.labels.values()]
    found = []
    for n, one in enumerate(statements):
        then = [n + 1] if one.guard or one.opcode not in _NO_WAY_ON else []
        goal = goal_of(listing, one)
        if one.opcode == "BRA" and goal is not None:
            then.append(goal)
        if one.opcode == "BRX":
            then += every
        found.append([m for m in then if m < len(statements)])
    return found


def _reached(start: int, following: list[list[int]]) -> set[int]:
    """Numbers of the statements that may come after `start`, and it."""
    found, waiting = {start}, [start]
    while waiting:
        more = set(following[waiting.pop()]) - found
        found |= more
        waiting += more
    return found


def loads_in_flight(listing: Listing) -> list[int]:
    """For each statement how many loads from global memory are on their way once it is done, read from top to bottom.

    A load is on its way until an instruction needs a register that it fills.
    """
    waiting: list[frozenset[int]] = []
    found = []
    for one in listing.statements:
        needed = read(one) | written(one)
        waiting = [filled for filled in waiting if filled.isdisjoint(needed)]
        if one.opcode == "LDG":
            waiting.append(written(one))
        found.append(len(waiting))
    return found
