"""A program as text: one line an instruction, loops and branches indented.

    input in0: f64[2]
    output out0: f64
    every tile:
      %4 = load in0[0] : f64
      loop 500 times, counter %6:
        %7 = phi %4, then %9 : f64
        %9 = mul 1.01 %7 : f64
      %10 = last %9 : f64
      out0[0] = %10

Constants stand where they are used. Types are those of a lane; `uniform` is said of what is the
same for all lanes and, in a program of one simulation, `wide` of what is a vector: `4 wide` of four
lanes, of as many as a register holds where no number is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graftsim.kernels.ir.sizes import Size
from graftsim.kernels.ir.statements import Branch, Buffer, Library, Loop, Region, Store
from graftsim.kernels.ir.types import DTYPES

if TYPE_CHECKING:
    from graftsim.kernels.ir.program import Program

# Is a node, a store or a statement to be shown?
Shown = Callable[[Any], bool]


def text_of(
    p: Program, shown: Shown = lambda item: True, names: Mapping[int, str] | None = None
) -> str:
    """Text of a program. `names` of its inputs and outputs, by slot, stand beside them."""
    printer = _Printer(p, shown)
    printer.buffers(names or {})
    if p.tile not in p.root.items:
        printer.region(p.tile, "every tile:", 0)
    printer.items(p.root, 0)
    return "\n".join(printer.lines) + "\n"


class _Printer:
    def __init__(self, p: Program, shown: Shown) -> None:
        self.p, self.shown = p, shown
        self.lines: list[str] = []
        self.inputs = sum(b.role == "input" for b in p.buffers)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    # -- parts of a line -----------------------------------------------------------------------

    def value(self, n: int) -> str:
        """A node where it is used: a number, or its name."""
        if not self.p.is_const(n):
            return f"%{n}"
        known, type = self.p.value(n), self.p.types[n]
        return str(known if isinstance(known, Size) else DTYPES[type].type(known)).lower()

    def values(self, nodes: Sequence[int]) -> str:
        return " ".join(map(self.value, nodes))

    def defined(self, n: int, what: str) -> str:
        """The line that defines a node."""
        p, mark = self.p, ""
        if p.wide == 1 and p.uniform[n]:
            mark = "uniform "
        elif p.wide > 1 and not p.uniform[n]:
            mark = f"{p.widths[n]} wide " if n in p.widths else "wide "
        return f"%{n} = {what} : {mark}{p.types[n]}"

    def memory(self, b: Buffer) -> str:
        if b.role == "work":
            return f"memory{b.number}"
        return f"in{b.slot}" if b.role == "input" else f"out{b.slot - self.inputs}"

    def buffers(self, names: Mapping[int, str]) -> None:
        """What goes in and comes out, and the working memory."""
        p = self.p
        order = {"input": 0, "output": 1, "work": 2}
        for b in sorted(p.buffers, key=lambda b: (order[b.role], b.slot)):
            if b.role != "input" and not any(map(self.shown, b.stores)):
                continue
            mark = "uniform " if p.wide == 1 and b.uniform else ""
            role = "" if b.role == "work" else f"{b.role} "
            note = f"  ({names[b.slot]})" if b.slot in names else ""
            self.line(0, f"{role}{self.memory(b)}: {mark}{b.type}[{b.size}]{note}")

    # -- instructions --------------------------------------------------------------------------

    def region(self, region: Region, head: str, depth: int) -> None:
        """A heading, and the items under it."""
        self.line(depth, head)
        self.items(region, depth + 1)

    def items(self, region: Region, depth: int) -> None:
        for item in region.items:
            if item is self.p.tile:
                self.region(item, "every tile:", depth)
            elif not self.shown(item):
                continue
            elif isinstance(item, int):
                self.line(depth, self.node(item))
            elif isinstance(item, Store):
                at, value = self.value(item.index), self.value(item.value)
                self.line(depth, f"{self.memory(item.buffer)}[{at}] = {value}")
            elif isinstance(item, Loop):
                self.loop(item, depth)
            elif isinstance(item, Branch):
                self.branch(item, depth)
            else:
                self.library(item, depth)

    def node(self, n: int) -> str:
        p, op, args = self.p, self.p.ops[n], self.p.args[n]
        if op == "load":
            return self.defined(n, f"load {self.memory(args[1])}[{self.value(args[0])}]")
        if op == "lane":
            return self.defined(n, f"lane {p.value(args[1])} of %{args[0]}")
        return self.defined(n, f"{op} {self.values(p.operands(n))}")

    def loop(self, s: Loop, depth: int) -> None:
        head = "loop while some lane goes on:"
        if s.test is None:
            counter = f", counter %{s.counter}" if self.shown(s.counter) else ""
            head = f"loop {self.value(s.count)} times{counter}:"
        self.line(depth, head)
        carried = [c for c in zip(s.phis, s.inits, s.nexts, strict=True) if self.shown(c[0])]
        for phi, init, following in carried:
            what = f"phi {self.value(init)}, then {self.value(following)}"
            self.line(depth + 1, self.defined(phi, what))
        self.items(s.body, depth + 1)
        if s.test is not None:
            self.region(s.test, f"if {self.value(s.going)}:", depth + 1)
        last = s.nexts if s.test is None else s.phis
        results = [*zip(s.results, last, strict=True), *s.exports.items()]
        for r, n in results:
            if self.shown(r):
                self.line(depth, self.defined(r, f"last {self.value(n)}"))

    def branch(self, s: Branch, depth: int) -> None:
        for word, side in zip((f"if {self.value(s.condition)}:", "else:"), s.sides, strict=True):
            self.region(side, word, depth)
        for r, *sides in zip(s.results, *s.values, strict=True):
            if self.shown(r):
                what = " or ".join(map(self.value, sides))
                self.line(depth, self.defined(r, what))

    def library(self, s: Library, depth: int) -> None:
        for r, x, where in zip(s.results, s.xs, s.where, strict=True):
            if self.shown(r):
                what = f"{s.name} of {self.value(x)} where {self.value(where)}, else 0"
                self.line(depth, self.defined(r, what))
