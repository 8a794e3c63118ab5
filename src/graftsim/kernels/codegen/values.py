"""The value of each node, where the text is: its name, or how it is fetched from its slot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftsim.kernels.codegen.layout import BYTES, Layout
from graftsim.kernels.codegen.writer import MEMORY, Writer
from graftsim.kernels.ir.program import Program


class Values:
    """Defines and recalls values as the layout says."""

    def __init__(self, p: Program, layout: Layout, w: Writer) -> None:
        self.p, self.layout, self.w = p, layout, w
        self._names: dict[int, str] = {}
        # What the layout puts into memory LLVM is not to keep in registers after all.
        self._volatile = "volatile " if layout.drops else ""
        # What is at hand in the present block: of a node or another key, by number of lanes.
        self._here: dict[tuple[Any, int], str] = {}

    def forget(self) -> None:
        """What was at hand is not any more."""
        self._here = {}

    def drop(self, item: object) -> None:
        """What the layout does not keep in registers after an item is not at hand any more."""
        for n, single in self.layout.drops.get(item, ()):
            self._here.pop((n, self.w.width(single)), None)

    def once(self, key: Any, uniform: bool, make: Callable[[], str]) -> str:
        """What is at hand under a key; made if nothing is."""
        width = self.w.width(uniform)
        found = self._here.get((key, width))
        if found is None:
            found = self._here[key, width] = make()
        return found

    def operand(self, n: int, uniform: bool) -> str:
        """Text of a node's value here, as a scalar or a vector."""
        p = self.p
        uniform = self.w.single(uniform)
        if p.ops[n] == "const":
            return self.w.literal(p.args[n][0], p.types[n], uniform)
        key = (n, self.w.width(uniform))
        found = self._here.get(key)
        if found is not None:
            return found
        if uniform or not p.uniform[n]:
            text = self._fetch(n)
        else:
            text = self.w.spread(self.operand(n, True), p.types[n])
        self._here[key] = text
        return text

    def define(self, n: int, text: str) -> None:
        """The value of a node is this, here."""
        type, uniform = self.p.types[n], self.p.uniform[n]
        self._names[n] = text
        self._here[n, self.w.width(uniform)] = text
        if n in self.layout.slots:
            kept = self.w.to_memory(text, type, uniform)
            ptr, align = self._slot(n), self._align(n)
            memory = self.w.vector(type, uniform, MEMORY)
            self.w.line(f"store {self._volatile}{memory} {kept}, ptr {ptr}, align {align}")

    def lane(self, n: int, k: int) -> str:
        """One scalar of a wide node, from its slot."""
        type = self.p.types[n]
        if n not in self.layout.slots:
            out, t = self.w.name(), self.w.vector(type, False)
            self.w.line(f"{out} = extractelement {t} {self.operand(n, False)}, i64 {k}")
            return out
        ptr, out = self._slot(n, k * BYTES[type]), self.w.name()
        self.w.line(f"{out} = load {MEMORY[type]}, ptr {ptr}, align {BYTES[type]}")
        return self.w.from_memory(out, type, True)

    def _fetch(self, n: int) -> str:
        if n not in self.layout.slots:
            return self._names[n]
        type, uniform = self.p.types[n], self.p.uniform[n]
        ptr, out = self._slot(n), self.w.name()
        memory = self.w.vector(type, uniform, MEMORY)
        word = f"load {self._volatile}{memory}"
        self.w.line(f"{out} = {word}, ptr {ptr}, align {self._align(n)}")
        return self.w.from_memory(out, type, uniform)

    def _slot(self, n: int, further: int = 0) -> str:
        ptr = self.w.name()
        at = self.layout.slots[n] + further
        self.w.line(f"{ptr} = getelementptr i8, ptr %scratch, i64 {at}")
        return ptr

    def _align(self, n: int) -> int:
        return BYTES[self.p.types[n]] * (1 if self.p.uniform[n] else self.layout.width(n))
