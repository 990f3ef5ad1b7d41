"""Where lanes that part come together again, as the assembler arranges it.

Lanes that part within a turn of a loop meet within that turn: those that leave the loop for good are not waited for.
Those that leave it meet the others behind it. Within a turn, and in what no loop is around, they meet at the first
statement that all of them come to, whichever way they go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NOWHERE = -1


@dataclass(frozen=True)
class Branch:
    """A statement behind which another than the next one may follow: those that do, by number.

    With `goes_on` the next one may follow too.
    """

    goals: tuple[int, ...]
    goes_on: bool


@dataclass(frozen=True)
class Meetings:
    """By a branch the statement at which lanes meet that part there; by the first statement of a loop the same of those
    that leave it, with the statements of the loop."""

    of_branches: dict[int, int] = field(default_factory=dict)
    of_loops: dict[int, tuple[int, frozenset[int]]] = field(default_factory=dict)


def find_meetings(count: int, branches: Mapping[int, Branch]) -> Meetings:
    """Of `count` statements; what is no branch is followed by the next one, and number `count` is the end."""
    return _Graph(count, branches).meetings()


class _Graph:
    """Blocks of statements by number, where each leads, and the loops: by its first block the blocks of each."""

    def __init__(self, count: int, branches: Mapping[int, Branch]):
        goals = {goal for one in branches.values() for goal in one.goals}
        starts = sorted({0, *(number + 1 for number in branches), *goals} - {count})
        self.starts = [start for start in starts if start < count]
        self.end = len(self.starts)
        self.lasts = [start - 1 for start in (*self.starts[1:], count)]
        number_of = {start: number for number, start in enumerate(self.starts)}
        self.branches = branches
        self.after: list[list[int]] = []
        for last in self.lasts:
            branch = branches.get(last, Branch((), True))
            leads = [*branch.goals, *((last + 1,) if branch.goes_on else ())]
            self.after.append(list(dict.fromkeys(number_of.get(goal, self.end) for goal in leads)))
        self.loops = self._find_loops()

    def _find_loops(self) -> dict[int, frozenset[int]]:
        before: list[list[int]] = [[] for _ in range(self.end + 1)]
        for block, goals in enumerate(self.after):
            for goal in goals:
                before[goal].append(block)
        found: dict[int, set[int]] = {}
        for last, first in _edges_back([*self.after, []]):
            body, waiting = found.setdefault(first, {first}), [last]
            while waiting:
                block = waiting.pop()
                if block not in body:
                    body.add(block)
                    waiting += before[block]
        return {first: frozenset(body) for first, body in found.items()}

    def _around(self, block: int, *, but: int = NOWHERE) -> int:
        """The first block of the smallest loop that a block is in; `NOWHERE` where there is none."""
        those = [
            (len(body), first)
            for first, body in self.loops.items()
            if block in body and first != but
        ]
        return min(those)[1] if those else NOWHERE

    def _turn(self, first: int) -> list[list[int]]:
        """Where blocks lead within a turn of a loop: back to its start is the end, and out of it is nowhere.

        Where no loop is, a branch to what does nothing but end leads nowhere: who takes it is gone.
        """
        body = self.loops.get(first, frozenset(range(self.end)))
        found: list[list[int]] = []
        for block, goals in enumerate(self.after):
            if block not in body:
                found.append([])
            elif first == NOWHERE:
                leaves = len(goals) > 1 and self._only_ends(goals[0])
                found.append(goals[1:] if leaves else goals)
            else:
                found.append([self.end if one == first else one for one in goals if one in body])
        return found

    def _only_ends(self, block: int) -> bool:
        """Whether a block is nothing but an end."""
        if block == self.end:
            return True
        first = self.starts[block]
        return self.after[block] == [self.end] and first == self.lasts[block] in self.branches

    def meetings(self) -> Meetings:
        found = Meetings()
        nearest: dict[int, list[int]] = {}
        turns = {}
        for first in (NOWHERE, *self.loops):
            turns[first] = self._turn(first)
            nearest[first] = _post_dominators(turns[first])
        for block, last in enumerate(self.lasts):
            around = self._around(block)
            if last in self.branches and len(turns[around][block]) > 1:
                found.of_branches[last] = self._start(nearest[around][block], around)
        for first, body in self.loops.items():
            around = self._around(first, but=first)
            meets = first
            while meets in body:
                meets = nearest[around][meets]
            if meets != self.end:
                statements = (range(self.starts[block], self.lasts[block] + 1) for block in body)
                inside = frozenset(number for those in statements for number in those)
                found.of_loops[self.starts[first]] = (self.starts[meets], inside)
        return found

    def _start(self, block: int, around: int) -> int:
        """The first statement of the block at which lanes meet; at the end of a turn that is the loop's own."""
        if block != self.end:
            return self.starts[block]
        return NOWHERE if around == NOWHERE else self.starts[around]


def _post_dominators(after: Sequence[Sequence[int]]) -> list[int]:
    """For each block the nearest one that lies on every way from it to the end, which is number len(after).

    Blocks from which no way leads to the end have the end.
    """
    end = len(after)
    every = (1 << end + 2) - 1  # one bit more than blocks and the end have: no way leads there
    ways = [*[every] * end, 1 << end]  # by block, as bits, those that lie on every way
    changed = True
    while changed:
        changed = False
        for block in reversed(range(end)):
            found = every
            for goal in after[block]:
                found &= ways[goal]
            found |= 1 << block
            changed |= found != ways[block]
            ways[block] = found
    number_of = {way: block for block, way in enumerate(ways)}
    return [number_of.get(way & ~(1 << block), end) for block, way in enumerate(ways[:end])]


def _edges_back(edges: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Those that lead to a block on the way to them from the first one."""
    found = []
    on_the_way, seen = {0}, {0}
    waiting = [(0, iter(edges[0]))]
    while waiting:
        number, left = waiting[-1]
        for goal in left:
            if goal in on_the_way:
                found.append((number, goal))
            elif goal not in seen:
                seen.add(goal)
                on_the_way.add(goal)
                waiting.append((goal, iter(edges[goal])))
                break
        else:
            on_the_way.discard(number)
            waiting.pop()
    return found
