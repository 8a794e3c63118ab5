"""LLVM text in the making: instructions, names, blocks, literals, and the table of sizes."""

from __future__ import annotations

import struct
from typing import Any

from graftsim.kernels.ir.sizes import Size
from graftsim.kernels.ir.statements import Buffer

LLVM = {"f32": "float", "f64": "double", "i32": "i32", "i64": "i64", "u32": "i32", "u64": "i64",
        "i1": "i1"}  # fmt: skip
MEMORY = {**LLVM, "i1": "i8"}

# In the table of sizes: a number, one that depends on the call, or the place of a working buffer.
Entry = int | Size | Buffer

# Whole numbers beyond this are read from a table, so that lengths do not change the machine code.
LITERAL = 64


def short(value: int | Size) -> bool:
    """Does a whole number stand in the code itself?"""
    return not isinstance(value, Size) and abs(value) <= LITERAL


class Writer:
    """Knows types and numbers of lanes, and nothing of the program."""

    def __init__(self, lanes: int) -> None:
        # Of the vectors that are written at present.
        self.lanes = lanes
        self.lines: list[str] = []
        self.block = "entry"
        self.declared: dict[str, str] = {}
        # Functions of their own, by name.
        self.helpers: dict[str, str] = {}
        # Numbers that the kernel is given in each call.
        self.sizes: list[Entry] = []
        self._size_names: dict[tuple[str, Entry], str] = {}
        self._fresh = 0

    def line(self, text: str) -> None:
        """One instruction."""
        self.lines.append("  " + text)

    def name(self) -> str:
        """A new local name."""
        self._fresh += 1
        return f"%t{self._fresh}"

    def label(self) -> str:
        """A new block name."""
        self._fresh += 1
        return f"b{self._fresh}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def declare(self, name: str, result: str, *args: str) -> None:
        """Remember a declaration."""
        self.declared[name] = f"declare {result} @{name}({', '.join(args)})"

    # -- types -------------------------------------------------------------------------------

    def width(self, uniform: bool) -> int:
        """Lanes of a value: one of a scalar."""
        return 1 if uniform else self.lanes

    def single(self, uniform: bool) -> bool:
        """Is it one number, not a vector?"""
        return uniform or self.lanes == 1

    def vector(self, type: str, uniform: bool, table: dict[str, str] = LLVM) -> str:
        """LLVM type of a value."""
        base = table[type]
        return base if uniform or self.lanes == 1 else f"<{self.lanes} x {base}>"

    def suffix(self, type: str, uniform: bool) -> str:
        """A type in the name of an intrinsic function."""
        lanes = "" if uniform or self.lanes == 1 else f"v{self.lanes}"
        return lanes + type.replace("u", "i")

    def from_memory(self, text: str, type: str, uniform: bool) -> str:
        """A value as it is computed with, from how it is kept: bools take a byte."""
        return self._recast("trunc", text, type, uniform, MEMORY, LLVM)

    def to_memory(self, text: str, type: str, uniform: bool) -> str:
        """A value as it is kept in memory."""
        return self._recast("zext", text, type, uniform, LLVM, MEMORY)

    def _recast(
        self, word: str, text: str, type: str, uniform: bool, was: dict[str, str],
        becomes: dict[str, str],
    ) -> str:  # fmt: skip
        if type != "i1":
            return text
        out = self.name()
        before, after = (self.vector(type, uniform, table) for table in (was, becomes))
        self.line(f"{out} = {word} {before} {text} to {after}")
        return out

    # -- numbers -----------------------------------------------------------------------------

    def size(self, kind: str, value: Entry) -> str:
        """Name of a number from the table of sizes; equal ones of a kind share it."""
        key = (kind, value)
        if key not in self._size_names:
            self._size_names[key] = f"%size{len(self.sizes)}"
            self.sizes.append(value)
        return self._size_names[key]

    def read_sizes(self) -> list[str]:
        """Instructions that read the table of sizes."""
        out = []
        for k in range(len(self.sizes)):
            out.append(f"  %sizeptr{k} = getelementptr i64, ptr %sizes, i64 {k}")
            out.append(f"  %size{k} = load i64, ptr %sizeptr{k}")
        return out

    def literal(self, value: Any, type: str, uniform: bool) -> str:
        """A constant operand."""
        if type == "i1":
            text = "true" if value else "false"
        elif type == "i64" and not short(value):
            text = self.size("number", value)
            return text if self.single(uniform) else self.spread(text, type)
        elif type[0] != "f":
            text = str(int(value))
        else:
            bits = struct.unpack("<Q", struct.pack("<d", value))[0]
            text = f"0x{bits:016X}"
        return text if self.single(uniform) else f"splat ({LLVM[type]} {text})"

    def spread(self, text: str, type: str) -> str:
        """A scalar in all lanes."""
        base, vec = LLVM[type], self.vector(type, False)
        a, b = self.name(), self.name()
        self.line(f"{a} = insertelement {vec} poison, {base} {text}, i64 0")
        self.line(
            f"{b} = shufflevector {vec} {a}, {vec} poison, <{self.lanes} x i32> zeroinitializer"
        )
        return b
