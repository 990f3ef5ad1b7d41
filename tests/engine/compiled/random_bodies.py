"""Random statements: what a kernel's body, or a helper function's, is written of."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random as Generator

from engine.compiled.random_operations import KINDS, OF_A_KERNEL, Operation

OPERAND = re.compile(r"\{(\w)(\d?)\}")
DEEPEST = 3
"""Branches and loops in each other, at most."""


@dataclass
class Body:
    """Lines of C++ that grow, and what may stand in them: variables by kind, operations, counters.

    `used` counts the operations and features of all bodies of a kernel. In a kernel's own body half of
    the values that are assigned go into `hash` too, so that none of them is lost; it has no hash in a helper.
    """

    random: Generator
    variables: dict[str, list[str]]
    operations: Sequence[Operation]
    used: Counter
    is_kernel: bool = True
    may_return: bool = False
    lines: list[str] = field(default_factory=list)
    depth: int = 0
    loops: int = 0
    names: int = 0
    last: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_result: dict[str, list[Operation]] = {}
        for operation in self.operations:
            if self.is_kernel or operation.group not in OF_A_KERNEL:
                self.by_result.setdefault(operation.result, []).append(operation)

    def write(self, line: str) -> None:
        self.lines.append("    " * (self.depth + 1) + line)

    def name(self, stem: str) -> str:
        """A new name."""
        self.names += 1
        return f"{stem}{self.names}"

    def chance(self, of_a_hundred: int) -> bool:
        return self.random.randrange(100) < of_a_hundred

    # ---- expressions

    def leaf(self, kind: str) -> str:
        """A variable, or now and then a literal."""
        if self.chance(15):
            return f"({self.random.choice(KINDS[kind].literals)})"
        return self.variable(kind)

    def variable(self, kind: str) -> str:
        """One of the kind, and another than the last time if there is one."""
        names = self.variables[kind]
        others = [name for name in names if name != self.last.get(kind)]
        self.last[kind] = self.random.choice(others or names)
        return self.last[kind]

    def value(self, kind: str, deep: int = 1) -> str:
        """An operand: in parentheses unless it is a name."""
        choices = self.by_result.get(kind, [])
        if kind == "p" or (choices and deep and self.chance(35)):
            return f"({self.apply(self.random.choice(choices), deep - 1)})"
        return self.leaf(kind)

    def apply(self, operation: Operation, deep: int = 1) -> str:
        """The formula with operands in it."""
        self.used[f"{operation.group}.{operation.name}"] += 1
        repeated: dict[str, str] = {}

        def fill(match: re.Match[str]) -> str:
            kind, which = match.groups()
            if kind == "k":
                return str(self.random.randrange(1, 41))
            if not which:
                return self.value(kind, deep)
            return repeated.setdefault(match[0], self.variable(kind))

        return OPERAND.sub(fill, operation.formula)

    def condition(self) -> str:
        return self.apply(self.random.choice(self.by_result["p"]))

    # ---- statements

    def assign(self, operation: Operation | None = None) -> None:
        """A variable becomes the result of this operation or of a random one."""
        if operation is None:
            kinds = [kind for kind in self.variables if kind in self.by_result]
            operation = self.random.choice(self.by_result[self.random.choice(kinds)])
        if operation.result == "p":
            self.write(f"if ({self.apply(operation)}) {self.variable('u')} += 0x9e3779b9u;")
            return
        target = self.variable(operation.result)
        self.write(f"{target} = {self.apply(operation)};")
        if self.is_kernel and self.chance(50):
            self.write(f"hash = (hash ^ bits({target})) * 0x01000193u;")

    def block(self, head: str, *parts: Callable[[], None]) -> None:
        """What follows a head in braces; of two parts the second behind an `else`."""
        for line, write in zip((head, "} else {"), parts, strict=False):
            self.write(line)
            self.depth += 1
            write()
            self.depth -= 1
        self.write("}")

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    def some(self) -> None:
        self.statements(self.random.randrange(1, 4))

    def statement(self) -> None:
        if self.depth < DEEPEST and self.chance(35):
            self.random.choice(CONTROL)(self)
        else:
            self.assign()

    def branch(self) -> None:
        self.used["control.if"] += 1
        has_other = self.chance(50)
        self.block(f"if ({self.condition()}) {{", self.some, *[self.some] * has_other)

    def loop_by_lane(self) -> None:
        self.used["control.for_by_lane"] += 1
        i, last = self.name("t"), self.name("last")
        trips = f"1 + (int)({self.value('u')} % {self.random.randrange(2, 10)}u)"
        self.in_loop(f"for (int {i} = 0, {last} = {trips}; {i} < {last}; {i}++) {{", i)

    def loop(self) -> None:
        self.used["control.for"] += 1
        i = self.name("t")
        self.in_loop(f"for (int {i} = 0; {i} < {self.random.randrange(2, 7)}; {i}++) {{", i)

    def in_loop(self, head: str, counter: str) -> None:
        def write() -> None:
            self.write(f"{self.variable('i')} = (int)((unsigned){self.variable('i')} + {counter});")
            self.some()

        if self.loops < 2:
            self.loops += 1
            self.block(head, write)
            self.loops -= 1
        else:
            self.assign()

    def loop_while(self) -> None:
        self.used["control.while"] += 1
        i = self.name("t")

        def write() -> None:
            self.write(f"if (++{i} > {self.random.randrange(3, 10)}) break;")
            self.some()
            self.write(
                f"if ({self.condition()}) {self.random.choice(('break', 'continue', 'continue'))};"
            )
            self.some()

        self.write(f"int {i} = 0;")
        self.block("while (true) {", write)

    def choose(self) -> None:
        self.used["control.switch"] += 1
        cases = self.random.randrange(4, 11)

        def write() -> None:
            for case in range(cases):
                last = case == cases - 1
                self.write("default:" if last else f"case {case}:")
                self.depth += 1
                self.assign()
                if last or self.chance(80):
                    self.write("break;")
                self.depth -= 1

        self.block(f"switch ({self.value('u')} % {cases}u) {{", write)

    def leave(self) -> None:
        """Some lanes end here, where nothing waits for them."""
        if not self.may_return:
            return self.branch()
        self.used["control.return"] += 1
        self.block(f"if ({self.condition()}) {{", lambda: self.write("y[own] = ~hash; return;"))

    def local_array(self) -> None:
        """An array of a thread's own, with an index that it calculates."""
        kind = self.random.choice([kind for kind in self.variables if kind in "iuqfd"])
        array, size = self.name("array"), self.random.choice((4, 8, 8, 16))
        self.used[f"local.{KINDS[kind].name}"] += 1
        values = ", ".join(self.leaf(kind) for _ in range(size))
        self.write(f"{KINDS[kind].name} {array}[{size}] = {{{values}}};")
        for _ in range(self.random.randrange(1, 4)):
            self.write(f"{array}[{self.value('u')} % {size}u] = {self.value(kind)};")
        self.write(f"{self.variable(kind)} = {array}[{self.value('u')} & {size - 1}u];")


CONTROL = (
    Body.branch, Body.branch, Body.loop_by_lane, Body.loop, Body.loop_while, Body.choose, Body.leave,
    Body.local_array,
)  # fmt: skip
