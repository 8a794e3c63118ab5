"""Reading and writing arrays in memory, at one place or at a place of each lane."""

from __future__ import annotations

from graftsim.kernels.codegen.layout import BYTES
from graftsim.kernels.codegen.values import Values
from graftsim.kernels.codegen.writer import LITERAL, MEMORY, Writer
from graftsim.kernels.ir.sizes import Size
from graftsim.kernels.ir.statements import Buffer, Store


class Memory:
    """Text of loads and stores. Arrays of each lane lie element by element, lanes side by side."""

    def __init__(self, values: Values) -> None:
        self.values, self.p = values, values.p
        self.w: Writer = values.w
        # Of working buffers: instructions that find them, to be placed before all others.
        self.places: dict[int, str] = {}

    def _base(self, b: Buffer) -> str:
        """Pointer to the first element, of this tile where each lane has its own."""
        b = b.base or b
        if b.role == "work":
            at = self.w.size("work", b)
            pointer = f"%work{b.number}"
            self.places[b.number] = f"  {pointer} = getelementptr i8, ptr %scratch, i64 {at}"
            return pointer
        return self.values.once(("base", b.number), True, lambda: self._argument(b))

    def _argument(self, b: Buffer) -> str:
        w = self.w
        a, pointer = w.name(), w.name()
        w.line(f"{a} = getelementptr ptr, ptr %buffers, i64 {b.slot}")
        w.line(f"{pointer} = load ptr, ptr {a}, !invariant.load !0")
        if b.uniform:
            return pointer
        offset, moved = w.name(), w.name()
        w.line(f"{offset} = mul i64 %tile, {w.size('stride', b.size * w.lanes)}")
        w.line(f"{moved} = getelementptr {MEMORY[b.type]}, ptr {pointer}, i64 {offset}")
        return moved

    def _address(self, b: Buffer, index: int) -> tuple[str, bool]:
        """Pointer, or vector of pointers, to an element; and is it one pointer?"""
        w, p = self.w, self.p
        base, element = self._base(b), MEMORY[b.type]
        lane = 1 if b.uniform else w.lanes
        single = w.single(p.uniform[index])
        out = w.name()
        at = p.value(index) * lane if p.is_const(index) else None
        if at is not None and (isinstance(at, Size) or abs(at) < 2**31):
            given = isinstance(at, Size) or p.value(index) > LITERAL
            at = w.size("at", at) if given else str(at)
            w.line(f"{out} = getelementptr {element}, ptr {base}, i64 {at}")
            return out, True
        i = self.values.operand(index, single)
        t = w.vector("i64", single)
        if lane > 1:
            scaled = w.name()
            w.line(f"{scaled} = mul {t} {i}, {w.literal(lane, 'i64', single)}")
            i = scaled
        if single:
            w.line(f"{out} = getelementptr {element}, ptr {base}, i64 {i}")
            return out, True
        if not b.uniform:
            own = ", ".join(f"i64 {k}" for k in range(w.lanes))
            moved = w.name()
            w.line(f"{moved} = add {t} {i}, <{own}>")
            i = moved
        w.line(f"{out} = getelementptr {element}, ptr {base}, {t} {i}")
        return out, False

    def load(self, b: Buffer, index: int) -> str:
        """An element."""
        w = self.w
        uniform = w.single(b.uniform and self.p.uniform[index])
        ptr, single = self._address(b, index)
        t = w.vector(b.type, uniform, MEMORY)
        out = w.name()
        if single:
            w.line(f"{out} = load {t}, ptr {ptr}, align {BYTES[b.type]}")
        else:
            self._gather(out, b, ptr)
        return w.from_memory(out, b.type, uniform)

    def load_strided(self, b: Buffer, index: int, stride: int) -> str:
        """A vector of elements that lie at equal distances."""
        w = self.w
        ptr, _ = self._address(b, index)
        places, out = w.name(), w.name()
        steps = ", ".join(f"i64 {k * stride}" for k in range(w.lanes))
        w.line(f"{places} = getelementptr {MEMORY[b.type]}, ptr {ptr}, <{w.lanes} x i64> <{steps}>")
        self._gather(out, b, places)
        return w.from_memory(out, b.type, False)

    def store(self, s: Store) -> None:
        """An element that becomes a value."""
        w, b = self.w, s.buffer
        ptr, single = self._address(b, s.index)
        uniform = w.single(b.uniform)
        t = w.vector(b.type, uniform, MEMORY)
        value = w.to_memory(self.values.operand(s.value, uniform), b.type, uniform)
        if single:
            w.line(f"store {t} {value}, ptr {ptr}, align {BYTES[b.type]}")
            return
        name, pointers, mask = self._masked("scatter", b)
        w.declare(name, "void", t, pointers, "i32", mask)
        w.line(
            f"call void @{name}({t} {value}, {pointers} {ptr}, i32 {BYTES[b.type]}, "
            f"{mask} splat (i1 true))"
        )

    def _gather(self, out: str, b: Buffer, places: str) -> None:
        w, t = self.w, self.w.vector(b.type, False, MEMORY)
        name, pointers, mask = self._masked("gather", b)
        w.declare(name, t, pointers, "i32", mask, t)
        w.line(
            f"{out} = call {t} @{name}({pointers} {places}, i32 {BYTES[b.type]}, "
            f"{mask} splat (i1 true), {t} zeroinitializer)"
        )

    def _masked(self, word: str, b: Buffer) -> tuple[str, str, str]:
        """Name of LLVM's function, type of the pointers and of the mask."""
        lanes, element = self.w.lanes, MEMORY[b.type]
        short = {"float": "f32", "double": "f64"}.get(element, element)
        name = f"llvm.masked.{word}.v{lanes}{short}.v{lanes}p0"
        return name, f"<{lanes} x ptr>", f"<{lanes} x i1>"
